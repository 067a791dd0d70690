package io.kvsep;

import io.kvsep.internal.config.EngineConfig.Shape;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * How a store is opened. Immutable; {@link Builder#build} validates everything at once and names
 * every problem in one message. None of the options is recorded: a store may be opened with others
 * every time.
 */
public final class KvOptions {
  private static final KvOptions DEFAULTS = builder().build();

  private final Builder values;

  private KvOptions(Builder values) {
    this.values = values;
  }

  public static KvOptions defaults() {
    return DEFAULTS;
  }

  public static Builder builder() {
    return new Builder();
  }

  public Durability durability() {
    return values.durability;
  }

  public long memoryBudgetBytes() {
    return values.memoryBudgetBytes;
  }

  public int inlineValueBytesMax() {
    return values.inlineValueBytesMax;
  }

  public long segmentBytes() {
    return values.segmentBytes;
  }

  public ValueCompression valueCompression() {
    return values.valueCompression;
  }

  public int valueCompressionBytesMin() {
    return values.valueCompressionBytesMin;
  }

  public ValueCompression keyBlockCompression() {
    return values.keyBlockCompression;
  }

  public double spaceAmplificationMax() {
    return values.spaceAmplificationMax;
  }

  public long changeRetentionBytes() {
    return values.changeRetentionBytes;
  }

  public int backgroundThreads() {
    return values.backgroundThreads;
  }

  public boolean verifyValues() {
    return values.verifyValues;
  }

  public boolean readOnly() {
    return values.readOnly;
  }

  public boolean createIfMissing() {
    return values.createIfMissing;
  }

  public boolean exclusive() {
    return values.exclusive;
  }

  public Clock clock() {
    return values.clock;
  }

  /** Collects options; not thread safe. */
  public static final class Builder {
    private static final long MIB = 1L << 20;

    /** Asked once: what the process may use hardly changes. */
    private static final long MEMORY_BUDGET_DEFAULT = Shape.usualBudgetBytes();

    private Durability durability = Durability.async(Duration.ofSeconds(1));
    private long memoryBudgetBytes = MEMORY_BUDGET_DEFAULT;
    private int inlineValueBytesMax = 256;
    private long segmentBytes = 256 * MIB;
    private ValueCompression valueCompression = ValueCompression.LZ4;
    private int valueCompressionBytesMin = 1024;
    private ValueCompression keyBlockCompression = ValueCompression.NONE;
    private double spaceAmplificationMax = 1.5;
    private long changeRetentionBytes;
    private int backgroundThreads =
        Math.max(2, Math.min(8, Runtime.getRuntime().availableProcessors() / 2 + 1));
    private boolean verifyValues = true;
    private boolean readOnly;
    private boolean createIfMissing = true;
    private boolean exclusive;
    private Clock clock = Clock.systemUTC();

    private Builder() {}

    /** What an acknowledged write has survived. Default: async, one second. */
    public Builder durability(Durability value) {
      durability = Objects.requireNonNull(value, "durability");
      return this;
    }

    /**
     * Cap on the off-heap memory the store owns: memtables, buffers, tables being written. Mapped
     * files are not part of it. On top come what open cursors work with, memtables that a cursor or
     * a backup keeps after they were flushed ({@link StoreStats#pinned}), and, in a store that is
     * opened for reading only, what a larger budget left in the log. Default 256 MiB, but at most a
     * quarter of the memory that the process may use (of its control group, where that has a
     * limit); from 16 MiB up.
     */
    public Builder memoryBudgetBytes(long value) {
      memoryBudgetBytes = value;
      return this;
    }

    /**
     * Values of up to this many bytes live beside their key, longer ones in the value log alone.
     * Default 256, from 0 (only empty values) to 64 KiB.
     */
    public Builder inlineValueBytesMax(int value) {
      inlineValueBytesMax = value;
      return this;
    }

    /**
     * Length of a value-log segment; shorter ones, from 32 MiB, are made as long as little is live.
     * Default 256 MiB, from 1 MiB to 1 GiB.
     */
    public Builder segmentBytes(long value) {
      segmentBytes = value;
      return this;
    }

    /**
     * A value is kept compressed where that saves an eighth. Behind many that it did not, the next
     * few are not tried. Default {@link ValueCompression#LZ4}.
     */
    public Builder valueCompression(ValueCompression value) {
      valueCompression = Objects.requireNonNull(value, "valueCompression");
      return this;
    }

    /** Shorter values are never compressed. Default 1 KiB, from 64 bytes up. */
    public Builder valueCompressionBytesMin(int value) {
      valueCompressionBytesMin = value;
      return this;
    }

    /**
     * Whether blocks of keys, and of the values that live beside them, are compressed in the lower
     * levels. Saves disk where such values compress; costs random reads that miss the cache of
     * unpacked blocks. Default {@link ValueCompression#NONE}.
     */
    public Builder keyBlockCompression(ValueCompression value) {
      keyBlockCompression = Objects.requireNonNull(value, "keyBlockCompression");
      return this;
    }

    /**
     * Bytes of the value log's files by bytes of them that are needed, which reclaim holds by
     * itself. Default 1.5, from 1.05 to 100.
     *
     * <p>To give space back reclaim copies what is still needed of a file. The nearer the limit is
     * to 1, the more is copied for each byte that comes back; below about 1.2 it is very much.
     *
     * <p>It is a goal and no strict bound: reclaim works harder the nearer garbage comes to it, and
     * beyond it writers are slowed down as long as reclaim is at work. It is about files that the
     * log has finished and whose entries have been flushed, beyond the first MiB of garbage. What
     * is added to them: the segment that is being written, which ends early when much in it is
     * garbage; files that open cursors keep; during a job the file that it writes; and garbage that
     * came of the last two seconds' writes, up to 128 MiB, which in a store of less than 640 MiB
     * may be more than all of this allows.
     */
    public Builder spaceAmplificationMax(double value) {
      spaceAmplificationMax = value;
      return this;
    }

    /**
     * Bytes of the newest part of the log that are kept for {@link KvStore#changes}, whatever in
     * them is needed otherwise: whole files, as many as have so many bytes together, besides the
     * one that is being written. They come on top of what {@link #spaceAmplificationMax} allows; a
     * store that does not fit into memory has the values in them a second time, in order. Default
     * 0: changes can be read until their file is given back, or rewritten.
     */
    public Builder changeRetentionBytes(long value) {
      changeRetentionBytes = value;
      return this;
    }

    /**
     * Threads that flush and compact, from 1 to 64. Reclaim has one of its own, and so has a bulk
     * load. Default from the number of processors.
     */
    public Builder backgroundThreads(int value) {
      backgroundThreads = value;
      return this;
    }

    /**
     * Whether the checksum of a value is verified each time it is read. Default true: a value that
     * the device has damaged is a {@link io.kvsep.error.CorruptionException}. With false it is
     * handed out as it is, where it is longer than {@link #inlineValueBytesMax} and not kept
     * compressed, by what reads through {@link KvReader}, and {@link KvStore#compareAndSet} and
     * {@link KvStore#compareAndDelete} go by what it is; so only for who trusts device and file
     * system, or checks values by other means. Saves time with values from some KiB up: views of 16
     * KiB are had nearly twice as fast.
     *
     * <p>Everything else is verified all the same: keys, the values beside them, that a value is
     * that of its key, and all that recovery, reclaim, {@link KvStore#verify}, backups and {@link
     * KvStore#changes} read. Checkpoints link or copy files as they are, whatever is set here.
     */
    public Builder verifyValues(boolean value) {
      verifyValues = value;
      return this;
    }

    /**
     * Opens without changing a byte; needs an existing store. Calls that write throw {@link
     * io.kvsep.error.ReadOnlyStoreException}. Default false.
     */
    public Builder readOnly(boolean value) {
      readOnly = value;
      return this;
    }

    /** Whether a missing store is created; otherwise it is an error. Default true. */
    public Builder createIfMissing(boolean value) {
      createIfMissing = value;
      return this;
    }

    /** Whether an existing store is an error, so that a new one is made. Default false. */
    public Builder exclusive(boolean value) {
      exclusive = value;
      return this;
    }

    /**
     * Where times to live are read from. Default the system's clock. Reads of entries that expire
     * ask it, and so do writes and work in the background, while others may wait for them: it has
     * to answer at once, and must not call the store.
     */
    public Builder clock(Clock value) {
      clock = Objects.requireNonNull(value, "clock");
      return this;
    }

    /** The options, or an {@link IllegalArgumentException} that names every problem. */
    public KvOptions build() {
      List<String> problems = new ArrayList<>();
      check(problems, "memoryBudgetBytes", memoryBudgetBytes, Shape.BUDGET_BYTES_MIN, 1L << 40);
      check(problems, "inlineValueBytesMax", inlineValueBytesMax, 0, 1 << 16);
      check(problems, "segmentBytes", segmentBytes, MIB, 1 << 30);
      check(problems, "valueCompressionBytesMin", valueCompressionBytesMin, 64, 1 << 30);
      // So put that NaN is a problem too.
      if (!(spaceAmplificationMax >= 1.05 && spaceAmplificationMax <= 100)) {
        problems.add("spaceAmplificationMax must be from 1.05 to 100, is " + spaceAmplificationMax);
      }
      check(problems, "changeRetentionBytes", changeRetentionBytes, 0, 1L << 50);
      check(problems, "backgroundThreads", backgroundThreads, 1, 64);
      if (readOnly && exclusive) {
        problems.add("readOnly needs an existing store, exclusive forbids one");
      }
      if (exclusive && !createIfMissing) {
        problems.add("exclusive needs a new store, createIfMissing(false) forbids one");
      }
      if (!problems.isEmpty()) {
        throw new IllegalArgumentException("invalid options: " + String.join("; ", problems));
      }
      Builder copy = new Builder();
      copy.durability = durability;
      copy.memoryBudgetBytes = memoryBudgetBytes;
      copy.inlineValueBytesMax = inlineValueBytesMax;
      copy.segmentBytes = segmentBytes;
      copy.valueCompression = valueCompression;
      copy.valueCompressionBytesMin = valueCompressionBytesMin;
      copy.keyBlockCompression = keyBlockCompression;
      copy.spaceAmplificationMax = spaceAmplificationMax;
      copy.changeRetentionBytes = changeRetentionBytes;
      copy.backgroundThreads = backgroundThreads;
      copy.verifyValues = verifyValues;
      copy.readOnly = readOnly;
      copy.createIfMissing = createIfMissing;
      copy.exclusive = exclusive;
      copy.clock = clock;
      return new KvOptions(copy);
    }

    private static void check(List<String> problems, String name, long value, long min, long max) {
      if (value < min || value > max) {
        problems.add(name + " must be from " + min + " to " + max + ", is " + value);
      }
    }
  }
}
