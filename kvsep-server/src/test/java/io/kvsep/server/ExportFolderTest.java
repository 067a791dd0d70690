package io.kvsep.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * What a file system that is blind to case makes of a name. Those of the machines that run the
 * tests are not, so it is only looked at what follows from the name that such a one tells.
 */
final class ExportFolderTest {
  private static final Path ROOT = Path.of("folder").toAbsolutePath();

  @Test
  void fileIsOneOfAnotherNameWhereAnyPartOfThatDiffers() {
    assertNull(otherName("a/b", "a/b"));
    assertEquals("B", otherName("b", "B"));
    assertEquals(Path.of("A", "b").toString(), otherName("a/b", "A/b"));
    assertEquals(Path.of("a", "B").toString(), otherName("a/b", "a/B"));
  }

  private static @Nullable String otherName(String wanted, String real) {
    return ExportFolder.otherName(ROOT, ROOT.resolve(wanted), ROOT.resolve(real));
  }
}
