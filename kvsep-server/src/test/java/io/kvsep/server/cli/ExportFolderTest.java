package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What becomes of files that cannot be written to their end, or appear meanwhile; and what a file
 * system that is blind to case makes of a name. Those of the machines that run the tests are not,
 * so it is only looked at what follows from the name that such a one tells.
 */
final class ExportFolderTest {
  private static final Path ROOT = Path.of("folder").toAbsolutePath();

  @TempDir Path directory;
  private Path target = Path.of("");
  private Path store = Path.of("");

  @BeforeEach
  void nameFolders() throws IOException {
    Path real = directory.toRealPath();
    store = Files.createDirectory(real.resolve("store"));
    target = real.resolve("target");
  }

  @Test
  void fileIsOneOfAnotherNameWhereAnyPartOfThatDiffers() {
    assertNull(otherName("a/b", "a/b"));
    assertEquals("B", otherName("b", "B"));
    assertEquals(Path.of("A", "b").toString(), otherName("a/b", "A/b"));
    assertEquals(Path.of("a", "B").toString(), otherName("a/b", "a/B"));
  }

  /** An interrupted thread cannot write to a file. */
  @Test
  void whatIsThereStaysWhenTheNewFileCannotBeWritten() throws IOException {
    Path old = Files.writeString(Files.createDirectory(target).resolve("a"), "old");
    for (String key : List.of("a", "b")) {
      try {
        assertThrows(
            IOException.class,
            () ->
                folder(/* mayReplace= */ true)
                    .write(
                        bytes(key),
                        () -> {
                          Thread.currentThread().interrupt();
                          return content();
                        }));
      } finally {
        assertTrue(Thread.interrupted());
      }
    }
    assertEquals("old", Files.readString(old));
    assertEquals(List.of(old), files());
  }

  @Test
  void whatAppearsMeanwhileIsNeitherReplacedNorFollowed() throws IOException {
    Path victim = Files.writeString(directory.resolve("victim"), "untouched");
    Path link = target.resolve("link");
    Path file = target.resolve("file");
    for (boolean mayReplace : new boolean[] {false, true}) {
      ExportFolder folder = folder(mayReplace);
      String refusal = folder.write(bytes("link"), () -> appears(link, victim));
      assertEquals(link + ": exists already", refusal);
      refusal = folder.write(bytes("file"), () -> appears(file, null));
      assertEquals(file + ": exists already", refusal);
      assertEquals("untouched", Files.readString(victim));
      assertEquals("other", Files.readString(file));
      assertEquals(List.of(file, link), files());
      Files.delete(file);
      Files.delete(link);
    }
  }

  private ExportFolder folder(boolean mayReplace) throws IOException {
    return new ExportFolder(target, store, mayReplace);
  }

  private static ByteBuffer content() {
    return ByteBuffer.wrap(bytes("new"));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private static ByteBuffer appears(Path path, @Nullable Path asLinkTo) {
    try {
      if (asLinkTo == null) {
        Files.writeString(path, "other");
      } else {
        Files.createSymbolicLink(path, asLinkTo);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return content();
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(target)) {
      return files.sorted().toList();
    }
  }

  private static @Nullable String otherName(String wanted, String real) {
    return ExportFolder.otherName(ROOT, ROOT.resolve(wanted), ROOT.resolve(real));
  }
}
