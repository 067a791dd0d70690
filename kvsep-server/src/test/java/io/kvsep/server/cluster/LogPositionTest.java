package io.kvsep.server.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class LogPositionTest {
  @ParameterizedTest
  @CsvSource({"1, 12", "4, 0:7", "4, '1:3,3:9'"})
  void isReadAsItIsWritten(int shards, String text) {
    assertEquals(text, String.valueOf(LogPosition.parse(text, shards)));
  }

  @ParameterizedTest
  @CsvSource({
    "1, x",
    "1, ''",
    "1, 0:7",
    "1, '1,2'",
    "4, 7",
    "4, 4:1",
    "4, -1:1",
    "4, '1:'",
    "4, 1:1:1"
  })
  void otherTextIsNone(int shards, String text) {
    assertNull(LogPosition.parse(text, shards));
  }

  @Test
  void theHigherIndexOfEachShardCounts() {
    LogPosition both = LogPosition.of(5, -1, 2).max(LogPosition.of(4, -1, 3, 8));
    assertEquals("0:5,2:3,3:8", both.toString());
    assertEquals(-1, both.index(1));
    assertEquals(-1, both.index(9));
    assertEquals("7", LogPosition.NONE.max(LogPosition.of(7)).toString());
    assertTrue(LogPosition.NONE.isEmpty());
    assertTrue(LogPosition.of(-1, -1).isEmpty());
    assertFalse(both.isEmpty());
  }
}
