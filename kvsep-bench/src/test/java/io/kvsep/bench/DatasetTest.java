package io.kvsep.bench;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.BitSet;
import org.junit.jupiter.api.Test;

/** What is read back can only be checked if the content is what it is said to be. */
final class DatasetTest {
  @Test
  void keyNamesValueLengthAndOrdinal() {
    Dataset dataset = new Dataset(1000, 128);
    byte[] key = dataset.newKey();
    dataset.putKey(742, key);
    assertEquals("vsz=00128-k=0000000742", new String(key, UTF_8));
    assertEquals(Dataset.KEY_BYTES, key.length);
  }

  @Test
  void absentKeyIsTheKeyOfNoEntry() {
    Dataset dataset = new Dataset(1000, 128);
    byte[] key = dataset.newKey();
    dataset.putAbsentKey(742, key);
    assertFalse(new String(key, UTF_8).matches(".*k=[0-9]+"));
  }

  @Test
  void shuffledOrderVisitsEachOrdinalOnce() {
    for (int count : new int[] {1, 2, 3, 1000, 1024, 65_537}) {
      Dataset dataset = new Dataset(count, 8);
      BitSet visited = new BitSet(count);
      for (int index = 0; index < count; index++) {
        visited.set((int) dataset.shuffled(index));
      }
      assertEquals(count, visited.cardinality());
      assertEquals(count, visited.length());
    }
  }

  @Test
  void everyChangedByteOfAValueIsNoticed() {
    Dataset dataset = new Dataset(1000, 21);
    byte[] value = new byte[21];
    dataset.putValue(7, value);
    assertTrue(dataset.isValue(7, value));
    assertFalse(dataset.isValue(8, value));
    for (int i = 0; i < value.length; i++) {
      value[i] ^= 1;
      assertFalse(dataset.isValue(7, value));
      value[i] ^= 1;
    }
    assertFalse(dataset.isValue(7, new byte[20]));
  }
}
