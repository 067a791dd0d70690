package io.kvsep.bench.compare;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Has every entry without keeping any, and remembers which ones its readers were asked for. */
class RecordingEngine implements Engine {
  private static final int ORDINAL_DIGITS = 10;

  /** What each reader was asked for, in the order in which they were made. */
  final List<List<Long>> read = new ArrayList<>();

  private final Entries entries;

  RecordingEngine(Entries entries) {
    this.entries = entries;
  }

  @Override
  public String version() {
    return "1";
  }

  @Override
  public String settings() {
    return "none";
  }

  @Override
  public boolean hasViews() {
    return true;
  }

  @Override
  public void sync() {}

  @Override
  public void close() {}

  /** Called for each batch and each put. */
  void commit() {}

  @Override
  public Writer writer() {
    return new Writer() {
      @Override
      public void add(byte[] key, byte[] value) {}

      @Override
      public void commit() {
        RecordingEngine.this.commit();
      }

      @Override
      public void close() {}
    };
  }

  @Override
  public Reader reader(boolean changing) {
    List<Long> mine = new ArrayList<>();
    synchronized (read) {
      read.add(mine);
    }
    return new RecordingReader(mine);
  }

  private final class RecordingReader extends Reader {
    private final List<Long> mine;
    private final Entries.Values values = entries.values();

    RecordingReader(List<Long> mine) {
      this.mine = mine;
    }

    /** Notes the ordinal; false for an absent key. */
    private boolean find(byte[] key) {
      // The last character of an absent key is no digit, but that of an ordinal with 16 added.
      boolean absent = key[key.length - 1] > '9';
      byte[] digits = Arrays.copyOfRange(key, key.length - ORDINAL_DIGITS, key.length);
      if (absent) {
        digits[ORDINAL_DIGITS - 1] = (byte) (digits[ORDINAL_DIGITS - 1] - 16);
      }
      long ordinal = Long.parseLong(new String(digits, US_ASCII));
      mine.add(ordinal);
      if (!absent) {
        bytes = values.of(ordinal);
        length = bytes.length;
      }
      return !absent;
    }

    @Override
    boolean get(byte[] key) {
      return find(key);
    }

    @Override
    boolean getReused(byte[] key) {
      return find(key);
    }

    @Override
    boolean check(byte[] key, ViewCheck check) {
      return find(key) && check.apply(ByteBuffer.wrap(bytes));
    }

    @Override
    Cursor cursor(byte @Nullable [] from, boolean keysOnly) {
      throw new UnsupportedOperationException("no order");
    }

    @Override
    public void close() {}
  }
}
