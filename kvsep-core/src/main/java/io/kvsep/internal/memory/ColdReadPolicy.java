package io.kvsep.internal.memory;

import java.nio.ByteBuffer;
import java.util.function.Predicate;

/**
 * Decides whether a store is cold: its files are larger than the memory that the system has for
 * them, so that much of what is read comes from the device.
 *
 * <p>Files are read through mappings. A page fault reads around itself, up to the read-ahead of the
 * device, which may be megabytes. In a store that fits into memory that is the fastest way to fill
 * it. In one that does not, each fault reads a thousand times what is needed and evicts what other
 * readers need. So in a cold store each reader asks whether the pages it needs are in memory, and
 * has exactly these read if they are not, see {@code Storage.load}. The question costs most of a
 * microsecond, which is little beside a read from the device.
 *
 * <p>Sizes decide, at intervals. Page faults that wait for the device decide where the sizes are
 * wrong, for example because other processes use the same files: a store that fits has so many of
 * them as bring it into memory, and then no more.
 *
 * <p>Thread safe: one thread updates, any number ask.
 */
public final class ColdReadPolicy {
  /** What the system says of memory. */
  public interface Memory {
    /**
     * Bytes of files that the system can keep in memory for this process, beside what this and
     * other processes use otherwise now. {@link Long#MAX_VALUE} where the system does not tell.
     */
    long fileBytes();

    /** Page faults of this process that waited for a device, since it began; 0 where unknown. */
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

  /** Of files that are in memory, or are read from end to end. */
  public static final ColdReadPolicy WARM = new ColdReadPolicy(UNLIMITED, part -> false);

  /** A store is cold above 3/4 of the memory for files, and warm again below 1/2. */
  private static final int COLD_QUARTERS = 3;

  private static final int WARM_QUARTERS = 2;

  /** A fault reads at least so much around itself, unless the device is set to less. */
  private static final long FAULT_BYTES_MIN = 64 << 10;

  /** Faults for each fault that is needed to bring the store into memory once. */
  private static final int FAULTS_FACTOR = 2;

  /** Faults that any store may have. */
  private static final long FAULTS_MIN = 2000;

  /** Samples for which faults alone keep a store cold: about a minute. */
  private static final int COLD_SAMPLES = 120;

  /** The system is asked at one in so many updates. */
  private static final int SAMPLE_UPDATES = 5;

  private final Memory memory;
  private final Predicate<ByteBuffer> load;

  /** Not volatile: a reader may see a change late, and then only reads the slower way. */
  private boolean cold;

  /** Not exact: threads that count at the same time lose some. */
  private long deviceReads;

  /** Page faults at the last update, and those counted since the store was last cold. */
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

  /** Whether pages should be looked for in memory before they are touched. */
  public boolean isCold() {
    return cold;
  }

  /**
   * Brings a part of a mapping into memory if the store is cold.
   *
   * @return whether that took a read from the device
   */
  public boolean load(Region mapping, long offset, long count) {
    boolean isRead = cold && count > 0 && mapping.test(offset, (int) count, load);
    if (isRead) {
      deviceReads++;
    }
    return isRead;
  }

  /** Loads that took a read from the device, without those that other threads counted meanwhile. */
  public long deviceReads() {
    return deviceReads;
  }

  /**
   * Decides anew; called some ten times a second.
   *
   * @param storeBytes all files of the store
   */
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
