package io.kvsep.testing;

import io.kvsep.testing.ModelState.Change;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** What a random history of a model test is made of: keys, ranges and values from one generator. */
public final class ModelDraw {
  public static final byte[] NO_BYTES = new byte[0];

  private final Random random;
  private final int keyCount;

  /**
   * @param keyBitsMax there are at most as many keys as these bits tell apart, and at least two
   */
  ModelDraw(Random random, int keyBitsMax) {
    this.random = random;
    keyCount = 1 << random.nextInt(1, keyBitsMax + 1);
  }

  /** Keys of one to some bytes with common prefixes, from a small set. */
  public byte[] key() {
    int index = random.nextInt(keyCount);
    Random shape = new Random(index);
    byte[] key = new byte[1 + shape.nextInt(30)];
    Arrays.fill(key, (byte) (index % 3 == 0 ? 0xff : 'k'));
    key[key.length - 1] = (byte) index;
    return key;
  }

  /** Mostly short ranges, sometimes a whole keyspace or nothing. */
  public Change range(int space) {
    int kind = random.nextInt(8);
    byte[] from = kind == 0 ? NO_BYTES : key();
    byte[] to = key();
    if (kind < 4) {
      to = from.clone();
      if (to.length > 0) {
        to[to.length - 1] = (byte) (to[to.length - 1] + 1 + random.nextInt(4));
      }
    }
    return Change.deleteRange(space, from, to);
  }

  public byte[] value() {
    int kind = random.nextInt(10);
    int length =
        kind < 2 ? random.nextInt(4) : kind < 9 ? random.nextInt(200) : random.nextInt(6000);
    if (length == 0) {
      return NO_BYTES;
    }
    byte[] value = new byte[length];
    if (random.nextBoolean()) {
      random.nextBytes(value);
    } else {
      Arrays.fill(value, (byte) random.nextInt(256));
    }
    return value;
  }

  public <T> T from(List<T> choices) {
    return choices.get(random.nextInt(choices.size()));
  }
}
