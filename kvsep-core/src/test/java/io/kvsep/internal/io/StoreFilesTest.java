package io.kvsep.internal.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.internal.io.StoreFiles.Kind;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class StoreFilesTest {
  @Test
  void namesAreAsDocumented() {
    assertEquals("CURRENT", StoreFiles.CURRENT);
    assertEquals("LOCK", StoreFiles.LOCK);
    assertEquals("CURRENT.tmp", StoreFiles.CURRENT_TEMPORARY);
    assertEquals(StoreFiles.CURRENT_TEMPORARY, StoreFiles.temporary(StoreFiles.CURRENT));
    assertEquals("MANIFEST-000001", StoreFiles.manifest(1));
    assertEquals("000012.vlog", StoreFiles.segment(12));
    assertEquals("999999.sst", StoreFiles.table(999_999));
    assertEquals("1000000.sst", StoreFiles.table(1_000_000));
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 9, 10, 99_999, 999_999, 1_000_000, 1L << 40, Long.MAX_VALUE})
  void everyNumberComesBack(long number) {
    assertNumber(Kind.MANIFEST, number, StoreFiles.manifest(number));
    assertNumber(Kind.SEGMENT, number, StoreFiles.segment(number));
    assertNumber(Kind.TABLE, number, StoreFiles.table(number));
  }

  private static void assertNumber(Kind kind, long number, String name) {
    assertEquals(kind, StoreFiles.kindOf(name));
    assertEquals(number, StoreFiles.numberOf(name));
    assertEquals(Kind.TEMPORARY, StoreFiles.kindOf(StoreFiles.temporary(name)));
  }

  @Test
  void namesDoNotDependOnTheLocale() {
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
    try {
      assertEquals("000012.vlog", StoreFiles.segment(12));
    } finally {
      Locale.setDefault(before);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "current",
        "LOCK ",
        "CURRENT.bak",
        "MANIFEST",
        "MANIFEST-",
        "MANIFEST-1",
        "MANIFEST-0000001",
        "MANIFEST-000001.sst",
        ".sst",
        ".vlog",
        "1.sst",
        "00001.sst",
        "0000001.sst",
        "0123456.sst",
        "-00001.sst",
        "+00001.sst",
        "00000a.sst",
        "000001.SST",
        "000001.sst.bak",
        "000001.sst.tmp.tmp",
        " 000001.sst",
        "\u0660\u0660\u0660\u0660\u0660\u0661.sst",
        "9223372036854775808.vlog",
        "18446744073709551617.vlog",
        "99999999999999999999999999.vlog",
        ".tmp",
        "notes.tmp",
        "1.sst.tmp"
      })
  void otherSpellingsAreNotOurs(String name) {
    assertEquals(Kind.OTHER, StoreFiles.kindOf(name));
    assertThrows(IllegalArgumentException.class, () -> StoreFiles.numberOf(name));
  }

  @Test
  void namesWithoutANumberHaveNone() {
    assertEquals(Kind.CURRENT, StoreFiles.kindOf("CURRENT"));
    assertEquals(Kind.LOCK, StoreFiles.kindOf("LOCK"));
    assertEquals(Kind.TEMPORARY, StoreFiles.kindOf("CURRENT.tmp"));
    for (String name : List.of("CURRENT", "LOCK", "CURRENT.tmp", "000001.sst.tmp")) {
      assertThrows(IllegalArgumentException.class, () -> StoreFiles.numberOf(name));
    }
  }

  @Test
  void negativeNumbersAreRefused() {
    assertThrows(IllegalArgumentException.class, () -> StoreFiles.segment(-1));
    assertThrows(IllegalArgumentException.class, () -> StoreFiles.table(-1));
    assertThrows(IllegalArgumentException.class, () -> StoreFiles.manifest(Long.MIN_VALUE));
  }
}
