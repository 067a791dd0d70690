package io.kvsep.leveldb;

import static io.kvsep.leveldb.KvsepDBFactory.asString;
import static io.kvsep.leveldb.KvsepDBFactory.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.Options;
import org.iq80.leveldb.WriteOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program of docs/guide/leveldb.md. */
final class GuideTest {
  @TempDir Path folder;

  private static void program(File directory) throws IOException {
    try (DB db = KvsepDBFactory.factory.open(directory, new Options().createIfMissing(true))) {
      db.put(bytes("user/1"), bytes("Ada"), new WriteOptions().sync(true));
      db.write(db.createWriteBatch().put(bytes("user/2"), bytes("Grace")).delete(bytes("user/1")));
      try (DBIterator iterator = db.iterator()) {
        for (iterator.seek(bytes("user/")); iterator.hasNext(); iterator.next()) {
          System.out.println(asString(iterator.peekNext().getValue()));
        }
      }
    }
  }

  @Test
  void theProgramPrintsWhatIsThere() throws IOException {
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try {
      program(folder.toFile());
    } finally {
      System.setOut(before);
    }
    assertEquals("Grace", printed.toString(StandardCharsets.UTF_8).strip());
  }

  @Test
  void theGuideHasThisProgram() throws IOException {
    String guide = Files.readString(Path.of("../../docs/guide/leveldb.md"));
    String source = Files.readString(Path.of("src/test/java/io/kvsep/leveldb/GuideTest.java"));
    List<String> lines = guide.split("```java\n", 2)[1].split("```", 2)[0].lines().toList();
    assertEquals(10, lines.size());
    for (String line : lines.subList(1, lines.size())) {
      assertTrue(source.contains("\n    " + line + "\n"), line);
    }
  }
}
