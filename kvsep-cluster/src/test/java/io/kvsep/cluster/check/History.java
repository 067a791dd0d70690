package io.kvsep.cluster.check;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.cluster.check.Call.Kind;
import io.kvsep.cluster.check.Call.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Records what clients do. A client begins each call right before it sends it, and tells its
 * outcome right after the answer came. Thread safe.
 */
final class History {
  private final LongSupplier nanoTime;
  private final Queue<Begun> calls = new ConcurrentLinkedQueue<>();

  History(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  Begun get(int client, String key) {
    return begin(client, Kind.GET, key, null, null);
  }

  Begun put(int client, String key, String value) {
    return begin(client, Kind.PUT, key, null, value);
  }

  Begun delete(int client, String key) {
    return begin(client, Kind.DELETE, key, null, null);
  }

  /** Of {@code value} null, a conditional delete; of {@code expected} null, an insert. */
  Begun compareAndSet(int client, String key, @Nullable String expected, @Nullable String value) {
    return begin(client, Kind.CAS, key, expected, value);
  }

  private Begun begin(
      int client, Kind kind, String key, @Nullable String expected, @Nullable String value) {
    Begun call =
        new Begun(
            new Call(
                client,
                kind,
                key,
                expected,
                value,
                Outcome.UNKNOWN,
                nanoTime.getAsLong(),
                Call.NEVER));
    calls.add(call);
    return call;
  }

  /** A call whose outcome is unknown until it is told. */
  final class Begun {
    private volatile Call call;

    private Begun(Call call) {
      this.call = call;
    }

    void done() {
      end(call.value(), Outcome.DONE);
    }

    /** Of a get. */
    void found(@Nullable String value) {
      end(value, Outcome.DONE);
    }

    /** Of a compare-and-set. */
    void wasMet(boolean met) {
      end(call.value(), met ? Outcome.DONE : Outcome.REFUSED);
    }

    /** It is certain that the call took no effect and never will. */
    void failed() {
      end(call.value(), Outcome.FAILED);
    }

    private void end(@Nullable String value, Outcome outcome) {
      Call begun = call;
      if (begun.outcome() != Outcome.UNKNOWN) {
        throw new IllegalStateException("has ended: " + begun);
      }
      call =
          new Call(
              begun.client(),
              begun.kind(),
              begun.key(),
              begun.expected(),
              value,
              outcome,
              begun.invoked(),
              nanoTime.getAsLong());
    }
  }

  /** All calls begun so far, in the order of their invocation. */
  List<Call> calls() {
    List<Call> all = new ArrayList<>();
    calls.forEach(begun -> all.add(begun.call));
    all.sort(Comparator.comparingLong(Call::invoked));
    return all;
  }

  /** A line for each call; {@link #parse} reads them back. */
  static String text(List<Call> calls) {
    return calls.stream().map(call -> call + "\n").collect(Collectors.joining());
  }

  /** Passes over empty lines, and those that begin with {@code #}. */
  static List<Call> parse(String text) {
    return text.lines()
        .filter(line -> !line.isBlank() && !line.startsWith("#"))
        .map(Call::parse)
        .toList();
  }

  /**
   * Fails unless the calls are linearizable. The failure names a file that holds them all.
   *
   * @param title what made them, such as the seed
   * @param directory for the file
   */
  static void requireLinearizable(List<Call> calls, String title, Path directory) {
    LinearizabilityChecker.Violation violation = LinearizabilityChecker.check(calls);
    if (violation == null) {
      return;
    }
    Path file = directory.resolve("history-" + Integer.toHexString(calls.hashCode()) + ".txt");
    try {
      Files.createDirectories(directory);
      Files.writeString(file, "# " + title + "\n" + text(calls), UTF_8);
    } catch (IOException e) {
      throw new AssertionError(title + ": " + violation + "; history cannot be kept", e);
    }
    throw new AssertionError(title + ": " + violation + "; history: " + file);
  }
}
