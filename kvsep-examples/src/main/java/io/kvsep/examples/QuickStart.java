package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.WriteBatch;
import java.nio.file.Path;

/** The example of the README: put, get, a batch, a cursor. Takes the directory of the store. */
public final class QuickStart {
  private QuickStart() {}

  public static void main(String[] arguments) {
    Path directory = Path.of(arguments.length > 0 ? arguments[0] : "quick-start-data");
    // README begins
    byte[] ada = "user/1".getBytes(UTF_8);
    byte[] grace = "user/2".getBytes(UTF_8);
    try (KvStore store = KvStore.open(directory)) {
      store.put(ada, "Ada".getBytes(UTF_8));
      byte[] name = store.get(ada); // null if the key is absent
      System.out.println(name == null ? "absent" : new String(name, UTF_8));
      store.write(new WriteBatch().put(grace, "Grace".getBytes(UTF_8)).delete(ada)); // atomic
      try (KvCursor cursor = store.cursor(ScanOptions.prefix("user/".getBytes(UTF_8)))) {
        while (cursor.next()) {
          System.out.println(new String(cursor.value(), UTF_8));
        }
      }
    }
    // README ends
  }
}
