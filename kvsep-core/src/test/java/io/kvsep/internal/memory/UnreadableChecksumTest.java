package io.kvsep.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.testing.JavaProcess;
import java.io.RandomAccessFile;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A checksum over a page that cannot be read. In a process of its own, which would end there if the
 * page got as far as the code of the JVM that reckons it.
 */
final class UnreadableChecksumTest {
  @TempDir Path directory;

  @Test
  void aChecksumOverAPageThatIsGoneIsAnErrorEachTime() throws Exception {
    Process process = JavaProcess.start(Program.class, directory.resolve("file").toString());
    try {
      assertEquals("1000 and 1000 errors, 1000 right", JavaProcess.firstLine(process));
    } finally {
      process.destroyForcibly().waitFor(1, TimeUnit.MINUTES);
    }
  }

  /** Reckons until all is compiled, then has the last page gone, then has it back. */
  static final class Program {
    private static final int PAGE = 4096;
    private static final int LENGTH = 3 * PAGE;
    private static final int TIMES = 1000;

    private Program() {}

    public static void main(String[] arguments) throws Exception {
      try (RandomAccessFile file = new RandomAccessFile(arguments[0], "rw")) {
        file.setLength(LENGTH);
        Region region = Region.ofMapping(file.getChannel().map(MapMode.READ_ONLY, 0, LENGTH));
        NativeWindow window = new NativeWindow();
        CRC32C zeros = new CRC32C();
        zeros.update(new byte[LENGTH - 10]);
        int expected = (int) zeros.getValue();
        int right = 0;
        for (int i = 0; i < 50_000; i++) {
          right += window.crc32c(region, 5, LENGTH - 10) == expected ? 1 : 0;
        }
        if (right != 50_000) {
          System.out.println(right + " were right at first");
        }
        file.setLength(LENGTH - PAGE);
        int errors = errors(window, region, 5, LENGTH - 10);
        int errorsWithin = errors(window, region, LENGTH - 200, 100);
        file.setLength(LENGTH);
        right = 0;
        for (int i = 0; i < TIMES; i++) {
          right += window.crc32c(region, 5, LENGTH - 10) == expected ? 1 : 0;
        }
        System.out.println(errors + " and " + errorsWithin + " errors, " + right + " right");
      }
    }

    private static int errors(NativeWindow window, Region region, long offset, long count) {
      int errors = 0;
      for (int i = 0; i < TIMES; i++) {
        try {
          window.crc32c(region, offset, count);
        } catch (InternalError e) {
          errors++;
        }
      }
      return errors;
    }
  }
}
