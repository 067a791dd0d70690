package io.kvsep;

import java.util.List;

/**
 * What a call of {@link KvStore#verify} found. Immutable.
 *
 * @param files files that were read: CURRENT and the manifest, tables, and files of the value log
 * @param bytes bytes of tables and of files of the value log that were read
 * @param entries entries of tables that were checked, every version and tombstone counted
 * @param records records of the value log that were checked, in use or not
 * @param problemCount how many problems there are; 0 in a sound store
 * @param problems the problems in the order they were found; of very many the first 1,000
 * @param unknownFiles names of files in the directory that are no part of the store, or not yet,
 *     because they are just being written; they harm nothing
 * @param seconds how long it took
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
   * Something that does not hold.
   *
   * @param file name of the file inside the store's directory
   * @param offset bytes from the start of the file to the structure that does not hold
   * @param expected what a sound file holds there
   * @param found what is there
   */
  public record Problem(String file, long offset, String expected, String found) {
    @Override
    public String toString() {
      return file + " at offset " + offset + ": expected " + expected + ", found " + found;
    }
  }

  public VerifyReport {
    problems = List.copyOf(problems);
    unknownFiles = List.copyOf(unknownFiles);
  }

  /** Whether there is no problem. */
  public boolean isSound() {
    return problemCount == 0;
  }
}
