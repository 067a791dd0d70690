package io.kvsep.bench;

import io.kvsep.Keyspace;
import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.bench.KillLedger.Entry;
import io.kvsep.bench.KillWorkload.Change;
import io.kvsep.bench.KillWorkload.Kind;
import io.kvsep.bench.KillWorkload.Operation;
import io.kvsep.bench.KillWorkload.What;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The state a store must have after the first n operations of each writer, with n for each, and its
 * check. Not thread safe.
 */
final class KillModel {
  private static final byte[] WRITER_KEYS = "w".getBytes(StandardCharsets.UTF_8);

  private final KillWorkload workload;

  /** Last operation found of each writer. */
  private final long[] numbers;

  private final long[] generations;

  /** By writer and key the operation that put its value, 0 if it is absent. */
  private final long[][] entries;

  private final long[][] spaceEntries;

  /**
   * Whether a writer was about to drop its keyspace when it was killed: until it has done so, the
   * keyspace may be complete, empty or gone, and the next one may exist.
   */
  private final boolean[] renewing;

  private long checkedEntries;

  KillModel(KillWorkload workload) {
    this.workload = workload;
    this.numbers = new long[workload.writers];
    this.generations = new long[workload.writers];
    this.entries = new long[workload.writers][workload.keys];
    this.spaceEntries = new long[workload.writers][workload.keys];
    this.renewing = new boolean[workload.writers];
  }

  long number(int writer) {
    return numbers[writer];
  }

  long checkedEntries() {
    return checkedEntries;
  }

  /** Stores in the ledger where the next process continues. */
  void put(KillLedger ledger) {
    for (int writer = 0; writer < workload.writers; writer++) {
      ledger.set(Entry.BEGUN, writer, numbers[writer]);
      ledger.set(Entry.ACKNOWLEDGED, writer, numbers[writer]);
      ledger.set(Entry.SYNCED, writer, numbers[writer]);
      ledger.set(Entry.GENERATION, writer, generations[writer]);
    }
  }

  /**
   * Checks a store against what its last process was told, and takes the state found as the new
   * one. Throws {@link FailedMeasurementException} if a promise is broken.
   */
  void check(KvStore store, KillLedger ledger) {
    long[] found = new long[workload.writers];
    long[][] seen = new long[workload.writers][];
    for (int writer = 0; writer < workload.writers; writer++) {
      seen[writer] = new long[workload.writers];
      found[writer] = counter(store, writer, seen[writer]);
      requireBetween(ledger, writer, found[writer]);
    }
    for (int writer = 0; writer < workload.writers; writer++) {
      for (int other = 0; other < workload.writers; other++) {
        require(
            seen[writer][other] <= found[other],
            "operation %d of writer %d is there, but not operation %d of writer %d, which was "
                + "acknowledged before it began",
            found[writer],
            writer,
            seen[writer][other],
            other);
      }
    }
    for (int writer = 0; writer < workload.writers; writer++) {
      while (numbers[writer] < found[writer]) {
        apply(writer, ++numbers[writer]);
      }
    }
    for (int writer = 0; writer < workload.writers; writer++) {
      long next = numbers[writer] + 1;
      renewing[writer] |=
          ledger.get(Entry.BEGUN, writer) == next
              && workload.operation(writer, next).kind() == Kind.RENEW;
    }
    checkContent(store);
  }

  /** Checks that the store is unchanged since the last check. */
  void checkContent(KvStore store) {
    checkEntries(store);
    checkSpaces(store);
  }

  private void requireBetween(KillLedger ledger, int writer, long found) {
    long acknowledged = ledger.get(Entry.ACKNOWLEDGED, writer);
    require(
        found >= acknowledged,
        "operation %d of writer %d was acknowledged (synced: %d), but the last one found is %d",
        acknowledged,
        writer,
        ledger.get(Entry.SYNCED, writer),
        found);
    long begun = ledger.get(Entry.BEGUN, writer);
    require(
        found <= begun,
        "operation %d of writer %d was the last that began, but %d was found",
        begun,
        writer,
        found);
  }

