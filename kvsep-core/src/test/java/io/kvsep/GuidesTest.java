package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.Documents;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The programs of the guides, word by word. Those that name no folder of their own run. Guides of
 * adapters, and of moving from other engines, have such a test where their libraries are.
 */
final class GuidesTest {
  private static final String SOURCE = "kvsep-core/src/test/java/io/kvsep/GuidesTest.java";

  private static final List<String> PAGES =
      List.of(
          "backup",
          "bulk-load",
          "change-feed",
          "configuration",
          "keyspaces",
          "many-stores",
          "reads-and-writes",
          "transactions");

  private final KvStore store =
      KvStore.inMemory(KvOptions.builder().durability(Durability.sync()).build());

  @AfterEach
  void close() {
    store.close();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private static byte[] bytes(long number) {
    return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
  }

  private static long number(byte @Nullable [] bytes) {
    return bytes == null ? 0 : ByteBuffer.wrap(bytes).getLong();
  }

  @Test
  void everyProgramIsHere() throws IOException {
    for (String page : PAGES) {
      assertEquals(List.of(), Documents.programsMissing("guide/" + page + ".md", SOURCE), page);
    }
  }

  @Test
  void everyOptionIsDocumented() throws IOException {
    TreeSet<String> documented = new TreeSet<>();
    Documents.rows("guide/configuration.md", "option").forEach(row -> documented.add(row.get(0)));
    TreeSet<String> options = new TreeSet<>();
    Arrays.stream(KvOptions.Builder.class.getDeclaredMethods())
        .filter(method -> method.getReturnType() == KvOptions.Builder.class)
        .map(Method::getName)
        .forEach(options::add);
    assertEquals(options, documented);
  }

  @Test
  void optionsOfTheGuideOpenAStore(@TempDir Path directory) {
    configured(directory, bytes("key"), bytes("value"));
    try (KvStore again = KvStore.open(directory)) {
      assertArrayEquals(bytes("value"), again.get(bytes("key")));
    }
  }

  private static void configured(Path directory, byte[] key, byte[] value) {
    KvOptions options =
        KvOptions.builder()
            .durability(Durability.async(Duration.ofMillis(200)))
            .memoryBudgetBytes(128 << 20)
            .inlineValueBytesMax(1024)
            .spaceAmplificationMax(2)
            .build();
    try (KvStore store = KvStore.open(directory, options)) {
      store.put(key, value);
    }
  }

  @Test
  void aBatchSpansKeyspaces() {
    assertArrayEquals(bytes("Ada"), foundByMail(bytes("1"), bytes("Ada"), bytes("ada@example")));
  }

  private byte @Nullable [] foundByMail(byte[] id, byte[] user, byte[] mail) {
    Keyspace users = store.keyspace("users"); // created if absent
    Keyspace mails = store.keyspace("user-by-mail");
    store.write(new WriteBatch().in(users).put(id, user).in(mails).put(mail, id)); // atomic
    try (Snapshot now = store.snapshot()) {
      byte[] found = now.in(mails).get(mail);
      return found == null ? null : now.in(users).get(found);
    }
  }

  @Test
  void aKeyspaceIsCopied() {
    Keyspace old = store.keyspace("old");
    store.in(old).put(bytes("a"), bytes("1"));
    Keyspace renamed = store.keyspace("new");
    copyAndDrop(old, renamed);
    assertEquals(List.of("new"), store.keyspaces());
    assertArrayEquals(bytes("1"), store.in(renamed).get(bytes("a")));
  }

  private void copyAndDrop(Keyspace old, Keyspace renamed) {
    try (Stream<KvEntry> entries = store.in(old).stream(ScanOptions.all())) {
      store.in(renamed).bulkLoad(entries.map(entry -> Map.entry(entry.key(), entry.value())));
    }
    store.dropKeyspace(old);
  }

  @Test
  void bulkLoadTakesASortedMap() {
    SortedMap<byte[], byte[]> source = new TreeMap<>(Arrays::compareUnsigned);
    source.put(bytes("a"), bytes("1"));
    assertEquals(1, loaded(source));
  }

  private long loaded(SortedMap<byte[], byte[]> source) {
    Iterator<Map.Entry<byte[], byte[]>> entries = source.entrySet().iterator(); // or a Stream
    long count = store.bulkLoad(entries); // or store.in(keyspace).bulkLoad(entries)
    return count;
  }

  @Test
  void pagesFollowEachOther() {
    for (int i = 0; i < 5; i++) {
      store.put(bytes("user/" + i), bytes("Ada"));
    }
    assertEquals(List.of("user/0", "user/1"), page(bytes("user/"), null, 2));
    assertEquals(List.of("user/2", "user/3"), page(bytes("user/"), bytes("user/1"), 2));
    store.delete(bytes("user/3"));
    assertEquals(List.of("user/4"), page(bytes("user/"), bytes("user/3"), 2));
    assertEquals(List.of(), page(bytes("user/"), bytes("user/4"), 2));
  }

  private List<String> page(byte[] prefix, byte @Nullable [] last, int size) {
    List<byte[]> page = new ArrayList<>();
    try (KvCursor cursor = store.cursor(ScanOptions.prefix(prefix))) {
      boolean found = last == null ? cursor.next() : cursor.seek(last);
      if (found && Arrays.equals(cursor.key(), last)) {
        found = cursor.next(); // the page before ended with it, unless it was deleted since
      }
      for (; found && page.size() < size; found = cursor.next()) {
        page.add(cursor.key());
      }
    }
    return page.stream().map(key -> new String(key, UTF_8)).toList();
  }

  @Test
  void aFeedFollowsACopy() {
    assertArrayEquals(bytes("during the copy"), followed());
  }

  private byte @Nullable [] followed() {
    ChangeFeed feed;
    try (Snapshot now = store.snapshot()) { // keeps old versions, so it is closed after the copy
      feed = store.changes(now.sequence());
      copyAll(now);
    }
    try (feed) {
      Change change = feed.poll(Duration.ofSeconds(1)); // null: nothing new yet
      return change == null ? null : change.key();
    }
  }

  private void copyAll(Snapshot now) {
    assertNull(now.first());
    store.put(bytes("during the copy"), bytes("1"));
  }

  @Test
  void backupsRestore(@TempDir Path parent) {
    store.put(bytes("a"), bytes("1"));
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    ByteArrayOutputStream laterOutput = new ByteArrayOutputStream();
    assertTrue(backedUp(output, laterOutput) > 0);
    Path elsewhere = parent.resolve("copy");
    restored(
        elsewhere,
        new ByteArrayInputStream(output.toByteArray()),
        new ByteArrayInputStream(laterOutput.toByteArray()));
    try (KvStore copy = KvStore.open(elsewhere)) {
      assertArrayEquals(bytes("1"), copy.get(bytes("a")));
    }
  }

  private long backedUp(OutputStream output, OutputStream laterOutput) {
    long first = store.backup(output, 0); // everything
    long second = store.backup(laterOutput, first); // what has changed since
    return second;
  }

  private static void restored(Path elsewhere, InputStream input, InputStream laterInput) {
    try (KvStore copy = KvStore.open(elsewhere)) { // never written to
      copy.restore(input);
      copy.restore(laterInput); // exactly where the first one ended
    }
  }

  /** Compiles; the folder is not that of a test. */
  byte @Nullable [] checkpointed(byte[] key) {
    store.checkpoint(Path.of("/backup/monday"));
    KvOptions reading = KvOptions.builder().readOnly(true).build();
    // beside the open store
    try (KvStore monday = KvStore.open(Path.of("/backup/monday"), reading)) {
      return monday.get(key);
    }
  }

  /** As above. */
  static void shared(byte[] key, byte[] value) {
    try (KvResources resources =
        KvResources.builder().memoryBudgetBytes(256 << 20).backgroundThreads(4).build()) {
      KvOptions options = KvOptions.builder().resources(resources).build();
      try (KvStore one = KvStore.open(Path.of("tenants/one"), options);
          KvStore other = KvStore.open(Path.of("tenants/other"), options)) {
        one.put(key, value);
        other.put(key, value);
      }
    }
  }

  @Test
  void aBufferGrows() {
    store.put(bytes("a"), bytes("a value"));
    assertEquals(7, lengthInto(bytes("a"), ByteBuffer.allocateDirect(2)));
  }

  private int lengthInto(byte[] key, ByteBuffer given) {
    ByteBuffer buffer = given;
    int length = store.get(key, buffer);
    if (length > buffer.remaining()) {
      buffer = ByteBuffer.allocateDirect(length); // the result says how much is needed
      length = store.get(key, buffer);
    }
    return length;
  }

  @Test
  void scansAndComputes() {
    store.put(bytes("a/1"), bytes("1"));
    store.put(bytes("a/2"), bytes("2"));
    seen = 0;
    assertTrue(firstMatch(bytes("a/"), bytes("a/2"), bytes("b")).isPresent());
    assertEquals(2, seen);
    assertArrayEquals(bytes("12"), appended(bytes("a/1"), bytes("2")));
  }

  private int seen;

  private Optional<KvEntry> firstMatch(byte[] prefix, byte[] from, byte[] to) {
    store.forEach(ScanOptions.prefix(prefix), (key, value) -> add(key, value));
    try (Stream<KvEntry> entries = store.stream(ScanOptions.range(from, to))) {
      return entries.filter(entry -> matches(entry)).findFirst();
    }
  }

  private void add(byte[] key, byte[] value) {
    seen += key.length > value.length ? 1 : 0;
  }

  private static boolean matches(KvEntry entry) {
    return entry.value().length == 1;
  }

  private byte @Nullable [] appended(byte[] key, byte[] item) {
    byte[] list = store.compute(key, old -> old == null ? one(item) : with(old, item));
    return list;
  }

  private static byte[] one(byte[] item) {
    return item.clone();
  }

  private static byte[] with(byte[] list, byte[] item) {
    return ByteBuffer.allocate(list.length + item.length).put(list).put(item).array();
  }

  @Test
  void moneyMoves() {
    store.put(bytes("from"), bytes(10));
    assertEquals(7, moved(bytes("from"), bytes("to"), 3));
    assertEquals(3, number(Objects.requireNonNull(store.get(bytes("to")))));
  }

  private long moved(byte[] from, byte[] to, long amount) {
    long left =
        store.transact(
            transaction -> {
              long balance = number(transaction.get(from));
              transaction.put(from, bytes(balance - amount));
              transaction.put(to, bytes(number(transaction.get(to)) + amount));
              return balance - amount;
            });
    return left;
  }
}
