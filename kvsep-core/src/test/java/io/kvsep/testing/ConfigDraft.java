package io.kvsep.testing;

import io.kvsep.internal.concurrent.Ticker;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.OpenMode;
import io.kvsep.internal.config.EngineConfig.Reclaim;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.ColdReadPolicy;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** An engine's config of which a test changes some parts. */
public final class ConfigDraft {
  private final EngineConfig base;
  private Storage storage;
  private OpenMode mode;
  private long syncIntervalNanos;
  private int inlineValueBytesMax;
  private int compressionBytesMin;
  private long segmentBytes;
  private Shape shape;
  private Ticker ticker;
  private RandomGenerator random;
  private @Nullable Reclaim reclaim;
  private boolean verifiesValues;
  private ColdReadPolicy.Memory memory;

  private ConfigDraft(EngineConfig base) {
    this.base = base;
    storage = base.storage();
    mode = base.mode();
    syncIntervalNanos = base.syncIntervalNanos();
    inlineValueBytesMax = base.inlineValueBytesMax();
    compressionBytesMin = base.compressionBytesMin();
    segmentBytes = base.segmentBytes();
    shape = base.shape();
    ticker = base.ticker();
    random = base.random();
    verifiesValues = base.verifiesValues();
    memory = base.memory();
  }

  /** The same but for the limits of garbage, which are the usual ones unless they are given. */
  public static ConfigDraft of(EngineConfig base) {
    return new ConfigDraft(base);
  }

  public ConfigDraft storage(Storage value) {
    storage = value;
    return this;
  }

  public ConfigDraft readOnly(boolean readOnly) {
    mode = new OpenMode(readOnly, !readOnly, false);
    return this;
  }

  /** Where there is no store yet. */
  public ConfigDraft exclusive() {
    mode = new OpenMode(false, true, true);
    return this;
  }

  public ConfigDraft syncIntervalNanos(long value) {
    syncIntervalNanos = value;
    return this;
  }

  public ConfigDraft inlineValueBytesMax(int value) {
    inlineValueBytesMax = value;
    return this;
  }

  public ConfigDraft compressionBytesMin(int value) {
    compressionBytesMin = value;
    return this;
  }

  public ConfigDraft segmentBytes(long value) {
    segmentBytes = value;
    return this;
  }

  public ConfigDraft shape(Shape value) {
    shape = value;
    return this;
  }

  public ConfigDraft ticker(Ticker value) {
    ticker = value;
    return this;
  }

  public ConfigDraft random(RandomGenerator value) {
    random = value;
    return this;
  }

  public ConfigDraft reclaim(Reclaim value) {
    reclaim = value;
    return this;
  }

  /** Reclaim as fast as it can, with goals for a few kilobytes. */
  public ConfigDraft reclaim(double spaceAmplificationMax, long outputBytesMax) {
    return reclaim(Engines.reclaim(new ReclaimGoal(spaceAmplificationMax, 256, outputBytesMax)));
  }

  public ConfigDraft verifiesValues(boolean value) {
    verifiesValues = value;
    return this;
  }

  /** What the store is told of the memory for its files. */
  public ConfigDraft memory(ColdReadPolicy.Memory value) {
    memory = value;
    return this;
  }

  public EngineConfig build() {
    return new EngineConfig(
        storage,
        mode,
        base.sync(),
        syncIntervalNanos,
        inlineValueBytesMax,
        compressionBytesMin,
        segmentBytes,
        shape,
        base.clock(),
        ticker,
        random,
        base.scheduler(),
        reclaim == null ? Engines.usualReclaim(segmentBytes) : reclaim,
        verifiesValues,
        memory);
  }
}
