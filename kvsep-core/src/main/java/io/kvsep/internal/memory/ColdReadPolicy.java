package io.kvsep.internal.memory;

import java.nio.ByteBuffer;
import java.util.function.Predicate;

/**
 * Decides whether a store is cold: larger than the memory for its files, so that many reads go to
 * the device.
 *
 * <p>A page fault of a mapping reads up to the read-ahead of the device, possibly megabytes. That
 * fills memory fastest for a store that fits. Otherwise each fault reads a thousand times what is
 * needed and evicts pages that other readers need. Readers of a cold store therefore check whether
 * their pages are in memory and read exactly the missing ones, see {@code Storage.load}. The check
 * costs almost a microsecond, little compared to a device read.
 *
 * <p>Sizes decide, at intervals; major page faults decide where sizes mislead, for example because
 * other processes use the same files: a store that fits causes only as many faults as bring it into
 * memory.
 *
 * <p>One thread updates, any number read.
 */
public final class ColdReadPolicy {
  public interface Memory {
    /**
     * Bytes that can cache files for this process, beyond other current use; {@link Long#MAX_VALUE}
     * if unknown.
     */
    long fileBytes();

    /** Major page faults of this process; 0 if unknown. */
    long majorFaults();
  }

  private static final Memory UNLIMITED =
      new Memory() {
        @Override
        public long fileBytes() {
          return Long.MAX_VALUE;
        }

        @Override
        public long majorFaults() {
          return 0;
        }
      };

  /** For files that are in memory or read sequentially. */
  public static final ColdReadPolicy WARM = new ColdReadPolicy(UNLIMITED, part -> false);

  /** A store becomes cold above 3/4 of the memory for files, and warm again below 1/2. */
  private static final int COLD_QUARTERS = 3;

  private static final int WARM_QUARTERS = 2;

  /** A fault reads at least this much, unless the device is configured for less. */
  private static final long FAULT_BYTES_MIN = 64 << 10;

  /** Allowed faults per fault needed to bring the store into memory once. */
  private static final int FAULTS_FACTOR = 2;

  private static final long FAULTS_MIN = 2000;

  /** Samples for which faults alone keep a store cold, about a minute. */
  private static final int COLD_SAMPLES = 120;

  /** Updates per sample. */
  private static final int SAMPLE_UPDATES = 5;

  private final Memory memory;
  private final Predicate<ByteBuffer> load;

  /** Not volatile: a reader that sees a change late only reads more slowly. */
  private boolean cold;

  /** Approximate: concurrent increments may be lost. */
  private long deviceReads;

  /** Page faults at the last sample, and those since the store was last cold. */
  private long faultsSeen = -1;

  private long faultsWhileWarm;
  private int coldSamplesLeft;
  private int updatesToSample;

  /**
   * @param load brings a part of a mapping into memory, see {@code Storage.load}
   */
  public ColdReadPolicy(Memory memory, Predicate<ByteBuffer> load) {
    this.memory = memory;
    this.load = load;
  }

  public boolean isCold() {
    return cold;
  }

  /** Does nothing in a warm store. Returns whether the device was read. */
  public boolean load(Region mapping, long offset, long count) {
    boolean isRead = cold && count > 0 && mapping.test(offset, (int) count, load);
    if (isRead) {
      deviceReads++;
    }
    return isRead;
  }

  /** Approximate. */
  public long deviceReads() {
    return deviceReads;
  }

  /** Called about ten times a second. */
  public void update(long storeBytes) {
    if (--updatesToSample <= 0) {
      updatesToSample = SAMPLE_UPDATES;
      sample(storeBytes, memory.fileBytes(), memory.majorFaults());
    }
  }

  private void sample(long storeBytes, long fileBytes, long faults) {
    faultsWhileWarm = cold || faultsSeen < 0 ? 0 : faultsWhileWarm + faults - faultsSeen;
    faultsSeen = faults;
    if (faultsWhileWarm > FAULTS_MIN + FAULTS_FACTOR * (storeBytes / FAULT_BYTES_MIN)) {
      coldSamplesLeft = COLD_SAMPLES;
    } else if (coldSamplesLeft > 0) {
      coldSamplesLeft--;
    }
    boolean fits = storeBytes / (cold ? WARM_QUARTERS : COLD_QUARTERS) < fileBytes / 4;
    cold = !fits || coldSamplesLeft > 0;
  }
}
