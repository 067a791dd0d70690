package io.kvsep.bench;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.KvStore;
import io.kvsep.testing.Documents;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.lmdbjava.ByteArrayProxy;
import org.lmdbjava.CursorIterable;
import org.lmdbjava.Dbi;
import org.lmdbjava.DbiFlags;
import org.lmdbjava.Env;
import org.lmdbjava.EnvFlags;
import org.lmdbjava.Txn;

/** The programs of docs/guide/migrate.md, word by word. */
final class MigrationGuideTest {
  private static final byte[] KEY = "user/1".getBytes(UTF_8);
  private static final byte[] VALUE = "Ada".getBytes(UTF_8);

  @TempDir File folder;
  private final KvStore store = KvStore.inMemory();

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void everyProgramIsHere() throws IOException {
    assertEquals(
        List.of(),
        Documents.programsMissing(
            "guide/migrate.md",
            "kvsep-bench/src/test/java/io/kvsep/bench/MigrationGuideTest.java"));
  }

  @Test
  void entriesOfLmdbAreCopied() {
    try (Env<byte[]> env = Env.create(ByteArrayProxy.PROXY_BA).setMapSize(1 << 20).open(folder)) {
      Dbi<byte[]> entries = env.openDbi((byte[]) null, DbiFlags.MDB_CREATE);
      entries.put(KEY, VALUE);
      entries.put("user/2".getBytes(UTF_8), "Grace".getBytes(UTF_8));
    }
    assertEquals(2, ofLmdb(folder));
    assertArrayEquals(VALUE, store.get(KEY));
  }

  private long ofLmdb(File old) {
    try (Env<byte[]> env = Env.create(ByteArrayProxy.PROXY_BA).open(old, EnvFlags.MDB_RDONLY_ENV)) {
      Dbi<byte[]> users = env.openDbi((byte[]) null); // or its name
      try (Txn<byte[]> txn = env.txnRead();
          CursorIterable<byte[]> entries = users.iterate(txn)) {
        Stream<Map.Entry<byte[], byte[]>> copies =
            StreamSupport.stream(entries.spliterator(), false)
                .map(entry -> Map.entry(entry.key(), entry.val()));
        return store.bulkLoad(copies);
      }
    }
  }

  @Test
  void entriesOfMvStoreAreCopied() {
    String file = Path.of(folder.getPath(), "old.mv").toString();
    try (MVStore old = MVStore.open(file)) {
      MVMap<byte[], byte[]> users = old.openMap("users");
      users.put(KEY, VALUE);
      users.put("user/2".getBytes(UTF_8), "Grace".getBytes(UTF_8));
    }
    assertEquals(2, ofMvStore(file));
    assertArrayEquals(VALUE, store.in(store.keyspace("users")).get(KEY));
  }

  private long ofMvStore(String file) {
    try (MVStore old = MVStore.open(file)) {
      MVMap<byte[], byte[]> users = old.openMap("users"); // with the builder that made it, if any
      return store.in(store.keyspace("users")).bulkLoad(users.entrySet().iterator());
    }
  }
}
