package io.kvsep.internal.memory;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is read of a file of the kernel, whatever the file holds. */
final class KernelFileTest {
  private static final long NONE = Long.MAX_VALUE;

  /** A text of this length fits. */
  private static final int BYTES_MAX = 16 << 10;

  @TempDir private Path directory;
  private final KernelFile file = new KernelFile();

  private void read(String text) throws IOException {
    Path path = directory.resolve("file");
    Files.writeString(path, text, ISO_8859_1);
    file.read(path.toFile());
  }

  private static byte[] bytes(String text) {
    return text.getBytes(ISO_8859_1);
  }

  private long field(String name) {
    return file.field(bytes(name));
  }

  /** As pipes and some files of the kernel do, gives a few bytes at a time. */
  private static final class Slow extends InputStream {
    private final InputStream text;
    private final int step;

    Slow(String text, int step) {
      this.text = new ByteArrayInputStream(bytes(text));
      this.step = step;
    }

    @Override
    public int read() throws IOException {
      return text.read();
    }

    @Override
    public int read(byte[] target, int from, int count) throws IOException {
      return text.read(target, from, Math.min(count, step));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 7, 1_000})
  void shortReadsAreContinued(int step) throws IOException {
    String text = "active_file 17\ninactive_file 23\n".repeat(40);
    file.read(new Slow(text, step));
    assertArrayEquals(bytes(text), file.content());
    assertEquals(17, field("active_file"));
    assertEquals(23, field("inactive_file"));
  }

  @Test
  void aReadReplacesWhatWasThere() throws IOException {
    read("total 12345678\nmore 5\n");
    read("total 9\n");
    assertArrayEquals(bytes("total 9\n"), file.content());
    assertEquals(9, field("total"));
    assertEquals(NONE, field("more"));
    assertTrue(file.hasContent(bytes("total 9\n")));
    assertFalse(file.hasContent(bytes("total 9\nmore 5\n")));
    assertFalse(file.hasContent(bytes("total 9")));
  }

  @Test
  void whatCannotBeReadIsEmpty() throws IOException {
    read("5\n");
    file.read(directory.resolve("missing").toFile());
    assertEquals(0, file.content().length);
    assertEquals(NONE, file.number());
    read("5\n");
    file.read(directory.toFile());
    assertEquals(NONE, file.number());
    assertEquals(NONE, field("5"));
    assertEquals(NONE, file.word('5', 0));
    assertTrue(file.hasContent(new byte[0]));
  }

  @Test
  void anErrorOfAStreamIsTheCallers() throws IOException {
    InputStream broken = InputStream.nullInputStream();
    broken.close();
    assertThrows(IOException.class, () -> file.read(broken));
  }

  @Test
  void aFileThatGrowsIsReadAsFarAsItFits() throws IOException {
    String line = "name 1234567\n";
    String longest = line.repeat(BYTES_MAX / line.length());
    read(longest);
    assertArrayEquals(bytes(longest), file.content());
    // The last line would otherwise be one of fewer digits.
    read(longest + "last 1234567\n");
    assertArrayEquals(bytes(longest), file.content());
    assertEquals(NONE, field("last"));
  }

  @Test
  void aLineLongerThanAllThatFitsCountsForNothing() throws IOException {
    read("1".repeat(BYTES_MAX + 1));
    assertEquals(0, file.content().length);
    read("1".repeat(8) + " ".repeat(BYTES_MAX));
    assertEquals(NONE, file.number());
  }

  @Test
  void aFileThatFillsTheMemoryIsWhole() throws IOException {
    String text = "x".repeat(BYTES_MAX - 5) + "\na 5\n";
    read(text);
    assertArrayEquals(bytes(text), file.content());
    assertEquals(5, field("a"));
  }

  @Test
  void aNumberMayHaveBlanksAroundItAndNothingElse() throws IOException {
    String[] numbers = {"42", " 42\n", "\t42 kB\n", "0042\n"};
    for (String text : numbers) {
      read(text);
      assertEquals(42, file.number(), text);
    }
    String[] others = {
      "", "\n", "\n42\n", "max\n", "-1\n", "+1\n", "4x\n", "4.2\n", "0x10\n", "\0"
    };
    for (String text : others) {
      read(text);
      assertEquals(NONE, file.number(), text);
    }
  }

  @Test
  void aNumberThatIsTooLongIsNone() throws IOException {
    read("9223372036854775806\n");
    assertEquals(Long.MAX_VALUE - 1, file.number());
    read("9223372036854775808\n");
    assertEquals(NONE, file.number());
    read("9".repeat(1_000));
    assertEquals(NONE, file.number());
  }

  @Test
  void aFieldIsAWholeNameAtTheStartOfALine() throws IOException {
    read("inactive_file 1\nactive_file_x 2\n active_file 3\nactive_file\nactive_file 4\n");
    assertEquals(NONE, field("active_file"), "a name without a number");
    read("inactive_file 1\nactive_file_x 2\n active_file 3\nactive_file 4\nactive_file 5");
    assertEquals(4, field("active_file"));
    assertEquals(NONE, field("active"));
    read("active_file");
    assertEquals(NONE, field("active_file"), "the end of the file");
  }

  @Test
  void wordsAreCountedBehindTheLastMark() throws IOException {
    read("7 (a) b) S -1 345 9\n");
    assertEquals(NONE, file.word(')', 0), "a letter");
    assertEquals(NONE, file.word(')', 1), "a negative number");
    assertEquals(345, file.word(')', 2));
    assertEquals(9, file.word(')', 3));
    assertEquals(NONE, file.word(')', 4));
    assertEquals(NONE, file.word('?', 0), "no mark");
    read("7 (a)");
    assertEquals(NONE, file.word(')', 0), "nothing behind the mark");
  }
}
