package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.Keyspace;
import io.kvsep.KvCursor;
import io.kvsep.KvEntry;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.WriteBatch;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A queue for any number of producers and one consumer, as fast after a billion jobs as after one.
 *
 * <pre>
 * jobs    NUMBER (8 bytes)   the job
 * queue   position           number of the first job that is not done
 * </pre>
 *
 * <p>A scan starts at the position, so it never passes over deleted jobs, also not after a restart;
 * and one range deletes many of them, without a tombstone for each. A job that was taken but not
 * done when the process ended is taken again.
 */
public final class WorkQueue {
  private static final byte[] POSITION = "position".getBytes(UTF_8);
  private static final int DELETED_AT_ONCE = 1_000;

  private final KvStore store;
  private final Keyspace jobs;
  private final Keyspace queue;
  private long next;
  private long position;
  private long firstKept;

  public WorkQueue(KvStore store) {
    this.store = store;
    this.jobs = store.keyspace("jobs");
    this.queue = store.keyspace("queue");
    byte[] saved = store.in(queue).get(POSITION);
    position = saved == null ? 0 : number(saved);
    KvEntry last = store.in(jobs).last();
    next = last == null ? position : Math.max(position, number(last.key()) + 1);
    // Not known, but the next deletion covers it.
    firstKept = 0;
  }

  /** Adds all jobs or none. */
  public synchronized void add(List<byte[]> added) {
    WriteBatch batch = new WriteBatch().in(jobs);
    long number = next;
    for (byte[] job : added) {
      batch.put(key(number++), job);
    }
    store.write(batch);
    next = number;
  }

  /** The first jobs that are not done, at most {@code countMax}. */
  public synchronized List<byte[]> take(int countMax) {
    List<byte[]> taken = new ArrayList<>();
    ScanOptions options = ScanOptions.range(key(position), null).limit(countMax);
    try (KvCursor cursor = store.in(jobs).cursor(options)) {
      while (cursor.next()) {
        taken.add(cursor.value());
      }
    }
    return taken;
  }

  /** The first {@code count} jobs are done and are not taken again. */
  public synchronized void done(int count) {
    long to = position + count;
    if (count < 0 || to > next) {
      throw new IllegalArgumentException("more jobs done than there are: " + count);
    }
    WriteBatch batch = new WriteBatch().in(queue).put(POSITION, key(to));
    boolean deletes = to - firstKept >= DELETED_AT_ONCE;
    if (deletes) {
      batch.in(jobs).deleteRange(key(firstKept), key(to));
    }
    store.write(batch);
    position = to;
    firstKept = deletes ? to : firstKept;
  }

  /** Big-endian, so that jobs are in the order of their numbers. */
  private static byte[] key(long number) {
    return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
  }

  private static long number(byte[] key) {
    return ByteBuffer.wrap(key).getLong();
  }

  public static void main(String[] arguments) {
    Path directory = Path.of(arguments.length > 0 ? arguments[0] : "queue-data");
    try (KvStore store = KvStore.open(directory)) {
      WorkQueue queue = new WorkQueue(store);
      queue.add(List.of("wash".getBytes(UTF_8), "dry".getBytes(UTF_8), "fold".getBytes(UTF_8)));
      List<byte[]> taken = queue.take(2);
      for (byte[] job : taken) {
        System.out.println(new String(job, UTF_8));
      }
      queue.done(taken.size());
      System.out.println("left: " + queue.take(10).size());
    }
  }
}
