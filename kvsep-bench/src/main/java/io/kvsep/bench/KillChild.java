package io.kvsep.bench;

import io.kvsep.Durability;
import io.kvsep.Keyspace;
import io.kvsep.KvCursor;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.Snapshot;
import io.kvsep.StoreOnStorage;
import io.kvsep.StoreStats;
import io.kvsep.WriteBatch;
import io.kvsep.bench.KillLedger.Entry;
import io.kvsep.bench.KillLedger.Work;
import io.kvsep.bench.KillWorkload.Change;
import io.kvsep.bench.KillWorkload.Kind;
import io.kvsep.bench.KillWorkload.Operation;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.Storage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The process that {@link KillLoop} kills. Opens the store and writes on several threads, while
 * another thread flushes, compacts, reclaims and scans. Prints {@code ready} when the store is
 * open, and {@code stopped} at the point where it is to be killed; the thread there stops for good.
 * Exits with a failure on errors, or when its input ends, because then its parent is gone.
 */
final class KillChild {
  static final int FAILED = 3;

  private static final long PAUSE_MILLIS_MAX = 150;

  private final KillWorkload workload;
  private final KillLedger ledger;
  private final KvStore store;

  /** Acknowledges operations before they are done, which the parent must detect. */
  private final boolean lies;

  /** Last acknowledged operation of each writer, as other writers see it. */
  private final AtomicLongArray acknowledged;

  private KillChild(KillWorkload workload, KillLedger ledger, KvStore store, boolean lies) {
    this.workload = workload;
    this.ledger = ledger;
    this.store = store;
    this.lies = lies;
    this.acknowledged = new AtomicLongArray(workload.writers);
    for (int writer = 0; writer < workload.writers; writer++) {
      acknowledged.set(writer, ledger.get(Entry.ACKNOWLEDGED, writer));
    }
  }

  public static void main(String[] words) throws IOException {
    run(words, UnaryOperator.identity(), /* lies= */ false);
  }

  /**
   * @param words store, ledger, seed, writers, keys of each, salt of this process, and optionally
   *     the point to stop at
   * @param device wraps the storage under the store
   * @param lies whether operations are acknowledged before they are done
   */
  static void run(String[] words, UnaryOperator<Storage> device, boolean lies) throws IOException {
    KillWorkload workload =
        new KillWorkload(
            Long.parseLong(words[2]), Integer.parseInt(words[3]), Integer.parseInt(words[4]));
    KillLedger ledger = KillLedger.open(Path.of(words[1]), workload.writers);
    StopPoint point = words[6].isEmpty() ? null : StopPoint.parse(words[6]);
    Parent.haltWithIt(FAILED);
    Storage files = new FileStorage(Path.of(words[0]), /* createIfMissing= */ true);
    KvStore store =
        StoreOnStorage.open(
            new StoppingStorage(device.apply(files), point, KillChild::stopped), options());
    KillChild child = new KillChild(workload, ledger, store, lies);
    say("ready");
    for (int writer = 0; writer < workload.writers; writer++) {
      int number = writer;
      child.start("writer-" + writer, () -> child.write(number));
    }
    SplittableRandom random = new SplittableRandom(Long.parseLong(words[5]));
    child.start("work", () -> child.work(random));
  }

  /** As small as allowed, so that everything happens often. */
  static KvOptions options() {
    return builder().build();
  }

  static KvOptions.Builder builder() {
    return KvOptions.builder()
        .memoryBudgetBytes(16 << 20)
        .segmentBytes(1 << 20)
        .spaceAmplificationMax(1.2)
        .durability(Durability.async(Duration.ofMillis(50)));
  }

  private static void stopped() {
    say("stopped");
    while (true) {
      LockSupport.park();
    }
  }

  private static synchronized void say(String word) {
    System.out.println(word);
    System.out.flush();
  }

