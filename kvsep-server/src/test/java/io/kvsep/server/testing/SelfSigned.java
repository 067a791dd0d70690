package io.kvsep.server.testing;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.linecorp.armeria.common.TlsKeyPair;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * A key of a server on localhost, and its certificate, which it signed itself.
 *
 * @param certificate a file in PEM
 * @param key a file in PEM
 * @param trusting makes clients that trust the certificate and no other
 */
public record SelfSigned(Path certificate, Path key, SSLContext trusting) {
  /** Writes the files to a folder. */
  public static SelfSigned in(Path folder) throws IOException, GeneralSecurityException {
    TlsKeyPair pair = TlsKeyPair.ofSelfSigned("localhost");
    return new SelfSigned(
        pem(folder, "CERTIFICATE", pair.certificateChain().get(0).getEncoded()),
        pem(folder, "PRIVATE KEY", pair.privateKey().getEncoded()),
        trusting(pair));
  }

  /** Writes a file in PEM. */
  public static Path pem(Path folder, String kind, byte[] content) throws IOException {
    String text =
        "-----BEGIN %s-----\n%s\n-----END %s-----\n"
            .formatted(kind, Base64.getMimeEncoder().encodeToString(content), kind);
    return Files.write(folder.resolve(kind.replace(' ', '-') + ".pem"), text.getBytes(US_ASCII));
  }

  private static SSLContext trusting(TlsKeyPair pair) throws IOException, GeneralSecurityException {
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    trusted.setCertificateEntry("self", pair.certificateChain().get(0));
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, factory.getTrustManagers(), null);
    return context;
  }
}
