package io.kvsep;

import io.kvsep.internal.concurrent.BackgroundThreads;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.engine.SharedMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Memory and background threads that several stores of a process share. Without it each store has
 * its own, as {@link KvOptions.Builder#memoryBudgetBytes} and {@link
 * KvOptions.Builder#backgroundThreads} say. With it
 *
 * <ul>
 *   <li>all stores together keep within one memory budget. What a store does not use, others may;
 *       an idle store uses almost nothing. Each store may always hold enough for small memtables,
 *       so none waits for the writes of another.
 *   <li>all stores together use at most {@link Builder#backgroundThreads} + 8 threads, and up to 24
 *       more that end when idle while reads wait for the device. Flushes, compactions and reclaim
 *       take turns by store; work that a writer waits for comes first.
 *   <li>one cache keeps the most used tables open, whichever store they are in.
 * </ul>
 *
 * <pre>{@code
 * try (KvResources resources = KvResources.builder().memoryBudgetBytes(256 << 20).build()) {
 *   KvOptions options = KvOptions.builder().resources(resources).build();
 *   try (KvStore one = KvStore.open(directoryOne, options);
 *       KvStore other = KvStore.open(directoryTwo, options)) {
 *     ...
 *   }
 * }
 * }</pre>
 *
 * <p>Each MiB of the budget admits one open store: 256 stores in the usual 256 MiB. Opening one
 * more throws {@link IllegalStateException}. A store that is written to all the time works best
 * with 16 MiB and more.
 *
 * <p>Failures are not shared: a store that fails, or whose disk is full, leaves the others as they
 * are.
 *
 * <p>Thread safe. Creating it starts no thread and takes no memory.
 */
public final class KvResources implements AutoCloseable {
  private static final long BUDGET_BYTES_PER_STORE = 1 << 20;

  private final long memoryBudgetBytes;
  private final int backgroundThreads;
  private final SharedMemory memory;
  private final BackgroundThreads threads;

  /** Whether everything ends with the only store. */
  private final boolean ofOneStore;

  private KvResources(long memoryBudgetBytes, int backgroundThreads, boolean ofOneStore) {
    this.memoryBudgetBytes = memoryBudgetBytes;
    this.backgroundThreads = backgroundThreads;
    this.ofOneStore = ofOneStore;
    // Whether blocks are packed does not matter for the sums.
    Shape shape = Shape.forBudget(memoryBudgetBytes, /* packsBlocks= */ false);
    memory =
        new SharedMemory(
            shape,
            ofOneStore
                ? 1
                : (int) Math.min(Integer.MAX_VALUE, memoryBudgetBytes / BUDGET_BYTES_PER_STORE));
    threads = new BackgroundThreads(backgroundThreads);
  }

  /** Those of a store that shares none. */
  static KvResources ofOneStore(long memoryBudgetBytes, int backgroundThreads) {
    return new KvResources(memoryBudgetBytes, backgroundThreads, /* ofOneStore= */ true);
  }

  /** {@return a builder with every default} */
  public static Builder builder() {
    return new Builder();
  }

  /** {@return the value of {@link Builder#memoryBudgetBytes}} */
  public long memoryBudgetBytes() {
    return memoryBudgetBytes;
  }

  /** {@return the value of {@link Builder#backgroundThreads}} */
  public int backgroundThreads() {
    return backgroundThreads;
  }

  /**
   * Returns the off-heap memory of all open stores, as {@link StoreStats#memoryBytes} does for one.
   * Takes some microseconds, and a fraction of one for each store.
   *
   * @return bytes by purpose
   */
  public Map<String, Long> memoryBytes() {
    return Map.copyOf(memory.bytesByPurpose());
  }

  /**
   * Ends the threads; no store can be opened with these resources any more. Further calls have no
   * effect.
   *
   * @throws IllegalStateException if a store still uses them; nothing has changed then
   */
  @Override
  public void close() {
    memory.close();
    threads.close();
  }

  SharedMemory memory() {
    return memory;
  }

  /** The scheduler of one more store. */
  Scheduler newScheduler() {
    return new ThreadScheduler(threads, /* ownsThreads= */ ofOneStore);
  }

  /** Collects options. Not thread safe. */
  public static final class Builder {
    private long memoryBudgetBytes = KvOptions.Builder.MEMORY_BUDGET_DEFAULT;
    private int backgroundThreads = KvOptions.Builder.BACKGROUND_THREADS_DEFAULT;

    private Builder() {}

    /**
     * Limit of the off-heap memory of all stores together, for what {@link
     * KvOptions.Builder#memoryBudgetBytes} counts. The same default and minimum.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder memoryBudgetBytes(long value) {
      memoryBudgetBytes = value;
      return this;
    }

    /**
     * Threads for flushes and compactions of all stores together, from 1 to 64; at least two are
     * used. The same default as {@link KvOptions.Builder#backgroundThreads}.
     *
     * @param value the value of the option
     * @return this builder
     */
    public Builder backgroundThreads(int value) {
      backgroundThreads = value;
      return this;
    }

    /**
     * Builds the resources.
     *
     * @return the resources; they must be closed
     * @throws IllegalArgumentException if any option is invalid; the message names every problem
     */
    public KvResources build() {
      List<String> problems = new ArrayList<>();
      KvOptions.Builder.checkMemoryBudget(problems, memoryBudgetBytes);
      KvOptions.Builder.checkBackgroundThreads(problems, backgroundThreads);
      KvOptions.Builder.requireNone(problems);
      return new KvResources(memoryBudgetBytes, backgroundThreads, /* ofOneStore= */ false);
    }
  }
}
