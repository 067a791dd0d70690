package io.kvsep.testing;

import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * What happened to the files of a store.
 *
 * @param what in words, with file and offset
 * @param files all that are there afterwards, by name
 * @param touched names of those that are not as they were
 * @param forged whether the checksums hold all the same: then no check can tell what is right, but
 *     all have to bear it
 */
public record Damage(String what, Map<String, byte[]> files, Set<String> touched, boolean forged) {
  /** Whether a file is another one now. */
  public boolean changes(Map<String, byte[]> before) {
    return !sameFiles(before, files);
  }

  /** One file other than it was. */
  static Damage of(
      Map<String, byte[]> sound, String what, String file, byte[] bytes, boolean forged) {
    Map<String, byte[]> files = new TreeMap<>(sound);
    files.put(file, bytes);
    return new Damage(what, files, Set.of(file), forged);
  }

  public static boolean sameFiles(Map<String, byte[]> some, Map<String, byte[]> others) {
    return some.keySet().equals(others.keySet())
        && some.entrySet().stream()
            .allMatch(file -> Arrays.equals(file.getValue(), others.get(file.getKey())));
  }
}
