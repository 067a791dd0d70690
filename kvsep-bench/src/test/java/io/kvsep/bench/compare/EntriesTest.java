package io.kvsep.bench.compare;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.bench.Dataset;
import io.kvsep.bench.UsageException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The same bytes for every engine, in whatever language its child is written. */
final class EntriesTest {
  @Test
  void samplesOfTheDataSetAreAsWrittenDown() throws IOException {
    List<String> lines = samples();
    assertEquals("entries,valueBytes,ordinal,key,valueFirst16Hex,shuffled", lines.get(0));
    for (String line : lines.subList(1, lines.size())) {
      String[] fields = line.split(",", -1);
      Entries entries = Entries.of(Long.parseLong(fields[0]), fields[1]);
      long ordinal = Long.parseLong(fields[2]);
      byte[] key = entries.newKey();
      entries.putKey(ordinal, key);
      byte[] value = entries.values().of(ordinal);
      String first = HexFormat.of().formatHex(Arrays.copyOf(value, Math.min(16, value.length)));

      assertEquals(fields[3], new String(key, UTF_8), line);
      assertEquals(fields[4], first, line);
      assertEquals(Long.parseLong(fields[5]), entries.shuffled(ordinal), line);
      assertTrue(entries.matches(ordinal, value, value.length), line);
    }
    assertTrue(lines.size() > 40);
  }

  private static List<String> samples() throws IOException {
    try (InputStream stream = Dataset.class.getResourceAsStream("dataset-vectors.csv")) {
      assertNotNull(stream);
      return new String(stream.readAllBytes(), UTF_8).lines().toList();
    }
  }

  @Test
  void lengthsAlternateByOrdinalAndKeysNameTheFirst() {
    Entries entries = Entries.of(3, "16/40");
    byte[] key = entries.newKey();
    entries.putKey(1, key);

    assertEquals("vsz=00016-k=0000000001", new String(key, UTF_8));
    assertEquals(16, entries.values().of(0).length);
    assertEquals(40, entries.values().of(1).length);
    assertEquals(40, entries.valueBytesMax());
    assertEquals(2 * (22 + 16) + 22 + 40, entries.rawBytes());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 7, 8, 9, 16, 128, 1024})
  void changedEndsOfValuesAreNoticed(int length) {
    Entries entries = Entries.of(10, Integer.toString(length));
    byte[] value = entries.values().of(5);
    assertTrue(entries.matches(5, value, length));
    assertFalse(entries.matches(5, value, length + 1));
    for (int i = 0; i < length; i++) {
      value[i] ^= 1;
      boolean isEnd = i < 8 || i >= length - 8;
      if (isEnd) {
        assertFalse(entries.matches(5, value, length), "byte " + i);
        assertFalse(entries.matches(5, ByteBuffer.wrap(value)), "byte " + i);
      }
      value[i] ^= 1;
    }
    assertTrue(entries.matches(5, ByteBuffer.wrap(value)));
    assertTrue(entries.matches(5, ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN)));
    if (length >= 7) {
      assertFalse(entries.matches(6, value, length));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "x", "1/2/3", "-1", "8/", "2000000000"})
  void otherLengthsAreRefused(String word) {
    assertThrows(UsageException.class, () -> Entries.of(1, word));
  }
}
