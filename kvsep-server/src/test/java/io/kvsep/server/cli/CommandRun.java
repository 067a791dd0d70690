package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.server.json.JsonText;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** One command as a user sees it: exit code, the bytes of standard output, standard error. */
record CommandRun(int code, byte[] output, String errors) {
  static CommandRun of(String... arguments) {
    return withInput(new byte[0], arguments);
  }

  static CommandRun withInput(byte[] input, String... arguments) {
    return run(input, /* onTerminal= */ false, arguments);
  }

  /** As run by a user at a terminal. */
  static CommandRun onTerminal(String... arguments) {
    return run(new byte[0], /* onTerminal= */ true, arguments);
  }

  private static CommandRun run(byte[] input, boolean onTerminal, String... arguments) {
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    ByteArrayOutputStream errors = new ByteArrayOutputStream();
    Streams streams = Streams.of(new ByteArrayInputStream(input), output, errors);
    int code = Kvsep.run(onTerminal ? onTerminal(streams) : streams, arguments);
    return new CommandRun(code, output.toByteArray(), errors.toString(UTF_8));
  }

  static Streams onTerminal(Streams streams) {
    return new Streams(
        streams.input(),
        streams.output(),
        streams.errors(),
        /* errorsAreTerminal= */ true,
        /* outputIsFile= */ true,
        streams.stopSignals());
  }

  String text() {
    return new String(output, UTF_8);
  }

  List<String> lines() {
    return text().lines().toList();
  }

  Map<String, Object> json() {
    assertEquals(1, lines().size(), text());
    return JsonText.object(lines().get(0));
  }

  static long number(Map<String, Object> json, String name) {
    return ((Long) Objects.requireNonNull(json.get(name), name)).longValue();
  }

  CommandRun succeeds() {
    assertEquals("", errors);
    assertEquals(0, code);
    return this;
  }

  /** The one line without its beginning, which is always the same. */
  String failsWith(int expectedCode) {
    assertEquals(expectedCode, code, errors);
    assertEquals(1, errors.lines().count(), errors);
    assertTrue(errors.startsWith("kvsep: "), errors);
    assertTrue(errors.endsWith(System.lineSeparator()), errors);
    return errors.substring("kvsep: ".length()).strip();
  }
}
