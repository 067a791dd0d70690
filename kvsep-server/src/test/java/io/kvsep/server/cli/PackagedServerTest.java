package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.server.testing.SelfSigned;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** {@code kvsep.jar}: what it contains, that nothing is missing, and the script that starts it. */
@Tag("packaged")
final class PackagedServerTest {
  private static final int BYTES_MAX = 20_000_000;
  private static final Path JAR = Path.of(System.getProperty("kvsep.jar"));
  private static final String VERSION = "kvsep \\S+\n";

  /** A line of the list of licenses that begins with the name of an artifact. */
  private static final Pattern LISTED =
      Pattern.compile("(?m)^  ([\\w-]+)(, with .*| {2,}\\S+\\.txt)?$");

  @TempDir Path folder;

  @Test
  void itIsSmall() throws IOException {
    assertTrue(Files.size(JAR) <= BYTES_MAX, () -> JAR.toFile().length() + " bytes");
  }

  @Test
  void itHasTheLicenseOfEachLibraryInIt() throws IOException {
    try (JarFile jar = new JarFile(JAR.toFile())) {
      assertTrue(text(jar, "META-INF/LICENSE").contains("Apache License"));
      assertTrue(text(jar, "META-INF/NOTICE").contains("the kvsep authors"));
      String list = text(jar, "META-INF/licenses/README.txt");
      assertEquals(bundled(jar), listed(list));
      Matcher file = Pattern.compile("\\S+\\.txt").matcher(list);
      while (file.find()) {
        assertNotNull(jar.getEntry("META-INF/licenses/" + file.group()), file.group());
      }
    }
  }

  @Test
  void itServesHttpAndRedisClients() throws Exception {
    try (ServerProcess server = ServerProcess.of(JAR.toString(), folder.resolve("store"));
        Jedis jedis = new Jedis("127.0.0.1", server.redisPort(), 60_000)) {
      HttpClient client = HttpClient.newHttpClient();
      assertEquals(204, put(client, server.http()).statusCode());
      assertEquals("value", jedis.get("key"));
      assertTrue(get(client, server.http() + "/metrics").body().contains("kvsep_"));
      assertTrue(get(client, server.http() + "/").body().contains("<html"));
      assertTrue(get(client, server.http() + "/page/app.js").body().contains("/v1/stats"));
      assertEquals(200, get(client, server.http() + "/v1/stats").statusCode());
      assertEquals(0, server.terminate(), server::errors);
    }
  }

  @Test
  void itServesOverTls() throws Exception {
    SelfSigned self = SelfSigned.in(folder);
    String[] options = {
      "--tls-cert", self.certificate().toString(), "--tls-key", self.key().toString()
    };
    try (ServerProcess server =
        ServerProcess.of(JAR.toString(), folder.resolve("store"), options)) {
      for (HttpClient.Version version : HttpClient.Version.values()) {
        HttpClient client =
            HttpClient.newBuilder().version(version).sslContext(self.trusting()).build();
        String address = server.http().replace("127.0.0.1", "localhost");
        HttpResponse<String> put = put(client, address);
        assertEquals(204, put.statusCode());
        assertEquals(version, put.version());
        assertEquals("value", get(client, address + "/v1/keys/key").body());
      }
      assertEquals(0, server.terminate(), server::errors);
    }
  }