  /** Reads a writer's counter; fills {@code seen} and returns the number. */
  private static long counter(KvReader store, int writer, long[] seen) {
    byte[] value = store.get(KillWorkload.counterKey(writer));
    if (value == null) {
      return 0;
    }
    require(
        value.length == Long.BYTES * (1 + seen.length),
        "the counter of writer %d has %d bytes",
        writer,
        value.length);
    ByteBuffer numbers = ByteBuffer.wrap(value);
    long number = numbers.getLong();
    numbers.asLongBuffer().get(seen);
    return number;
  }

  private void apply(int writer, long number) {
    Operation operation = workload.operation(writer, number);
    if (operation.kind() == Kind.RENEW) {
      generations[writer]++;
      renewing[writer] = false;
      Arrays.fill(spaceEntries[writer], 0);
    }
    for (Change change : operation.changes()) {
      long[] target = (change.inSpace() ? spaceEntries : entries)[writer];
      if (change.what() == What.DELETE_RANGE) {
        Arrays.fill(target, change.from(), Math.min(target.length, change.to()), 0);
      } else {
        boolean stays = change.what() == What.PUT || change.what() == What.PUT_LONG_LIVED;
        target[change.from()] = stays ? number : 0;
      }
    }
  }

  private void checkEntries(KvStore store) {
    try (KvCursor cursor = store.cursor(ScanOptions.prefix(WRITER_KEYS))) {
      for (int writer = 0; writer < workload.writers; writer++) {
        checkKeys(cursor, writer, entries[writer], null);
      }
      require(!cursor.next(), "a key that no writer put");
    }
  }

  private void checkSpaces(KvStore store) {
    Set<String> left = new HashSet<>(store.keyspaces());
    for (int writer = 0; writer < workload.writers; writer++) {
      String name = KillWorkload.space(writer, generations[writer]);
      if (left.remove(name)) {
        checkSpace(store, store.keyspace(name), writer, renewing[writer]);
      } else {
        require(renewing[writer] || isEmpty(spaceEntries[writer]), "keyspace %s is missing", name);
      }
      String following = KillWorkload.space(writer, generations[writer] + 1);
      if (renewing[writer] && left.remove(following)) {
        checkKeys(store, store.keyspace(following), writer, new long[workload.keys]);
      }
    }
    require(left.isEmpty(), "keyspaces that were dropped: %s", left);
  }

  private void checkSpace(KvStore store, Keyspace space, int writer, boolean mayBeEmpty) {
    if (mayBeEmpty) {
      try (KvCursor cursor = store.in(space).cursor()) {
        if (!cursor.next()) {
          return;
        }
      }
    }
    checkKeys(store, space, writer, spaceEntries[writer]);
  }

  private void checkKeys(KvStore store, Keyspace space, int writer, long[] expected) {
    try (KvCursor cursor = store.in(space).cursor()) {
      checkKeys(cursor, writer, expected, space.name());
      require(!cursor.next(), "a key that no writer put into %s", space);
    }
  }

  private void checkKeys(KvCursor cursor, int writer, long[] expected, @Nullable String space) {
    for (int index = 0; index < expected.length; index++) {
      if (expected[index] == 0) {
        continue;
      }
      byte[] key = KillWorkload.key(writer, index);
      String name = new String(key, StandardCharsets.UTF_8) + (space == null ? "" : " of " + space);
      require(cursor.next(), "key %s and all behind it are missing", name);
      require(
          Arrays.equals(key, cursor.key()),
          "key %s expected, found %s",
          name,
          new String(cursor.key(), StandardCharsets.UTF_8));
      byte[] value = workload.value(writer, expected[index], space != null, index);
      require(
          Arrays.equals(value, cursor.value()),
          "key %s has not the value of operation %d",
          name,
          expected[index]);
      checkedEntries++;
    }
  }

  private static boolean isEmpty(long[] entries) {
    return Arrays.stream(entries).allMatch(entry -> entry == 0);
  }

  private static void require(boolean holds, String format, Object... values) {
    if (!holds) {
      throw new FailedMeasurementException(String.format(Locale.ROOT, format, values));
    }
  }
}
