package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.server.json.ByteText;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class KeyNotationTest {
  @ParameterizedTest
  @ValueSource(strings = {"a", "a b", "Grüße", "日本語", "\uD83D\uDE00", "", "x0x"})
  void plainTextIsShownAsItIs(String text) {
    assertEquals(text, ByteText.show(text.getBytes(UTF_8)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"a\nb", "\t", "\u001b[2J", "0x", "0xff", "\u202e", "\u2028", "\u0085"})
  void textThatWouldConfuseIsShownInDigits(String text) {
    assertTrue(ByteText.show(text.getBytes(UTF_8)).matches("0x[0-9a-f]+"));
  }

  @Test
  void digitsAreReadAsTheyAreShown() {
    byte[] key = {0, (byte) 0xff, (byte) 0x80};

    assertEquals("0x00ff80", ByteText.show(key));
    assertArrayEquals(key, KeyNotation.parse("KEY", "0x00ff80", true));
  }

  @Test
  void valuesKeepTheirTextWithEscapes() {
    assertEquals("a\\nb\\\\\\t\\u001b", ByteText.showEscaped("a\nb\\\t\u001b".getBytes(UTF_8)));
    assertEquals("0xc3", ByteText.showEscaped(new byte[] {(byte) 0xc3}));
  }

  @Test
  void argumentsThatLostBytesOnTheirWayAreRefused() {
    assertFalse(KeyNotation.isLossy("ö?", "UTF-8"));
    assertTrue(KeyNotation.isLossy("\uFFFD", "UTF-8"));
    assertTrue(KeyNotation.isLossy("\uDC80", "UTF-8"));
    assertTrue(KeyNotation.isLossy("a?", "ANSI_X3.4-1968"));
    assertFalse(KeyNotation.isLossy("a", "ANSI_X3.4-1968"));
  }
}
