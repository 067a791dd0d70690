package io.kvsep;

import java.util.List;

/**
 * What a call of {@link KvStore#verify} found. Immutable.
 *
 * @param files files that were read: CURRENT, the manifest, tables and value-log files
 * @param bytes bytes of tables and value-log files that were read
 * @param entries table entries that were checked, including every version and tombstone
 * @param records value-log records that were checked, live or not
 * @param problemCount number of problems; 0 in a sound store
 * @param problems the problems in the order they were found, at most 1,000
 * @param unknownFiles names of files in the directory that are not part of the store, or not yet
 *     because they are being written; harmless
 * @param seconds duration
 */
public record VerifyReport(
    long files,
    long bytes,
    long entries,
    long records,
    long problemCount,
    List<Problem> problems,
    List<String> unknownFiles,
    double seconds) {

  /**
   * A failed check.
   *
   * @param file name of the file in the store's directory
   * @param offset byte offset of the invalid structure in the file
   * @param expected what a sound file holds there
   * @param found what was found there
   */
  public record Problem(String file, long offset, String expected, String found) {
    @Override
    public String toString() {
      return file + " at offset " + offset + ": expected " + expected + ", found " + found;
    }
  }

  /** Copies the lists. */
  public VerifyReport {
    problems = List.copyOf(problems);
    unknownFiles = List.copyOf(unknownFiles);
  }

  /** {@return whether no problem was found} */
  public boolean isSound() {
    return problemCount == 0;
  }
}
