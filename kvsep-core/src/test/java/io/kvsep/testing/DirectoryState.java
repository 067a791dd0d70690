package io.kvsep.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * All of a directory that can be seen from outside, to be compared: names, contents, and when they
 * were changed last, the directory itself included.
 */
public record DirectoryState(FileTime changed, SortedMap<String, Entry> files) {
  /** One file; of equal length and hash is equal. */
  public record Entry(FileTime changed, long length, int hash) {}

  public static DirectoryState of(Path directory) throws IOException {
    SortedMap<String, Entry> files = new TreeMap<>();
    try (Stream<Path> entries = Files.list(directory)) {
      for (Path file : entries.toList()) {
        byte[] bytes = Files.readAllBytes(file);
        files.put(
            String.valueOf(file.getFileName()),
            new Entry(Files.getLastModifiedTime(file), bytes.length, Arrays.hashCode(bytes)));
      }
    }
    return new DirectoryState(Files.getLastModifiedTime(directory), files);
  }
}
