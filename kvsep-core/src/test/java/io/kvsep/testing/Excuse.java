package io.kvsep.testing;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.KvException;
import io.kvsep.internal.io.StoreFiles;
import java.util.Set;

/**
 * What damaged files excuse: an error that says what is wrong with one of them, and where. Nothing
 * else is.
 *
 * @param damaged names of the files
 * @param anyFile whether other files may be named as well
 * @param forged whether the checksums hold all the same. Then a pointer may be none, which a reader
 *     notices where it is no longer known which table it was in; and sums may be wrong, which shows
 *     when an edit does not fit, perhaps long after the table was compacted
 */
public record Excuse(Set<String> damaged, boolean anyFile, boolean forged) {
  /** Who notices damage that cannot be attributed to a file. */
  private static final Set<String> FORGED =
      Set.of("io.kvsep.internal.memory.Varint", "io.kvsep.internal.version.SegmentLiveness");

  /**
   * What is wrong with a manifest may show in the files that it does not or should not know of, so
   * any may be named where one of these is damaged.
   */
  public static Excuse of(Set<String> damaged) {
    return new Excuse(
        damaged,
        damaged.stream()
            .map(StoreFiles::kindOf)
            .anyMatch(kind -> kind == StoreFiles.Kind.MANIFEST || kind == StoreFiles.Kind.CURRENT),
        /* forged= */ false);
  }

  /** The same of files with other contents under right checksums. */
  public static Excuse ofForged(Set<String> damaged) {
    return new Excuse(damaged, /* anyFile= */ true, /* forged= */ true);
  }

  /** Does something, or some of it; whether it came to its end. */
  public boolean bears(Runnable work) {
    try {
      work.run();
      return true;
    } catch (CorruptionException | IncompatibleFormatException e) {
      require(e);
      return false;
    } catch (IndexOutOfBoundsException | IllegalStateException e) {
      if (!forged || !FORGED.contains(e.getStackTrace()[0].getClassName())) {
        throw e;
      }
      return false;
    }
  }

  /** Throws what is not excused. */
  public void require(KvException e) {
    String file;
    if (e instanceof CorruptionException corruption) {
      file = corruption.file();
      assertTrue(corruption.offset() >= 0, () -> "offset " + corruption.offset());
      assertTrue(!corruption.expected().isEmpty() && !corruption.found().isEmpty());
    } else if (e instanceof IncompatibleFormatException incompatible) {
      file = incompatible.file();
    } else {
      throw e;
    }
    if (file.isEmpty() || !covers(file)) {
      throw new AssertionError("names " + file + " instead of " + damaged, e);
    }
  }

  /** Whether it may be said of this file that something is wrong with it. */
  public boolean covers(String file) {
    return anyFile || damaged.contains(file);
  }
}
