package io.kvsep;

import io.kvsep.internal.config.EngineConfig.Shape;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Options for opening a store. Immutable. {@link Builder#build} validates all options and reports
 * every problem in one message. Options are not persisted and may differ at each opening.
 */
public final class KvOptions {
  private static final KvOptions DEFAULTS = builder().build();

  private final Builder values;

  private KvOptions(Builder values) {
    this.values = values;
  }

  /** {@return options with every default} */
  public static KvOptions defaults() {
    return DEFAULTS;
  }

  /** {@return a builder with every default} */
  public static Builder builder() {
    return new Builder();
  }

  /** {@return the value of {@link Builder#durability}} */
  public Durability durability() {
    return values.durability;
  }

  /** {@return the value of {@link Builder#memoryBudgetBytes}, or that of the resources} */
  public long memoryBudgetBytes() {
    KvResources shared = values.resources;
    return shared == null ? values.memoryBudgetBytes : shared.memoryBudgetBytes();
  }

  int inlineValueBytesMaxIfLarge() {
    return values.inlineValueBytesMaxIfLarge;
  }

  /** {@return the value of {@link Builder#inlineValueBytesMax}} */
  public int inlineValueBytesMax() {
    return values.inlineValueBytesMax;
  }

  /** {@return the value of {@link Builder#segmentBytes}} */
  public long segmentBytes() {
    return values.segmentBytes;
  }

  /** {@return the value of {@link Builder#valueCompression}} */
  public ValueCompression valueCompression() {
    return values.valueCompression;
  }

  /** {@return the value of {@link Builder#valueCompressionBytesMin}} */
  public int valueCompressionBytesMin() {
    return values.valueCompressionBytesMin;
  }

  /** {@return the value of {@link Builder#keyBlockCompression}} */
  public ValueCompression keyBlockCompression() {
    return values.keyBlockCompression;
  }

  /** {@return the value of {@link Builder#spaceAmplificationMax}} */
  public double spaceAmplificationMax() {
    return values.spaceAmplificationMax;
  }

  /** {@return the value of {@link Builder#changeRetentionBytes}} */
  public long changeRetentionBytes() {
    return values.changeRetentionBytes;
  }

  /** {@return the value of {@link Builder#backgroundThreads}, or that of the resources} */
  public int backgroundThreads() {
    KvResources shared = values.resources;
    return shared == null ? values.backgroundThreads : shared.backgroundThreads();
  }

  /** {@return the value of {@link Builder#resources}} */
  public @Nullable KvResources resources() {
    return values.resources;
  }

  /** {@return the value of {@link Builder#verifyValues}} */
  public boolean verifyValues() {
    return values.verifyValues;
  }

  /** {@return the value of {@link Builder#readOnly}} */
  public boolean readOnly() {
    return values.readOnly;
  }

  /** {@return the value of {@link Builder#createIfMissing}} */
  public boolean createIfMissing() {
    return values.createIfMissing;
  }

  /** {@return the value of {@link Builder#exclusive}} */
  public boolean exclusive() {
    return values.exclusive;
  }

  /** {@return the value of {@link Builder#clock}} */
  public Clock clock() {
    return values.clock;
  }

  /** Collects options. Not thread safe. */
  public static final class Builder {
    private static final long MIB = 1L << 20;

    /** Computed once; the memory limit of the process rarely changes. */
    static final long MEMORY_BUDGET_DEFAULT = Shape.usualBudgetBytes();

    static final int BACKGROUND_THREADS_DEFAULT =
        Math.max(2, Math.min(8, Runtime.getRuntime().availableProcessors() / 2 + 1));

    private Durability durability = Durability.async(Duration.ofSeconds(1));
    private long memoryBudgetBytes = MEMORY_BUDGET_DEFAULT;
    private boolean givesMemoryBudget;
    private boolean givesBackgroundThreads;
    private int inlineValueBytesMax = 256;
    private int inlineValueBytesMaxIfLarge = 64;
    private long segmentBytes = 256 * MIB;
    private ValueCompression valueCompression = ValueCompression.LZ4;
    private int valueCompressionBytesMin = 1024;
    private ValueCompression keyBlockCompression = ValueCompression.NONE;
    private double spaceAmplificationMax = 1.5;
    private long changeRetentionBytes;
    private int backgroundThreads = BACKGROUND_THREADS_DEFAULT;
    private @Nullable KvResources resources;
    private boolean verifyValues = true;
    private boolean readOnly;
    private boolean createIfMissing = true;
    private boolean exclusive;
    private Clock clock = Clock.systemUTC();

    private Builder() {}

    /**
     * What an acknowledged write survives. Default: async, one second.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder durability(Durability value) {
      durability = Objects.requireNonNull(value, "durability");
      return this;
    }

    /**
     * Limit of the off-heap memory of the store: memtables, buffers, tables being written. Not
     * included: mapped files, working memory of open cursors, flushed memtables that a cursor or a
     * backup still pins ({@link StoreStats#pinned}), and, in a read-only store, memtables for a log
     * written with a larger budget. Default 256 MiB, at most a quarter of the memory available to
     * the process (of its control group, if limited); minimum 16 MiB.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder memoryBudgetBytes(long value) {
      memoryBudgetBytes = value;
      givesMemoryBudget = true;
      return this;
    }

    /**
     * Values up to this many bytes are stored inline with their keys; longer ones only in the value
     * log. Default 256, but 64 for what is written while the store exceeds 4 GiB or half of all
     * memory; from 0 (only empty values) to 64 KiB. Compactions of such a store move longer inline
     * values into blob files.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder inlineValueBytesMax(int value) {
      inlineValueBytesMax = value;
      inlineValueBytesMaxIfLarge = value;
      return this;
    }

    /**
     * Length of a value-log segment. While little data is live, segments are shorter, from 32 MiB.
     * Default 256 MiB, from 1 MiB to 1 GiB.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder segmentBytes(long value) {
      segmentBytes = value;
      return this;
    }

    /**
     * Values are stored compressed if that saves at least 12.5 %. After a run of incompressible
     * values, compression is skipped for a while. Default {@link ValueCompression#LZ4}.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder valueCompression(ValueCompression value) {
      valueCompression = Objects.requireNonNull(value, "valueCompression");
      return this;
    }

    /**
     * Shorter values are never compressed. Default 1 KiB, minimum 64 bytes.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder valueCompressionBytesMin(int value) {
      valueCompressionBytesMin = value;
      return this;
    }

    /**
     * Compression of key blocks, including inline values, in the lower levels. Saves space if
     * inline values compress well; slows random reads that miss the cache of decompressed blocks.
     * Default {@link ValueCompression#NONE}.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder keyBlockCompression(ValueCompression value) {
      keyBlockCompression = Objects.requireNonNull(value, "keyBlockCompression");
      return this;
    }

    /**
     * Target ratio of the bytes of value-log files to the bytes that are live in them; background
     * reclaim maintains it. Default 1.5, from 1.05 to 100.
     *
     * <p>Reclaim copies the live data of a file to free its garbage. The closer the ratio is to 1,
     * the more bytes are copied per byte freed; below about 1.2 the cost is very high.
     *
     * <p>This is a target, not a strict bound. Reclaim works harder as garbage approaches it; above
     * it, writers are slowed down while reclaim runs. It covers completed files whose entries have
     * been flushed, beyond the first MiB of garbage. Not included are: the active segment, which is
     * ended early if much of it is garbage; files pinned by open cursors; the output file of a
     * running job; and garbage caused by the writes of the last two seconds, up to 128 MiB. In a
     * store of less than 640 MiB the last item may exceed the allowance itself.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder spaceAmplificationMax(double value) {
      spaceAmplificationMax = value;
      return this;
    }

    /**
     * Bytes of the newest part of the log that are retained for {@link KvStore#changes} even if
     * they are garbage. Whole files are retained, as many as have this many bytes together, in
     * addition to the active segment. They are not counted by {@link #spaceAmplificationMax}. A
     * store larger than memory holds the values in them twice, because it keeps a second copy in
     * key order. Default 0: changes can be read until their file is reclaimed or rewritten.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder changeRetentionBytes(long value) {
      changeRetentionBytes = value;
      return this;
    }

    /**
     * Threads for flushes and compactions, from 1 to 64; at least two are used. Reclaim and a bulk
     * load use one more thread each. The default depends on the number of processors.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder backgroundThreads(int value) {
      backgroundThreads = value;
      givesBackgroundThreads = true;
      return this;
    }

    /**
     * Memory and threads that the store shares with others. It then has no budget and no threads of
     * its own, so {@link #memoryBudgetBytes} and {@link #backgroundThreads} must not be given
     * besides. Default null: the store has its own, which end with it.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder resources(@Nullable KvResources value) {
      resources = value;
      return this;
    }

    /**
     * Whether the checksum of a value is verified on every read. Default true: a damaged value
     * throws {@link io.kvsep.error.CorruptionException}. If false, reads through {@link KvReader}
     * return, and {@link KvStore#compareAndSet} and {@link KvStore#compareAndDelete} compare,
     * values unverified if they are longer than {@link #inlineValueBytesMax} and stored
     * uncompressed. Disable only if you trust the storage stack or check values yourself. Saves
     * time for values of some KiB and more: reads of 16 KiB views become almost twice as fast.
     *
     * <p>Everything else is always verified: keys, inline values, that a value belongs to its key,
     * and all data that recovery, reclaim, {@link KvStore#verify}, backups and {@link
     * KvStore#changes} read. Checkpoints link or copy files unread, whatever this option.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder verifyValues(boolean value) {
      verifyValues = value;
      return this;
    }

    /**
     * Opens an existing store without changing a byte. Calls that write throw {@link
     * io.kvsep.error.ReadOnlyStoreException}. Default false.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder readOnly(boolean value) {
      readOnly = value;
      return this;
    }

    /**
     * Whether a missing store is created; otherwise opening fails. Default true.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder createIfMissing(boolean value) {
      createIfMissing = value;
      return this;
    }

    /**
     * Whether opening fails if the store already exists. Default false.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder exclusive(boolean value) {
      exclusive = value;
      return this;
    }

    /**
     * Clock for times to live. Default: the system clock. Reads of expiring entries, writes and
     * background work call it, possibly while other threads wait for them, so it must return at
     * once and must not call the store.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder clock(Clock value) {
      clock = Objects.requireNonNull(value, "clock");
      return this;
    }

    /**
     * Builds the options.
     *
     * @return the options
     * @throws IllegalArgumentException if any option is invalid; the message names every problem
     */
    public KvOptions build() {
      List<String> problems = new ArrayList<>();
      checkMemoryBudget(problems, memoryBudgetBytes);
      check(problems, "inlineValueBytesMax", inlineValueBytesMax, 0, 1 << 16);
      check(problems, "segmentBytes", segmentBytes, MIB, 1 << 30);
      check(problems, "valueCompressionBytesMin", valueCompressionBytesMin, 64, 1 << 30);
      // Written so that NaN is rejected too.
      if (!(spaceAmplificationMax >= 1.05 && spaceAmplificationMax <= 100)) {
        problems.add("spaceAmplificationMax must be from 1.05 to 100, is " + spaceAmplificationMax);
      }
      check(problems, "changeRetentionBytes", changeRetentionBytes, 0, 1L << 50);
      checkBackgroundThreads(problems, backgroundThreads);
      if (resources != null && givesMemoryBudget) {
        problems.add("memoryBudgetBytes is that of the resources and must not be given");
      }
      if (resources != null && givesBackgroundThreads) {
        problems.add("backgroundThreads is that of the resources and must not be given");
      }
      if (readOnly && exclusive) {
        problems.add("readOnly needs an existing store, exclusive forbids one");
      }
      if (exclusive && !createIfMissing) {
        problems.add("exclusive needs a new store, createIfMissing(false) forbids one");
      }
      requireNone(problems);
      Builder copy = new Builder();
      copy.durability = durability;
      copy.memoryBudgetBytes = memoryBudgetBytes;
      copy.inlineValueBytesMax = inlineValueBytesMax;
      copy.inlineValueBytesMaxIfLarge = inlineValueBytesMaxIfLarge;
      copy.segmentBytes = segmentBytes;
      copy.valueCompression = valueCompression;
      copy.valueCompressionBytesMin = valueCompressionBytesMin;
      copy.keyBlockCompression = keyBlockCompression;
      copy.spaceAmplificationMax = spaceAmplificationMax;
      copy.changeRetentionBytes = changeRetentionBytes;
      copy.backgroundThreads = backgroundThreads;
      copy.resources = resources;
      copy.verifyValues = verifyValues;
      copy.readOnly = readOnly;
      copy.createIfMissing = createIfMissing;
      copy.exclusive = exclusive;
      copy.clock = clock;
      return new KvOptions(copy);
    }

    static void checkMemoryBudget(List<String> problems, long bytes) {
      check(problems, "memoryBudgetBytes", bytes, Shape.BUDGET_BYTES_MIN, 1L << 40);
    }

    static void checkBackgroundThreads(List<String> problems, int count) {
      check(problems, "backgroundThreads", count, 1, 64);
    }

    static void requireNone(List<String> problems) {
      if (!problems.isEmpty()) {
        throw new IllegalArgumentException("invalid options: " + String.join("; ", problems));
      }
    }

    private static void check(List<String> problems, String name, long value, long min, long max) {
      if (value < min || value > max) {
        problems.add(name + " must be from " + min + " to " + max + ", is " + value);
      }
    }
  }
}
