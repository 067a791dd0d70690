package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
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

  /** As the matcher of Redis, with all that is odd about sets and backslashes. */
  @Test
  void anyPatternMatchesWhatItDoesByTheRules() {
    Random random = new Random(11);
    int matches = 0;
    for (int i = 0; i < 300_000; i++) {
      byte[] pattern = random(random, i % 2 == 0 ? "ab*?" : "ab*?[]^-\\\u00e4", 1 + i % 9);
      byte[] key = random(random, i % 3 == 0 ? "ab\\^-]\u00e4" : "ab", 12);
      boolean expected = matches(pattern, 0, key, 0);
      assertEquals(expected, new Glob(pattern).matches(key), () -> text(pattern) + " " + text(key));
      matches += expected ? 1 : 0;
    }
    assertTrue(matches > 30_000, matches + " match");
  }

  @Test
  void longPartsMatchAcrossWords() {
    Random random = new Random(12);
    int matches = 0;
    for (int i = 0; i < 3000; i++) {
      byte[] key = random(random, "ab", 400);
      byte[] pattern = key.clone();
      for (int change = random.nextInt(6); change > 0 && pattern.length > 0; change--) {
        pattern[random.nextInt(pattern.length)] = (byte) "*?ab".charAt(random.nextInt(4));
      }
      byte[] wild = i % 2 == 0 ? pattern : bytes("*" + text(pattern) + "*");
      boolean expected = matches(wild, 0, key, 0);
      assertEquals(expected, new Glob(wild).matches(key), () -> text(wild) + " " + text(key));
      matches += expected ? 1 : 0;
    }
    assertTrue(matches > 1000 && matches < 2500, matches + " match");
  }

  /** Each would take seconds if all of it were tried at each place of the key. */
  @Test
  void longPatternsAreNotTriedAtEachPlaceAnew() {
    byte[] key = bytes("a".repeat(65_501));
    // Around a multiple of the bits of a word.
    for (int length = 32_702; length <= 32_705; length++) {
      assertFalse(glob("*" + "a".repeat(length) + "b").matches(key));
      assertFalse(glob("*" + "a".repeat(length) + "b*").matches(key));
      assertFalse(glob("*" + "?".repeat(length) + "b*").matches(key));
      assertFalse(glob("*" + "[ab]".repeat(length) + "b*a").matches(key));
      assertTrue(glob("*" + "[ab]".repeat(length) + "*a").matches(key));
    }
  }

  @Test
  void aPatternLongerThanAnyKeyMatchesNone() {
    byte[] key = bytes("a".repeat(65_535));
    assertTrue(glob("?".repeat(65_535)).matches(key));
    assertTrue(glob("*".repeat(1 << 20) + "?".repeat(65_535)).matches(key));
    assertFalse(glob("?".repeat(65_536)).matches(key));
    assertFalse(glob("*" + "a".repeat(1 << 20)).matches(key));
    assertTrue(glob("*[" + "a".repeat(1 << 20) + "]").matches(key));
  }

  /** The rules, one element after the other. */
  private static boolean matches(byte[] pattern, int from, byte[] key, int at) {
    if (from == pattern.length) {
      return at == key.length;
    }
    if (pattern[from] == '*') {
      return matches(pattern, from + 1, key, at)
          || (at < key.length && matches(pattern, from, key, at + 1));
    }
    if (at == key.length) {
      return false;
    }
    int next = from + 1;
    boolean fits = pattern[from] == '?' || pattern[from] == key[at];
    if (pattern[from] == '[') {
      boolean not = next < pattern.length && pattern[next] == '^';
      next += not ? 1 : 0;
      fits = false;
      for (; next < pattern.length && pattern[next] != ']'; next++) {
        if (pattern[next] == '\\' && next + 1 < pattern.length) {
          fits |= pattern[++next] == key[at];
        } else if (next + 2 < pattern.length && pattern[next + 1] == '-') {
          int low = Math.min(pattern[next] & 0xff, pattern[next + 2] & 0xff);
          int high = Math.max(pattern[next] & 0xff, pattern[next + 2] & 0xff);
          fits |= low <= (key[at] & 0xff) && (key[at] & 0xff) <= high;
          next += 2;
        } else {
          fits |= pattern[next] == key[at];
        }
      }
      fits ^= not;
      next = Math.min(next + 1, pattern.length);
    } else if (pattern[from] == '\\' && next < pattern.length) {
      fits = pattern[next++] == key[at];
    }
    return fits && matches(pattern, next, key, at + 1);
  }

  private static byte[] random(Random random, String letters, int lengthMax) {
    byte[] bytes = new byte[random.nextInt(lengthMax + 1)];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) letters.charAt(random.nextInt(letters.length()));
    }
    return bytes;
  }

  private static String text(byte[] bytes) {
    return new String(bytes, ISO_8859_1);
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
    assertEquals("0", Numbers.text(Numbers.decimal(bytes("1e-4900"))));
    assertEquals("100000000000000000000", Numbers.text(Numbers.decimal(bytes("1e20"))));
    assertEquals("0.1", Numbers.text(Numbers.decimal(bytes(".10"))));
    String[] refused = {
      "", "x", "1e", "nan", "1e2147483647", "1e400000000", "1e-400000000", " 1", "--1"
    };
    for (String text : refused) {
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
