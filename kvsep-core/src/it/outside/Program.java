package outside;

import io.kvsep.Keyspace;
import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.Transaction;
import io.kvsep.WriteBatch;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;

/** A program of another project, which prints what it has read. */
public final class Program {
  private static final int ENTRIES = 3000;

  private Program() {}

  /** Uses the store in the directory that the first argument names. */
  public static void main(String[] arguments) {
    Path directory = Path.of(arguments[0]);
    String told;
    try (KvStore store = KvStore.open(directory)) {
      for (int i = 0; i < ENTRIES; i++) {
        store.put(key(i), new byte[i]);
      }
      Keyspace other = store.keyspace("other");
      store.write(new WriteBatch().delete(key(0)).in(other).put(key(1), key(2)));
      try (Transaction transaction = store.begin()) {
        transaction.put(key(1), transaction.get(key(2)));
        transaction.commit();
      }
      store.compact();
      ByteArrayOutputStream backup = new ByteArrayOutputStream();
      store.backup(backup, 0);
      told = scanned(store) + " entries, backup " + (backup.size() > 4_000_000);
    }
    try (KvStore store = KvStore.open(directory)) {
      byte[] found = store.get(key(1));
      System.out.println(told + ", reopened " + Arrays.equals(found, new byte[2]));
    }
  }

  private static int scanned(KvStore store) {
    int count = 0;
    long bytes = 0;
    try (KvCursor cursor = store.cursor(ScanOptions.all())) {
      while (cursor.next()) {
        count++;
        bytes += cursor.valueView().remaining();
      }
    }
    return bytes == (long) ENTRIES * (ENTRIES - 1) / 2 + 1 ? count : -1;
  }

  private static byte[] key(int number) {
    return String.format("key %05d", number).getBytes(StandardCharsets.UTF_8);
  }
}
