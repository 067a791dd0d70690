package io.kvsep.testing;

import io.kvsep.internal.concurrent.Ticker;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.Host;
import io.kvsep.internal.config.EngineConfig.OpenMode;
import io.kvsep.internal.config.EngineConfig.Reclaim;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.config.EngineConfig.Sync;
import io.kvsep.internal.config.EngineConfig.Values;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.ColdReadPolicy;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** An engine's config with some parts changed by a test. */
public final class ConfigDraft {
  private Storage storage;
  private OpenMode mode;
  private Sync sync;
  private Values values;
  private Shape shape;
  private @Nullable Reclaim reclaim;
  private Host host;

  private ConfigDraft(EngineConfig base) {
    storage = base.storage();
    mode = base.mode();
    sync = base.sync();
    values = base.values();
    shape = base.shape();
    host = base.host();
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
    sync = new Sync(sync.commits(), value);
    return this;
  }

  public ConfigDraft inlineValueBytesMax(int value) {
    return values(values.segmentBytes(), value, values.compressionBytesMin(), values.areVerified());
  }

  public ConfigDraft compressionBytesMin(int value) {
    return values(values.segmentBytes(), values.inlineBytesMax(), value, values.areVerified());
  }

  public ConfigDraft segmentBytes(long value) {
    return values(
        value, values.inlineBytesMax(), values.compressionBytesMin(), values.areVerified());
  }

  /** From so many bytes on the store is large although it may fit into memory. */
  public ConfigDraft largeFromBytes(long value) {
    values =
        new Values(
            values.segmentBytes(),
            values.inlineBytesMax(),
            values.inlineBytesMaxIfLarge(),
            value,
            values.compressionBytesMin(),
            values.areVerified());
    return this;
  }

  public ConfigDraft shape(Shape value) {
    shape = value;
    return this;
  }

  public ConfigDraft ticker(Ticker value) {
    host = new Host(host.clock(), value, host.random(), host.scheduler(), host.memory());
    return this;
  }

  public ConfigDraft random(RandomGenerator value) {
    host = new Host(host.clock(), host.ticker(), value, host.scheduler(), host.memory());
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
    return values(
        values.segmentBytes(), values.inlineBytesMax(), values.compressionBytesMin(), value);
  }

  private ConfigDraft values(
      long segmentBytes, int inlineBytesMax, int compressionBytesMin, boolean areVerified) {
    values =
        new Values(
            segmentBytes,
            inlineBytesMax,
            Math.min(values.inlineBytesMaxIfLarge(), inlineBytesMax),
            values.largeFromBytes(),
            compressionBytesMin,
            areVerified);
    return this;
  }

  /** What the store is told of the memory for its files. */
  public ConfigDraft memory(ColdReadPolicy.Memory value) {
    host = new Host(host.clock(), host.ticker(), host.random(), host.scheduler(), value);
    return this;
  }

  public EngineConfig build() {
    return new EngineConfig(
        storage,
        mode,
        sync,
        values,
        shape,
        reclaim == null ? Engines.usualReclaim(values.segmentBytes()) : reclaim,
        host);
  }
}
