package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.error.CorruptionException;
import io.kvsep.server.json.ByteText;
import io.kvsep.server.json.EntryLine;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "scan",
    description = "List entries in key order: key, tab, value.",
    footer = {
      "",
      "Keys that are not UTF-8, hold control characters or begin with 0x are shown as",
      "0x and hexadecimal digits. Values are text with escapes such as \\n, or 0x and",
      "digits; long ones are cut. --json shows them whole, in base64. An entry whose",
      "value is damaged is told of and left out, which makes the exit code 1."
    })
final class ScanCommand implements Callable<Integer> {
  /** Most bytes of a value that a line shows without --json. */
  private static final int SHOWN_BYTES = 80;

  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final KeyspaceOption keyspace = new KeyspaceOption();
  @Mixin private final RangeOptions range = new RangeOptions();

  @Option(names = "--reverse", description = "In descending order.")
  private boolean reverse;

  @Option(names = "--limit", paramLabel = "N", description = "At most N entries.")
  private @Nullable Long limit;

  @Option(names = "--keys-only", description = "Keys without values, which are then not read.")
  private boolean keysOnly;

  @Option(
      names = "--json",
      description =
          "One JSON object per line: key, keyHex when key is not UTF-8, valueLength,"
              + " value in base64, expiresAtMillis.")
  private boolean json;

  ScanCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    ScanOptions options = options();
    Skipped damaged = new Skipped();
    try (KvStore open = store.openToRead();
        ProgressBar bar =
            ProgressBar.besideOutput(
                streams, "scan", planned(keyspace.reader(open)), ProgressBar.Unit.ENTRIES);
        KvCursor cursor = keyspace.reader(open).cursor(options)) {
      while (cursor.next()) {
        bar.advance(1);
        if (keysOnly) {
          String line = json ? EntryLine.withoutValue(cursor) : ByteText.show(cursor.key());
          streams.output().line(line);
        } else {
          write(cursor, damaged);
        }
      }
    }
    damaged.requireNone("value", "read");
    return Kvsep.DONE;
  }

  private long planned(KvReader reader) {
    RangeOptions.Range keys = range.range();
    long about = reader.approximateCount(keys.first(), keys.end());
    return limit == null ? about : Math.min(limit, about);
  }

  private ScanOptions options() {
    ScanOptions options = range.range().scan();
    if (limit != null) {
      if (limit < 0) {
        throw CommandFailure.misused("--limit is negative: " + limit);
      }
      options = options.limit(limit);
    }
    options = keysOnly ? options.keysOnly() : options;
    return reverse ? options.reverse() : options;
  }

  private void write(KvCursor cursor, Skipped damaged) throws IOException {
    String key = ByteText.show(cursor.key());
    String start = json ? EntryLine.upToValue(cursor) : "";
    String end = json ? '"' + EntryLine.end(cursor) : "";
    ByteBuffer value;
    try {
      value = cursor.valueView();
    } catch (CorruptionException e) {
      // The other entries are sound.
      damaged.addAndTell(key, Kvsep.reason(e), streams);
      return;
    }
    if (json) {
      streams.output().write(start.getBytes(UTF_8));
      ByteText.writeBase64(value, streams.output());
      streams.output().line(end);
    } else {
      streams.output().line(key + '\t' + shown(value));
    }
  }

  private static String shown(ByteBuffer value) {
    int length = value.remaining();
    byte[] first = new byte[Math.min(length, SHOWN_BYTES + 1)];
    value.get(first);
    return length <= SHOWN_BYTES
        ? ByteText.showEscaped(first)
        : ByteText.showEscaped(start(first)) + "... (" + Amounts.of(length, "byte") + ")";
  }

  /** Cuts the value between characters, if it is UTF-8. */
  private static byte[] start(byte[] value) {
    int end = SHOWN_BYTES;
    while (end > SHOWN_BYTES - 4 && (value[end] & 0xc0) == 0x80) {
      end--;
    }
    return Arrays.copyOf(value, end);
  }
}
