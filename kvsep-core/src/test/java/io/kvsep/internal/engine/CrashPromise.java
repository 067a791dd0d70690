package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * What a crash at one moment may leave, as the one who was told of the commits knows it.
 *
 * @param nowMillis the time of the crash
 * @param contents in the order of the commits: what the last synced one left, and all later ones
 * @param names the keyspaces there may be, as printed
 */
public record CrashPromise(long nowMillis, List<StoreContent> contents, Set<String> names) {
  public CrashPromise {
    contents = List.copyOf(contents);
    names = new LinkedHashSet<>(names);
  }

  /** What a store was found to hold when it was opened. */
  public record Found(StoreContent content, String names, String namelessContent) {
    public static Found in(StorageEngine engine) {
      StoreContent content = StoreContent.of(engine);
      List<String> names = engine.keyspaces().names();
      Set<Integer> named = new LinkedHashSet<>();
      StringBuilder text = new StringBuilder();
      for (String name : names) {
        int id = engine.keyspaces().open(name);
        named.add(id);
        text.append(named(name, id));
      }
      StringBuilder nameless = new StringBuilder();
      for (int id = 1; id < StoreContent.IDS; id++) {
        if (!named.contains(id)) {
          content.lines(id, Long.MIN_VALUE).forEach(nameless::append);
        }
      }
      return new Found(content, text.toString(), nameless.toString());
    }
  }

  static String named(String name, int id) {
    return name + "#" + id + " ";
  }

  /** Throws when the promise does not allow this. */
  void check(Found found) {
    String text = found.content().text(nowMillis);
    boolean allowed = contents.stream().anyMatch(content -> content.text(nowMillis).equals(text));
    if (!allowed) {
      StringBuilder all = new StringBuilder();
      contents.forEach(content -> all.append('{').append(content.text(nowMillis)).append('}'));
      fail("found {" + text + "}, which is none of " + all);
    }
    assertTrue(
        names.contains(found.names()), () -> "keyspaces " + found.names() + " instead of " + names);
    assertTrue(
        found.namelessContent().isEmpty(),
        () -> "entries of a keyspace without a name: " + found.namelessContent());
  }
}