  @Test
  void itsShellWorksOnATerminal() throws Exception {
    Path script = Path.of("/usr/bin/script");
    Assumptions.assumeTrue(
        System.getProperty("os.name").equals("Linux") && Files.isExecutable(script));
    String shell =
        "%s -Duser.home=%s -jar %s shell --dir %s"
            .formatted(java(), folder, JAR, folder.resolve("store"));
    ProcessBuilder builder =
        new ProcessBuilder(script.toString(), "-qec", shell, "/dev/null").redirectErrorStream(true);
    builder.environment().keySet().removeAll(Set.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
    builder.environment().put("TERM", "xterm");
    Process process = builder.start();
    // Left open: script ends the shell at the end of its input.
    process.getOutputStream().write("put a 'b  c'\rget a\rexit\r".getBytes(US_ASCII));
    process.getOutputStream().flush();
    String screen = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    assertEquals(0, process.exitValue(), screen);
    assertTrue(screen.matches("(?s).*[^']b  c.*"), screen);
    assertEquals(3, Files.readAllLines(folder.resolve(".kvsep_history")).size());
  }

  @Test
  void theDemonstrationFindsNothingWrong() throws Exception {
    Path files = Files.createDirectory(folder.resolve("files"));
    for (int i = 0; i < 20; i++) {
      Files.writeString(files.resolve("file" + i), "content ".repeat(i));
    }
    String output =
        output(List.of(java(), "-jar", JAR.toString(), "demo", files.toString()), List.of());
    assertTrue(output.contains("all SHA-256 agree"), output);
  }

  @Test
  void theLauncherMakesItsArchiveWhereItMay() throws Exception {
    assumeUnix();
    Path launcher = install("kvsep");
    Path link = Files.createSymbolicLink(folder.resolve("link"), launcher);

    assertTrue(output(List.of(link.toString(), "--version"), List.of()).matches(VERSION));
    assertTrue(archives(launcher) == 1, "no archive");
    assertTrue(output(List.of(link.toString(), "--version"), List.of()).matches(VERSION));
  }

  @Test
  void theLauncherIsQuietAboutAnArchiveThatIsOfNoUse() throws Exception {
    assumeUnix();
    Path launcher = install("kvsep");
    assertTrue(output(List.of(launcher.toString(), "--version"), List.of()).matches(VERSION));
    Path archive;
    try (var files = Files.list(launcher.resolveSibling("../lib"))) {
      archive = files.filter(file -> file.toString().endsWith(".jsa")).findFirst().orElseThrow();
    }
    for (String content : List.of("", "no archive")) {
      Files.writeString(archive, content);
      assertTrue(output(List.of(launcher.toString(), "--version"), List.of()).matches(VERSION));
    }
    assertTrue(
        output(List.of(launcher.toString(), "--version"), List.of("-XX:+UseSerialGC"))
            .matches(VERSION));
  }

  private static void assumeUnix() {
    Assumptions.assumeTrue(File.separatorChar == '/');
  }

  private Path install(String name) throws IOException {
    Path bin = Files.createDirectories(folder.resolve(name + "/bin"));
    Path lib = Files.createDirectories(folder.resolve(name + "/lib"));
    Files.copy(JAR, lib.resolve("kvsep.jar"));
    Path launcher = bin.resolve("kvsep");
    Files.copy(Path.of(System.getProperty("kvsep.launcher")), launcher);
    assertTrue(launcher.toFile().setExecutable(true));
    return launcher;
  }

  private static long archives(Path launcher) throws IOException {
    try (var files = Files.list(launcher.resolveSibling("../lib"))) {
      return files.filter(file -> file.toString().endsWith(".jsa")).count();
    }
  }

  private static String java() {
    return Path.of(System.getProperty("java.home"), "bin", "java").toString();
  }

  /** Of a process that succeeds and says nothing on standard error. */
  private String output(List<String> command, List<String> jvmOptions) throws Exception {
    Path errors = folder.resolve("errors");
    ProcessBuilder builder = new ProcessBuilder(command).redirectError(errors.toFile());
    builder.environment().keySet().removeAll(Set.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("KVSEP_JAVA_OPTS", String.join(" ", jvmOptions));
    Process process = builder.start();
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    assertEquals("", Files.readString(errors));
    assertEquals(0, process.exitValue(), output);
    return output;
  }

  private static String text(JarFile jar, String name) throws IOException {
    return new String(jar.getInputStream(jar.getEntry(name)).readAllBytes(), UTF_8);
  }

  private static Set<String> listed(String list) {
    return LISTED
        .matcher(list)
        .results()
        .map(line -> line.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** The libraries of the class path that have files in the jar, by their artifacts' names. */
  private static Set<String> bundled(JarFile jar) throws IOException {
    Set<String> names = new TreeSet<>();
    for (String path : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      String name = Path.of(path).getFileName().toString();
      if (name.endsWith(".jar") && !name.startsWith("kvsep-")) {
        try (JarFile library = new JarFile(path)) {
          boolean isBundled =
              library.stream()
                  .filter(entry -> entry.getName().matches("(?!META-INF/).*\\.class|.*\\.so"))
                  .anyMatch(entry -> jar.getEntry(entry.getName()) != null);
          if (isBundled) {
            names.add(name.replaceFirst("-\\d.*", ""));
          }
        }
      }
    }
    return names;
  }

  private static HttpResponse<String> put(HttpClient client, String address) throws Exception {
    return client.send(
        HttpRequest.newBuilder(URI.create(address + "/v1/keys/key"))
            .PUT(BodyPublishers.ofString("value"))
            .build(),
        BodyHandlers.ofString());
  }

  private static HttpResponse<String> get(HttpClient client, String address) throws Exception {
    return client.send(
        HttpRequest.newBuilder(URI.create(address)).build(), BodyHandlers.ofString());
  }
}
