package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Patterns, numbers and cursors by themselves. */
final class WordsTest {
  @Test
  void patternsMatchAsInRedis() {
    String[][] matching = {
      {"*", ""}, {"*", "abc"}, {"a*c", "abbc"}, {"a?c", "abc"}, {"[abc]x", "bx"},
      {"[a-c]x", "bx"}, {"[c-a]x", "bx"}, {"[^a]x", "bx"}, {"\\*x", "*x"}, {"a\\", "a\\"},
      {"*a*b*c", "xaxbxbc"}, {"[\\]]", "]"}, {"[a", "a"}, {"**", "x"}, {"", ""},
    };
    String[][] other = {
      {"", "a"},
      {"a", ""},
      {"a?c", "ac"},
      {"[abc]x", "dx"},
      {"[^a]x", "ax"},
      {"\\*x", "ax"},
      {"*a*b*c", "xaxcxb"},
      {"a*", "ba"},
      {"[a", "b"},
      {"[]a", "a"},
    };
    for (String[] each : matching) {
      assertTrue(glob(each[0]).matches(bytes(each[1])), each[0] + " " + each[1]);
    }
    for (String[] each : other) {
      assertTrue(!glob(each[0]).matches(bytes(each[1])), each[0] + " " + each[1]);
    }
  }

  @Test
  void aPatternOfManyStarsEnds() {
    assertTrue(!glob("a*".repeat(50) + "b").matches(bytes("a".repeat(20_000))));
  }

  @Test
  void whatAPatternBeginsWith() {
    assertArrayEquals(bytes("user:"), glob("user:*").prefix());
    assertArrayEquals(bytes("user"), glob("user\\:*").prefix());
    assertArrayEquals(bytes(""), glob("[a]").prefix());
  }

  @Test
  void integersAreStrict() {
    assertEquals(Long.MIN_VALUE, Numbers.integer(bytes("-9223372036854775808")));
    assertEquals(Long.MAX_VALUE, Numbers.integer(bytes("9223372036854775807")));
    assertEquals(0, Numbers.integer(bytes("0")));
    assertEquals(-12, Numbers.integer(bytes("-12")));
    for (String text :
        new String[] {
          "",
          "-",
          "+1",
          " 1",
          "1 ",
          "01",
          "-0",
          "1.0",
          "9223372036854775808",
          "-9223372036854775809",
          "99999999999999999999",
          "0x1",
          "\u00b2"
        }) {
      assertThrows(
          CommandError.class,
          () -> Numbers.integer(text.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1)),
          text);
    }
  }

  @Test
  void floatsAreWrittenInFull() {
    assertEquals("0", Numbers.text(Numbers.decimal(bytes("1e-400000000"))));
    assertEquals("100000000000000000000", Numbers.text(Numbers.decimal(bytes("1e20"))));
    assertEquals("0.1", Numbers.text(Numbers.decimal(bytes(".10"))));
    for (String text : new String[] {"", "x", "1e", "nan", "1e2147483647", " 1", "--1"}) {
      assertThrows(CommandError.class, () -> Numbers.decimal(bytes(text)), text);
    }
  }

  @Test
  void anIterationKeepsTwoCursorsAndAllTogetherAreBounded() {
    ScanCursors cursors = new ScanCursors(10_000);
    long first = cursors.add(new ScanCursors.Place(0, bytes("a"), 0));
    long second = cursors.add(new ScanCursors.Place(0, bytes("b"), first));
    assertNotNull(cursors.find(first), "its client did not get the second");
    assertNotNull(cursors.find(second));
    assertNull(cursors.find(first));
    for (int i = 0; i < 1000; i++) {
      assertNotNull(cursors.find(second));
      cursors.add(new ScanCursors.Place(0, new byte[50], 0));
    }
    assertTrue(cursors.size() < 50);
  }

  /** JavaScript has doubles, and Java and Go signed numbers. */
  @Test
  void everyClientCanCarryACursor() {
    ScanCursors cursors = new ScanCursors();
    for (int i = 0; i < 10_000; i++) {
      long cursor = cursors.add(new ScanCursors.Place(0, bytes("a"), 0));
      assertTrue(cursor > 0 && cursor < 1L << 53, () -> "" + cursor);
    }
  }

  private static Glob glob(String pattern) {
    return new Glob(bytes(pattern));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(US_ASCII);
  }
}
