package io.kvsep;

import io.kvsep.testing.ModelDraw;
import io.kvsep.testing.ModelState.Cell;
import io.kvsep.testing.ModelState.Change;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A batch of a random history, used again and again, and the changes that it stands for. */
final class ModelBatch {
  private final WriteBatch batch = new WriteBatch();
  private final Random random;
  private final ModelDraw draw;
  private final Clock clock;

  ModelBatch(Random random, ModelDraw draw, Clock clock) {
    this.random = random;
    this.draw = draw;
    this.clock = clock;
  }

  WriteBatch batch() {
    return batch;
  }

  /** Fills it anew, for the spaces that are drawn on the way, null being the store itself. */
  List<Change> fill(int count, Supplier<@Nullable ModelSpace> spaces) {
    batch.clear();
    List<Change> changes = new ArrayList<>();
    int number = KvStoreModelRun.DEFAULT;
    for (int i = 0; i < count; i++) {
      if (random.nextInt(3) == 0) {
        ModelSpace space = spaces.get();
        number = space == null ? KvStoreModelRun.DEFAULT : space.number();
        if (space == null) {
          batch.inDefault();
        } else {
          batch.in(space.handle());
        }
      }
      changes.add(add(number));
    }
    return changes;
  }

  private Change add(int number) {
    int kind = random.nextInt(24);
    if (kind == 0) {
      Change range = draw.range(number);
      batch.deleteRange(range.key(), Objects.requireNonNull(range.end()));
      return range;
    }
    byte[] key = draw.key();
    if (kind < 6) {
      batch.delete(key);
      return Change.delete(number, key);
    }
    byte[] value = draw.value();
    if (kind > 6) {
      batch.put(key, value);
      return Change.put(number, key, new Cell(value, Long.MAX_VALUE));
    }
    int timeToLive = 1 + random.nextInt(100);
    batch.put(key, value, Duration.ofMillis(timeToLive));
    return Change.put(number, key, new Cell(value, clock.millis() + timeToLive));
  }

  /** Adds a write, or next to none, for a keyspace that is no more. */
  void addFor(ModelSpace gone) {
    batch.in(gone.handle());
    switch (random.nextInt(5)) {
      case 0 -> batch.delete(draw.key());
      case 1 -> batch.deleteRange(new byte[] {2}, new byte[] {1});
      case 2 -> batch.deleteRange(ModelDraw.NO_BYTES, draw.key());
      case 3 -> batch.put(draw.key(), draw.value());
      default -> {}
    }
    if (random.nextBoolean()) {
      batch.inDefault().put(draw.key(), draw.value());
    }
  }
}
