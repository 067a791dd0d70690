package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.linecorp.armeria.common.util.EventLoopGroups;
import com.sun.net.httpserver.HttpServer;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.WriteBatch;
import io.kvsep.server.http.HttpFront;
import io.kvsep.server.http.HttpOptions;
import io.kvsep.server.json.JsonText;
import io.netty.channel.EventLoopGroup;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ChangesCommandTest {
  @TempDir Path store;

  private KvStore open() {
    return KvStore.open(store, KvOptions.builder().changeRetentionBytes(1 << 20).build());
  }

  @BeforeEach
  void fill() {
    try (KvStore open = open()) {
      open.put("a".getBytes(UTF_8), "1".getBytes(UTF_8));
      open.write(
          new WriteBatch()
              .put("b".getBytes(UTF_8), "2".getBytes(UTF_8), Duration.ofHours(1))
              .delete("a".getBytes(UTF_8)));
      open.in(open.keyspace("users")).deleteRange("c".getBytes(UTF_8), new byte[] {(byte) 0xff});
    }
  }

  private CommandRun changes(String... arguments) {
    List<String> all = new ArrayList<>(List.of("changes", "--dir", store.toString()));
    all.addAll(List.of(arguments));
    return CommandRun.of(all.toArray(String[]::new));
  }

  private List<Map<String, Object>> lines(String... arguments) {
    return changes(arguments).succeeds().lines().stream().map(JsonText::object).toList();
  }

  private List<Object> keys(String... arguments) {
    return lines(arguments).stream()
        .map(line -> line.getOrDefault("key", line.getOrDefault("from", "")))
        .toList();
  }

  @Test
  void everyChangeIsOneLineInCommitOrder() {
    List<Map<String, Object>> lines = lines();

    assertEquals(
        List.of("put", "put", "delete", "deleteRange"),
        lines.stream().map(line -> line.get("kind")).toList());
    assertEquals("MQ==", lines.get(0).get("value"));
    assertEquals(false, lines.get(0).get("more"));
    assertEquals(true, lines.get(1).get("more"));
    assertTrue(lines.get(1).containsKey("expiresAtMillis"));
    assertFalse(lines.get(2).containsKey("keyspace"));
    assertEquals("users", lines.get(3).get("keyspace"));
    assertEquals("ff", lines.get(3).get("toHex"));
    assertFalse(lines("--keys-only").get(0).containsKey("value"));
  }

  @Test
  void theyBeginAndEndWhereTheyAreAskedTo() {
    String second = String.valueOf(lines().get(1).get("sequence"));
    assertEquals(List.of("a", "c"), keys("--after", second));
    assertEquals(List.of("a", "b"), keys("--until", second));
    assertEquals(List.of("a", "b"), keys("--follow", "--until", second));
    assertEquals(List.of("a", "b", "a"), keys("--follow", "--max", "3"));
    assertEquals(List.of(), keys("--max", "0"));
    assertEquals(List.of(), keys("--until", "0"));
    String refusal = changes("--after", "1000").failsWith(1);
    assertTrue(refusal.startsWith("--after: "), refusal);
  }

  @Test
  void lostChangesAreLeftOutUnlessTheyAreAskedFor() {
    try (KvStore open = open()) {
      open.bulkLoad(List.of(Map.entry(new byte[] {1}, new byte[] {2})).iterator());
      open.put("z".getBytes(UTF_8), "9".getBytes(UTF_8));
    }
    CommandRun run = changes();
    assertEquals(0, run.code());
    assertEquals("z", run.json().get("key"));
    assertTrue(run.errors().startsWith("kvsep: the log no longer has the changes up to number "));
    String refusal = changes("--after", "0").failsWith(1);
    assertTrue(refusal.contains("not all in the log any more"), refusal);
  }

  @Test
  void aServerIsFollowed(@TempDir Path folder) throws IOException {
    EventLoopGroup loops = EventLoopGroups.newEventLoopGroup(1, "test", true);
    HttpOptions options = HttpOptions.builder().port(0).token("secret-token").build();
    Path token = Files.writeString(folder.resolve("token"), "secret-token\n");
    List<String> printed = changes().succeeds().lines();
    try (KvStore open = open();
        HttpFront front = new HttpFront(open, options, loops)) {
      front.start();
      String url = "http://127.0.0.1:" + front.address().getPort() + "/";
      String[] all = {"--url", url, "--token-file", token.toString(), "--after", "0"};
      assertEquals(printed, changes(with(all, "--max", "4")).succeeds().lines());
      String second = String.valueOf(JsonText.object(printed.get(1)).get("sequence"));
      assertEquals(printed.subList(0, 2), changes(with(all, "--until", second)).succeeds().lines());
      String refusal = changes("--url", url).failsWith(1);
      assertTrue(refusal.startsWith(url + " answers status 401: "), refusal);
      open.bulkLoad(List.of(Map.entry(new byte[] {1}, new byte[] {2})).iterator());
      String lost = changes(all).failsWith(1);
      assertTrue(lost.startsWith(url + " answers status 410: changes after"), lost);
    } finally {
      loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
    }
    changes("--url", "nonsense").failsWith(2);
    changes("--token-file", token.toString()).failsWith(2);
    String none = changes("--url", "http://127.0.0.1:1").failsWith(1);
    assertEquals("no server at http://127.0.0.1:1", none);
  }

  @Test
  void whatIsNoFeedIsToldInALine() throws IOException {
    Map<String, String> answers =
        Map.of(
            "/words/v1/changes", "id: one\n\n",
            "/page/v1/changes", "\u001b[31m<html>" + "long ".repeat(1 << 20),
            "/ended/v1/changes", "");
    HttpServer other =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    other.createContext(
        "/",
        exchange -> {
          String path = exchange.getRequestURI().getPath();
          byte[] answer = answers.getOrDefault(path, "").getBytes(UTF_8);
          exchange.sendResponseHeaders(path.startsWith("/page") ? 404 : 200, 0);
          try (OutputStream body = exchange.getResponseBody()) {
            body.write(answer);
          } catch (IOException e) {
            // The command reads no more of it than it shows.
            exchange.close();
          }
        });
    other.start();
    try {
      String url = "http://127.0.0.1:" + other.getAddress().getPort();
      String words = url + "/words";
      assertEquals(words + " sends no changes of a store", changes("--url", words).failsWith(1));
      String page = changes("--url", url + "/page").failsWith(1);
      assertTrue(page.startsWith(url + "/page answers status 404: ?[31m<html>long"), page);
      assertTrue(page.length() < 400, page);
      String ended = url + "/ended";
      assertEquals(ended + " has ended the feed", changes("--url", ended).failsWith(1));
    } finally {
      other.stop(0);
    }
  }

  private static String[] with(String[] arguments, String... more) {
    return Stream.of(arguments, more).flatMap(Stream::of).toArray(String[]::new);
  }

  @Test
  void aFeedThatIsFollowedEndsWhenItIsAskedToStop() {
    AtomicReference<Runnable> stop = new AtomicReference<>(() -> {});
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    OutputStream stopping =
        new OutputStream() {
          @Override
          public void write(int value) {
            output.write(value);
            if (output.toString(UTF_8).lines().count() == 2) {
              stop.get().run();
            }
          }
        };
    ByteArrayOutputStream errors = new ByteArrayOutputStream();
    Streams plain = Streams.of(InputStream.nullInputStream(), stopping, errors);
    Streams streams =
        new Streams(plain.input(), plain.output(), plain.errors(), false, false, stop::set);

    int code = Kvsep.run(streams, "changes", "--follow", "--dir", store.toString());

    assertEquals(0, code, errors.toString(UTF_8));
    assertEquals(2, output.toString(UTF_8).lines().count());
  }
}