  private void start(String name, Runnable work) {
    new Thread(
            () -> {
              try {
                work.run();
              } catch (Throwable e) {
                e.printStackTrace();
                System.err.flush();
                Runtime.getRuntime().halt(FAILED);
              }
            },
            name)
        .start();
  }

  private void write(int writer) {
    long generation = ledger.get(Entry.GENERATION, writer);
    Keyspace space = store.keyspace(KillWorkload.space(writer, generation));
    byte @Nullable [] counter = store.get(KillWorkload.counterKey(writer));
    for (long number = acknowledged.get(writer) + 1; ; number++) {
      Operation operation = workload.operation(writer, number);
      byte[] next = KillWorkload.counter(number, seen());
      ledger.set(Entry.BEGUN, writer, number);
      if (lies) {
        ledger.set(Entry.ACKNOWLEDGED, writer, number);
      }
      if (operation.kind() == Kind.RENEW) {
        store.dropKeyspace(space);
        generation++;
        space = store.keyspace(KillWorkload.space(writer, generation));
      }
      if (operation.kind() == Kind.SWAP) {
        if (!store.compareAndSet(KillWorkload.counterKey(writer), counter, next)) {
          throw new IllegalStateException("the counter of writer " + writer + " is another");
        }
      } else {
        store.write(batch(writer, number, operation, space, next), operation.durability());
      }
      counter = next;
      acknowledged.set(writer, number);
      if (operation.synced()) {
        ledger.set(Entry.SYNCED, writer, number);
      }
      ledger.set(Entry.ACKNOWLEDGED, writer, number);
    }
  }

  private long[] seen() {
    long[] seen = new long[workload.writers];
    Arrays.setAll(seen, acknowledged::get);
    return seen;
  }

  private WriteBatch batch(
      int writer, long number, Operation operation, Keyspace space, byte[] counter) {
    WriteBatch batch = new WriteBatch();
    for (Change change : operation.changes()) {
      if (change.inSpace()) {
        batch.in(space);
      } else {
        batch.inDefault();
      }
      byte[] key = KillWorkload.key(writer, change.from());
      switch (change.what()) {
        case PUT -> batch.put(key, value(writer, number, change));
        case PUT_SHORT_LIVED ->
            batch.put(key, value(writer, number, change), KillWorkload.SHORT_LIFE);
        case PUT_LONG_LIVED ->
            batch.put(key, value(writer, number, change), KillWorkload.LONG_LIFE);
        case DELETE -> batch.delete(key);
        case DELETE_RANGE -> batch.deleteRange(key, KillWorkload.key(writer, change.to()));
      }
    }
    return batch.inDefault().put(KillWorkload.counterKey(writer), counter);
  }

  private byte[] value(int writer, long number, Change change) {
    return workload.value(writer, number, change.inSpace(), change.from());
  }

  /** Runs the store's other operations in random order. */
  private void work(SplittableRandom random) {
    while (true) {
      switch (random.nextInt(8)) {
        case 0, 1, 2 -> store.flush();
        case 3 -> store.compact();
        case 4, 5 -> store.reclaim();
        case 6 -> store.sync();
        default -> scan();
      }
      StoreStats stats = store.stats();
      ledger.set(Work.FLUSHES, stats.flushes());
      ledger.set(Work.COMPACTIONS, stats.compactions());
      ledger.set(Work.FILES_REWRITTEN, stats.reclaim().filesRewritten());
      LockSupport.parkNanos(random.nextLong(PAUSE_MILLIS_MAX * 1_000_000));
    }
  }

  /** A cursor delays the removal of files. */
  private void scan() {
    try (Snapshot snapshot = store.snapshot();
        KvCursor cursor = snapshot.cursor()) {
      while (cursor.next()) {
        ByteBuffer value = cursor.valueView();
        if (value.remaining() != cursor.valueLength()) {
          throw new IllegalStateException("a value of another length");
        }
      }
    }
  }
}
