package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import net.openhft.chronicle.bytes.Bytes;
import org.jspecify.annotations.Nullable;

/** One writing thread of a stress run, with a band of keys of its own in every space. */
final class StressWriter {
  /** One write of a batch, to be acknowledged with it. */
  private record Issued(StressSpace space, int index, long version) {}

  private final StressModel model;
  private final Random random;
  private final int first;
  private final int last;
  private final WriteBatch batch = new WriteBatch();
  private final List<Issued> issued = new ArrayList<>();

  StressWriter(StressModel model, int writer, long seed) {
    this.model = model;
    this.random = new Random(seed);
    first = writer * StressSpace.BAND;
    last = first + StressSpace.BAND - 1;
  }

  void step(KvStore store) {
    int dice = random.nextInt(100);
    if (dice < 55) {
      put(store, model.anySpace(random));
    } else if (dice < 65) {
      delete(store, model.anySpace(random));
    } else if (dice < 70) {
      deleteRange(store, model.anySpace(random));
    } else if (dice < 93) {
      batch(store);
    } else {
      model.increment(store, random.nextInt(StressModel.COUNTERS));
    }
  }

  private void put(KvStore store, StressSpace space) {
    int index = key();
    long version = space.issue(index, /* deletes= */ false);
    byte[] key = StressSpace.key(index);
    byte[] value = space.value(index, version);
    KvWriter writer = space.writer(store);
    boolean dropped =
        space.isDropped(
            () -> {
              if (space.expires(index, version)) {
                writer.put(key, value, StressSpace.TIME_TO_LIVE);
              } else if (!space.isKeyspace() && version % 4 == 0) {
                store.put(Bytes.wrapForRead(key), Bytes.wrapForRead(value));
              } else {
                writer.put(key, value);
              }
            });
    if (!dropped) {
      space.acknowledge(index, version);
    }
    model.count(dropped ? "refused" : "puts");
  }

  private void delete(KvStore store, StressSpace space) {
    int index = key();
    long version = space.issue(index, /* deletes= */ true);
    KvWriter writer = space.writer(store);
    boolean dropped = space.isDropped(() -> writer.delete(StressSpace.key(index)));
    if (!dropped) {
      space.acknowledge(index, version);
    }
    model.count(dropped ? "refused" : "deletes");
  }

  private void deleteRange(KvStore store, StressSpace space) {
    int from = key();
    int to = Math.min(last, from + 1 + random.nextInt(random.nextInt(4) == 0 ? 40 : 6));
    issued.clear();
    for (int index = from; index < to; index++) {
      issued.add(new Issued(space, index, space.issue(index, /* deletes= */ true)));
    }
    KvWriter writer = space.writer(store);
    boolean dropped =
        space.isDropped(() -> writer.deleteRange(StressSpace.bound(from), StressSpace.bound(to)));
    if (!dropped) {
      acknowledge();
    }
    model.count(dropped ? "refused" : "range deletes");
  }

  /**
   * Writes or deletes the first and last key of the band in all spaces that stay, and more besides,
   * perhaps in a keyspace that another thread drops meanwhile.
   */
  private void batch(KvStore store) {
    batch.clear();
    issued.clear();
    boolean deletes = random.nextInt(5) == 0;
    Set<Integer> others = new HashSet<>();
    for (int i = random.nextInt(random.nextInt(10) == 0 ? 30 : 4); i > 0; i--) {
      others.add(key());
    }
    for (StressSpace space : model.lasting) {
      space.into(batch);
      if (random.nextInt(8) == 0) {
        batch.deleteRange(StressSpace.bound(first), StressSpace.bound(last + 1));
        for (int index = first + 1; index < last; index++) {
          issued.add(new Issued(space, index, space.issue(index, /* deletes= */ true)));
        }
      }
      add(space, first, deletes);
      for (int index : others) {
        add(space, index, random.nextInt(4) == 0);
      }
      add(space, last, deletes);
    }
    StressSpace passing = random.nextInt(3) == 0 ? model.anyPassing(random) : null;
    if (passing != null) {
      passing.into(batch);
      add(passing, key(), /* deletes= */ false);
    }
    if (isRefused(store, passing)) {
      checkNothingHappened(store);
      model.count("refused");
    } else {
      acknowledge();
      model.count("batches");
    }
  }

  private void add(StressSpace space, int index, boolean deletes) {
    long version = space.issue(index, deletes);
    issued.add(new Issued(space, index, version));
    byte[] key = StressSpace.key(index);
    if (deletes) {
      batch.delete(key);
    } else if (space.expires(index, version)) {
      batch.put(key, space.value(index, version), StressSpace.TIME_TO_LIVE);
    } else {
      batch.put(key, space.value(index, version));
    }
  }

  private boolean isRefused(KvStore store, @Nullable StressSpace passing) {
    Runnable write =
        switch (random.nextInt(20)) {
          case 0 -> () -> store.write(batch, Durability.sync());
          case 1 -> () -> store.write(batch, Durability.none());
          default -> () -> store.write(batch);
        };
    if (passing != null) {
      return passing.isDropped(write);
    }
    write.run();
    return false;
  }

  /** No other thread writes these keys: what was acknowledged before must still be there. */
  private void checkNothingHappened(KvStore store) {
    for (StressSpace space : model.lasting) {
      byte[] found = space.reader(store).get(StressSpace.key(first));
      if (found != null) {
        long version = space.version(first, ByteBuffer.wrap(found));
        assertTrue(version < space.issued(first), "part of a refused batch");
      }
    }
  }

  private void acknowledge() {
    for (Issued write : issued) {
      write.space().acknowledge(write.index(), write.version());
    }
  }

  /** One of its own that is not written as one with others. */
  private int key() {
    return first + 1 + random.nextInt(StressSpace.BAND - 2);
  }
}
