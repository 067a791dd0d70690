package io.kvsep.bench;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.Durability;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Operations of the writers of the kill loop. The n-th operation of each, from 1, is derived from
 * the seed alone, so that one process can do it and another one can compute its result. Every
 * writer has its own keys, in the store's default keyspace and in one that it sometimes drops and
 * recreates, and a counter that each of its operations sets:
 *
 * <pre>
 * w2/0017    key 17 of writer 2; the same in its keyspace, which is named space-2-GENERATION
 * newest/2   number of the last operation of writer 2, then for each writer the number of the last
 *            operation that was acknowledged before this one began; 8 bytes each
 * </pre>
 *
 * <p>Immutable.
 */
final class KillWorkload {
  /** So short that it has always expired at a check; see {@link KillLoop}. */
  static final Duration SHORT_LIFE = Duration.ofMillis(200);

  static final Duration LONG_LIFE = Duration.ofDays(300);

  private static final int RENEWALS_PERCENT = 2;
  private static final int SWAPS_PERCENT = 5;
  private static final int CHANGES_MAX = 6;

  final long seed;
  final int writers;
  final int keys;

  KillWorkload(long seed, int writers, int keys) {
    this.seed = seed;
    this.writers = writers;
    this.keys = keys;
  }

  enum Kind {
    /** One batch of changes, with the counter. */
    BATCH,
    /** The counter alone, by compare-and-set. */
    SWAP,
    /** Drops the writer's keyspace, creates the next one, then sets the counter. */
    RENEW
  }

  enum What {
    PUT,
    /** With {@link #SHORT_LIFE}. */
    PUT_SHORT_LIVED,
    /** With {@link #LONG_LIFE}. */
    PUT_LONG_LIVED,
    DELETE,
    /** From key {@code from} to before {@code to}. */
    DELETE_RANGE
  }

  /** One write of a batch; {@code to} is used by ranges only. */
  record Change(What what, boolean inSpace, int from, int to) {}

  record Operation(Kind kind, List<Change> changes, Durability durability, boolean synced) {}

  Operation operation(int writer, long number) {
    SplittableRandom random = random(writer, number, 0);
    int style = random.nextInt(100);
    Durability[] durabilities = {
      Durability.sync(), Durability.async(Duration.ofMillis(50)), Durability.none()
    };
    int drawn = random.nextInt(4);
    boolean synced = drawn == 0;
    Durability durability = durabilities[Math.min(drawn, 2)];
    if (style < RENEWALS_PERCENT) {
      return new Operation(Kind.RENEW, List.of(), durability, synced);
    }
    if (style < RENEWALS_PERCENT + SWAPS_PERCENT) {
      return new Operation(Kind.SWAP, List.of(), durability, /* synced= */ false);
    }
    List<Change> changes = new ArrayList<>();
    int count = 1 + random.nextInt(CHANGES_MAX);
    for (int i = 0; i < count; i++) {
      changes.add(change(random));
    }
    return new Operation(Kind.BATCH, changes, durability, synced);
  }

  private Change change(SplittableRandom random) {
    boolean inSpace = random.nextInt(3) == 0;
    int from = random.nextInt(keys);
    int drawn = random.nextInt(100);
    if (drawn < 70) {
      return new Change(What.PUT, inSpace, from, from);
    } else if (drawn < 75) {
      return new Change(What.PUT_SHORT_LIVED, inSpace, from, from);
    } else if (drawn < 80) {
      return new Change(What.PUT_LONG_LIVED, inSpace, from, from);
    } else if (drawn < 96) {
      return new Change(What.DELETE, inSpace, from, from);
    }
    return new Change(What.DELETE_RANGE, inSpace, from, from + random.nextInt(keys / 32 + 1));
  }

  static byte[] key(int writer, int index) {
    return String.format(Locale.ROOT, "w%d/%04d", writer, index).getBytes(UTF_8);
  }

  static String space(int writer, long generation) {
    return "space-" + writer + "-" + generation;
  }

  static byte[] counterKey(int writer) {
    return ("newest/" + writer).getBytes(UTF_8);
  }

  static byte[] counter(long number, long[] seen) {
    ByteBuffer value = ByteBuffer.allocate(Long.BYTES * (1 + seen.length)).putLong(number);
    for (long other : seen) {
      value.putLong(other);
    }
    return value.array();
  }

  /** Value that operation {@code number} puts: of any length, compressible or not. */
  byte[] value(int writer, long number, boolean inSpace, int index) {
    SplittableRandom random = random(writer, number, 2L * index + (inSpace ? 2 : 1));
    byte[] value = new byte[length(random)];
    if (random.nextBoolean()) {
      Arrays.fill(value, (byte) random.nextInt());
      for (int i = 0; i < value.length; i += 64) {
        value[i] = (byte) random.nextInt();
      }
    } else {
      random.nextBytes(value);
    }
    return value;
  }

  private static int length(SplittableRandom random) {
    int drawn = random.nextInt(100);
    if (drawn < 40) {
      return random.nextInt(300);
    }
    return drawn < 85
        ? 300 + random.nextInt(3_000)
        : drawn < 98 ? random.nextInt(20_000) : random.nextInt(150_000);
  }

  private SplittableRandom random(int writer, long number, long part) {
    long mixed = seed;
    for (long value : new long[] {writer, number, part}) {
      mixed = (mixed ^ value) * 0x9e3779b97f4a7c15L;
      mixed ^= mixed >>> 32;
    }
    return new SplittableRandom(mixed);
  }
}
