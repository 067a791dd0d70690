package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ConflictException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Retries of {@link KvStore#transact}, without real waits. */
final class TransactTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);
  private static final byte[] OTHER = "other".getBytes(UTF_8);
  private static final byte[] VALUE = "value".getBytes(UTF_8);

  private final List<Long> pauses = new ArrayList<>();
  private final KvStore store =
      new OpenStore(
          StorageEngine.open(Engines.config(new CrashableStorage(), new ManualScheduler(1, 1))),
          new TransactionRetry(new Random(1), pauses::add));

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void theResultOfTheWorkComesBackAndWhatItWroteIsThere() {
    assertEquals(
        "done",
        store.transact(
            transaction -> {
              transaction.put(KEY, VALUE);
              return "done";
            }));
    assertArrayEquals(VALUE, store.get(KEY));
    assertNull(store.<@Nullable String>transact(transaction -> null));
    assertEquals(0, store.stats().openSnapshots());
    assertEquals(List.of(), pauses);
  }

  @Test
  void conflictsAreTriedAgainWithPausesThatGrow() {
    AtomicInteger tries = new AtomicInteger();
    int last =
        store.transact(
            transaction -> {
              transaction.get(KEY);
              transaction.put(OTHER, VALUE);
              if (tries.incrementAndGet() <= 30) {
                store.put(KEY, VALUE);
              }
              return tries.get();
            });
    assertEquals(31, last);
    assertEquals(30, pauses.size());
    for (int i = 0; i < pauses.size(); i++) {
      long bound = Math.min(8_192_000, 16_000L << Math.min(i, 20));
      assertTrue(pauses.get(i) >= 0 && pauses.get(i) < bound, i + ": " + pauses.get(i));
    }
    assertNotEquals(pauses.get(28), pauses.get(29));
  }

  @Test
  void triesAreBoundedAndTheLastConflictGoesOut() {
    AtomicInteger tries = new AtomicInteger();
    assertThrows(
        ConflictException.class,
        () ->
            store.transact(
                transaction -> {
                  tries.incrementAndGet();
                  transaction.get(KEY);
                  transaction.put(OTHER, VALUE);
                  store.put(KEY, VALUE);
                  return "never";
                }));
    assertEquals(TransactionRetry.TRIES_MAX, tries.get());
    assertEquals(TransactionRetry.TRIES_MAX - 1, pauses.size());
    assertNull(store.get(OTHER));
    assertEquals(0, store.stats().openSnapshots());
  }

  @Test
  void whatTheWorkThrowsGoesOutAndNothingIsWritten() {
    IllegalStateException mine = new IllegalStateException("mine");
    List<Transaction> used = new ArrayList<>();
    assertSame(
        mine,
        assertThrows(
            IllegalStateException.class,
            () ->
                store.transact(
                    transaction -> {
                      used.add(transaction);
                      transaction.put(KEY, VALUE);
                      throw mine;
                    })));
    assertNull(store.get(KEY));
    assertEquals(1, used.size());
    assertThrows(StoreClosedException.class, () -> used.get(0).get(KEY));
  }

  @Test
  void aConflictOfAnotherStoreInsideTheWorkIsNotTriedAgain() {
    AtomicInteger tries = new AtomicInteger();
    assertThrows(
        ConflictException.class,
        () ->
            store.transact(
                transaction -> {
                  tries.incrementAndGet();
                  throw new ConflictException("of another store");
                }));
    assertEquals(1, tries.get());
  }

  @Test
  void theWorkMayEndTheTransactionItself() {
    store.transact(
        transaction -> {
          transaction.put(KEY, VALUE);
          transaction.rollback();
          return 1;
        });
    assertNull(store.get(KEY));
    AtomicInteger tries = new AtomicInteger();
    store.transact(
        transaction -> {
          transaction.contains(KEY);
          transaction.put(OTHER, VALUE);
          if (tries.incrementAndGet() == 1) {
            store.put(KEY, VALUE);
          }
          transaction.commit();
          return 1;
        });
    assertEquals(2, tries.get());
    assertArrayEquals(VALUE, store.get(OTHER));
  }

  @Test
  void oneInsideAnotherIsATransactionOfItsOwn() {
    store.transact(
        outer -> {
          outer.put(KEY, VALUE);
          store.transact(
              inner -> {
                assertNull(inner.get(KEY));
                inner.put(OTHER, VALUE);
                return 0;
              });
          assertNull(outer.get(OTHER), "began later");
          outer.rollback();
          return 0;
        });
    assertArrayEquals(VALUE, store.get(OTHER));
    assertNull(store.get(KEY));
  }
}
