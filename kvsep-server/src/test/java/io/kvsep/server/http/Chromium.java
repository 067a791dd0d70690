package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.server.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A browser without a window, spoken to by its DevTools protocol. */
final class Chromium implements AutoCloseable, WebSocket.Listener {
  private static final Pattern PORT = Pattern.compile("listening on ws://127\\.0\\.0\\.1:(\\d+)/");
  private static final Pattern SOCKET =
      Pattern.compile("\"webSocketDebuggerUrl\": *\"([^\"]*/page/[^\"]*)\"");
  private static final Pattern ID = Pattern.compile("^\\{\"id\":(\\d+),");
  private static final Pattern VALUE = Pattern.compile("\"value\":(.*)\\}\\}\\}$", Pattern.DOTALL);
  private static final long PATIENCE_SECONDS = 60;

  private final Process process;
  private final Map<Long, CompletableFuture<String>> calls = new ConcurrentHashMap<>();
  private final StringBuilder message = new StringBuilder();
  private final Queue<String> complaints = new ConcurrentLinkedQueue<>();
  private @Nullable WebSocket socket;
  private long lastId;

  private Chromium(Process process) {
    this.process = process;
  }

  static @Nullable Path program() {
    for (String folder : String.valueOf(System.getenv("PATH")).split(":", -1)) {
      for (String name : List.of("chromium", "chromium-browser", "google-chrome")) {
        Path program = Path.of(folder, name);
        if (Files.isExecutable(program)) {
          return program;
        }
      }
    }
    return null;
  }

  static Chromium start(Path program, Path user) throws Exception {
    Process process =
        new ProcessBuilder(
                program.toString(),
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--remote-debugging-port=0",
                "--user-data-dir=" + user,
                "about:blank")
            .redirectErrorStream(true)
            .start();
    Chromium chromium = new Chromium(process);
    try {
      chromium.connect(port(process));
      return chromium;
    } catch (Exception | Error e) {
      chromium.close();
      throw e;
    }
  }

  private static int port(Process process) throws IOException {
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Matcher port = PORT.matcher(line);
      if (port.find()) {
        return Integer.parseInt(port.group(1));
      }
    }
    throw new IOException("the browser ended before it said where it listens");
  }

  private void connect(int port) throws Exception {
    HttpClient client = HttpClient.newHttpClient();
    HttpRequest list =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/json")).build();
    Matcher page = SOCKET.matcher(client.send(list, BodyHandlers.ofString()).body());
    assertTrue(page.find());
    socket = client.newWebSocketBuilder().buildAsync(URI.create(page.group(1)), this).get();
    call("Runtime.enable", new JsonObject());
    call("Log.enable", new JsonObject());
    call("Page.enable", new JsonObject());
  }

  @Override
  public @Nullable CompletionStage<?> onText(WebSocket from, CharSequence part, boolean isLast) {
    message.append(part);
    if (isLast) {
      String whole = message.toString();
      message.setLength(0);
      Matcher id = ID.matcher(whole);
      if (id.find()) {
        CompletableFuture<String> call = calls.remove(Long.parseLong(id.group(1)));
        if (call != null) {
          call.complete(whole);
        }
      } else if (whole.contains("Runtime.exceptionThrown")
          || (whole.contains("Log.entryAdded") && !whole.contains("401"))) {
        complaints.add(whole);
      }
    }
    from.request(1);
    return null;
  }

  void open(String url) throws Exception {
    call("Page.navigate", new JsonObject().put("url", url));
  }

  /** The value of an expression, as JSON. */
  String run(String expression) throws Exception {
    String answer =
        call(
            "Runtime.evaluate",
            new JsonObject().put("expression", expression).put("returnByValue", true));
    Matcher value = VALUE.matcher(answer);
    return value.find() ? value.group(1) : "";
  }

  String text(String selector) throws Exception {
    String json = run("document.querySelector('" + selector + "').textContent");
    return json.substring(1, json.length() - 1);
  }

  void await(String condition) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (!run(condition).equals("true")) {
      assertTrue(System.nanoTime() - end < 0, () -> condition + "; " + complaints);
    }
  }

  /** What the browser's console says that no page should have it say. */
  String complaints() {
    return String.join("\n", complaints);
  }

  private String call(String method, JsonObject parameters) throws Exception {
    long id = ++lastId;
    CompletableFuture<String> answer = new CompletableFuture<>();
    calls.put(id, answer);
    WebSocket open = socket;
    if (open == null) {
      throw new IllegalStateException("not connected");
    }
    open.sendText(
            new JsonObject()
                .put("id", id)
                .put("method", method)
                .put("params", parameters)
                .toString(),
            true)
        .get();
    return answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
  }

  @Override
  public void close() throws Exception {
    WebSocket open = socket;
    if (open != null) {
      open.abort();
    }
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
    process.waitFor();
  }
}
