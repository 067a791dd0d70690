package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.kvsep.Durability;
import io.kvsep.EntryInfo;
import io.kvsep.KeyspaceView;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.server.json.ByteText;
import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Adds to a counter; durable on success. Creates the store if it does not exist. */
@Command(
    name = "increment",
    description = "Add to the counter at KEY and print its new value. An absent KEY counts as 0.",
    footer = {
      "",
      "A counter is a number of 64 bits, 8 bytes with the highest first, as increment",
      "of the library has it. Clients of Redis have decimal text instead: --text.",
      "Creates the store when there is none."
    })
final class IncrementCommand implements Callable<Integer> {
  /** Of 64 bits, with a sign. */
  private static final int DIGITS_MAX = 20;

  private static final Pattern INTEGER = Pattern.compile("0|-?[1-9][0-9]{0,18}");

  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final KeyArgument key = new KeyArgument();
  @Mixin private final KeyspaceOption keyspace = new KeyspaceOption();

  @Option(
      names = "--by",
      paramLabel = "N",
      defaultValue = "1",
      description = "Add N, which may be negative (default: 1).")
  private long by;

  @Option(
      names = "--text",
      description = "The value is decimal text. It keeps its time to live, a counter loses it.")
  private boolean text;

  IncrementCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    byte[] keyBytes = key.bytes();
    long sum;
    try (KvStore open = store.openOrCreate(KvOptions.builder().durability(Durability.sync()))) {
      KeyspaceView view = keyspace.writerOrNew(open);
      sum = text ? incrementText(view, keyBytes) : increment(view, keyBytes);
    } catch (ArithmeticException e) {
      throw CommandFailure.failed("the sum does not fit into 64 bits", e);
    }
    streams.output().line(Long.toString(sum));
    return Kvsep.DONE;
  }

  private long increment(KeyspaceView view, byte[] keyBytes) {
    EntryInfo info = view.info(keyBytes);
    if (info != null && info.valueLength() != Long.BYTES) {
      throw CommandFailure.failed(
          "no counter: the value of "
              + ByteText.show(keyBytes)
              + " has "
              + Amounts.of(info.valueLength(), "byte")
              + ", not 8 (--text adds to decimal text)");
    }
    return view.increment(keyBytes, by);
  }

  /** No other thread writes: the store is open here alone. */
  private long incrementText(KeyspaceView view, byte[] keyBytes) {
    EntryInfo info = view.info(keyBytes);
    boolean isShort = info == null || info.valueLength() <= DIGITS_MAX;
    byte[] old = isShort ? view.get(keyBytes) : new byte[0];
    long sum = Math.addExact(number(keyBytes, old), by);
    byte[] value = Long.toString(sum).getBytes(ISO_8859_1);
    if (info != null && info.expiresAtMillis().isPresent()) {
      view.putUntil(keyBytes, value, info.expiresAtMillis().getAsLong());
    } else {
      view.put(keyBytes, value);
    }
    return sum;
  }

  private static long number(byte[] keyBytes, byte @Nullable [] value) {
    if (value == null) {
      return 0;
    }
    String digits = new String(value, ISO_8859_1);
    try {
      if (INTEGER.matcher(digits).matches()) {
        return Long.parseLong(digits);
      }
    } catch (NumberFormatException e) {
      // Longer than 64 bits.
    }
    throw CommandFailure.failed(
        "the value of " + ByteText.show(keyBytes) + " is no decimal number of 64 bits");
  }
}
