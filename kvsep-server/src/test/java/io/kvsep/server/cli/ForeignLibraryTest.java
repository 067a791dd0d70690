package io.kvsep.server.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ForeignLibraryTest {
  @TempDir Path folder;
  private final List<String> closed = new ArrayList<>();

  @Test
  void allResourcesAreClosedAlthoughSomeFail() throws IOException {
    IOException first = new IOException("iterator");
    IllegalStateException second = new IllegalStateException("database");
    ForeignLibrary library = new ForeignLibrary("LevelDB", List.of());
    WorkDirectory copy = library.opened(WorkDirectory.temporaryIn(folder, "copy"));
    Files.createFile(copy.path().resolve("file"));
    library.opened(
        (Closeable)
            () -> {
              closed.add("database");
              throw second;
            });
    library.opened(
        (Closeable)
            () -> {
              closed.add("iterator");
              throw first;
            });
    IOException thrown = assertThrows(IOException.class, library::close);
    assertSame(first, thrown);
    assertEquals(List.of(second), List.of(thrown.getSuppressed()));
    assertEquals(List.of("iterator", "database"), closed);
    try (Stream<Path> left = Files.list(folder)) {
      assertEquals(List.of(), left.toList());
    }
    library.close();
  }

  @Test
  void aFailureOfTheEngineHasItsName() throws IOException {
    ForeignLibrary library = new ForeignLibrary("LevelDB", List.of());
    library.opened(
        (Closeable)
            () -> {
              throw new IllegalStateException("no");
            });
    assertEquals("LevelDB: no", assertThrows(IOException.class, library::close).getMessage());
  }
}
