package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;

/** A key and a certificate of 127.0.0.1 that is its own authority, made by the JDK's keytool. */
final class TestCertificate {
  private static final String PASSWORD = "changeit";

  private TestCertificate() {}

  /** Files in this directory. */
  static ClusterOptions.Tls create(Path directory)
      throws IOException, InterruptedException, GeneralSecurityException {
    Path store = directory.resolve("node.p12");
    Process keytool =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                    "-J-XX:TieredStopAtLevel=1",
                    "-genkeypair",
                    "-alias",
                    "node",
                    "-keyalg",
                    "EC",
                    "-dname",
                    "CN=node",
                    "-ext",
                    "san=ip:127.0.0.1",
                    "-storepass",
                    PASSWORD,
                    "-keystore",
                    store.toString()))
            .redirectErrorStream(true)
            .start();
    String said = new String(keytool.getInputStream().readAllBytes(), US_ASCII);
    assertEquals(0, keytool.waitFor(), said);
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, PASSWORD.toCharArray());
    }
    Path chain = directory.resolve("chain.pem");
    Path key = directory.resolve("key.pem");
    pem(chain, "CERTIFICATE", keys.getCertificate("node").getEncoded());
    pem(key, "PRIVATE KEY", keys.getKey("node", PASSWORD.toCharArray()).getEncoded());
    return new ClusterOptions.Tls(chain, key, chain);
  }

  private static void pem(Path file, String type, byte[] content) throws IOException {
    String base64 = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
    Files.writeString(
        file, "-----BEGIN " + type + "-----\n" + base64 + "\n-----END " + type + "-----\n");
  }
}
