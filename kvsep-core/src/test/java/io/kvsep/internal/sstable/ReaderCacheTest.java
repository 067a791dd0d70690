package io.kvsep.internal.sstable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.concurrent.PinCount;
import io.kvsep.testing.Seeds;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The cache beside holders and epochs that are as simple as can be. */
final class ReaderCacheTest {
  /** A reader that knows who works with it. */
  private final class FakeReader implements ReaderCache.Reader {
    final int weight;
    final PinCount pins = new PinCount(this::free);
    int frees;

    FakeReader(int weight) {
      this.weight = weight;
    }

    private void free() {
      frees++;
    }

    @Override
    public void evicted() {
      retired.add(this::unpin);
    }

    @Override
    public int weightBytes() {
      return weight;
    }

    @Override
    public void unpin() {
      pins.unpin();
    }
  }

  private static final class FakeHolder implements ReaderCache.Holder<FakeReader> {
    final AtomicReference<@Nullable FakeReader> linked = new AtomicReference<>();

    @Override
    public boolean unlink(FakeReader reader) {
      return linked.compareAndSet(reader, null);
    }

    @Override
    public boolean isLinked(FakeReader reader) {
      return linked.get() == reader;
    }
  }

  private final ArrayDeque<Runnable> retired = new ArrayDeque<>();

  @Test
  void whatIsEvictedIsFreedAfterItsLastUse() {
    Seeds.each(getClass(), 200, this::run);
  }

  private void run(Random random) {
    retired.clear();
    long limit = random.nextInt(5) == 0 ? 0 : 1 + random.nextInt(400);
    ReaderCache<FakeReader> cache = new ReaderCache<>(limit);
    List<FakeHolder> holders = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      holders.add(new FakeHolder());
    }
    List<FakeReader> all = new ArrayList<>();
    List<FakeReader> pinned = new ArrayList<>();
    for (int step = 0; step < 400; step++) {
      FakeHolder holder = holders.get(random.nextInt(holders.size()));
      FakeReader found = holder.linked.get();
      switch (random.nextInt(8)) {
        case 0 -> {
          if (found != null && holder.unlink(found)) {
            cache.closed(holder);
            found.unpin();
          }
        }
        case 1 -> {
          if (!pinned.isEmpty()) {
            pinned.remove(random.nextInt(pinned.size())).unpin();
          }
        }
        case 2 -> {
          if (!retired.isEmpty()) {
            retired.remove().run();
          }
        }
        default -> {
          if (found == null) {
            FakeReader reader = new FakeReader(1 + random.nextInt(100));
            all.add(reader);
            holder.linked.set(reader);
            cache.opened(holder, reader);
          } else {
            assertEquals(0, found.frees);
            cache.used(holder);
            if (random.nextBoolean() && found.pins.tryPin()) {
              pinned.add(found);
            }
          }
        }
      }
      assertTrue(cache.weightBytes() <= limit, cache.weightBytes() + " of " + limit);
      assertEquals(weightOf(holders), cache.weightBytes());
      pinned.forEach(reader -> assertEquals(0, reader.frees));
    }
    close(cache, holders);
    pinned.forEach(FakeReader::unpin);
    retired.forEach(Runnable::run);
    all.forEach(reader -> assertEquals(1, reader.frees));
    assertEquals(0, cache.weightBytes());
  }

  @Test
  void aReaderThatWasClosedBeforeItWasNotedIsForgotten() {
    ReaderCache<FakeReader> cache = new ReaderCache<>(100);
    FakeHolder holder = new FakeHolder();
    FakeReader reader = new FakeReader(10);
    // Linked, unlinked and closed by another thread before this one got to the cache.
    reader.unpin();
    cache.opened(holder, reader);
    assertEquals(0, cache.weightBytes());
    assertEquals(1, reader.frees);
    assertTrue(retired.isEmpty());
  }

  @Test
  void whatIsUsedOftenStaysOpen() {
    ReaderCache<FakeReader> cache = new ReaderCache<>(50);
    FakeHolder often = new FakeHolder();
    open(cache, often);
    int lost = 0;
    for (int i = 0; i < 1_000; i++) {
      open(cache, new FakeHolder());
      for (int use = 0; use < 4; use++) {
        cache.used(often);
      }
      if (often.linked.get() == null) {
        lost++;
        open(cache, often);
      }
    }
    assertTrue(lost < 20, "lost " + lost + " times");
    assertFalse(retired.isEmpty());
  }

  private void open(ReaderCache<FakeReader> cache, FakeHolder holder) {
    FakeReader reader = new FakeReader(1);
    holder.linked.set(reader);
    cache.opened(holder, reader);
  }

  private static long weightOf(List<FakeHolder> holders) {
    long weight = 0;
    for (FakeHolder holder : holders) {
      FakeReader reader = holder.linked.get();
      weight += reader == null ? 0 : reader.weight;
    }
    return weight;
  }

  private static void close(ReaderCache<FakeReader> cache, List<FakeHolder> holders) {
    for (FakeHolder holder : holders) {
      FakeReader reader = holder.linked.get();
      if (reader != null && holder.unlink(reader)) {
        cache.closed(holder);
        reader.unpin();
      }
    }
  }
}
