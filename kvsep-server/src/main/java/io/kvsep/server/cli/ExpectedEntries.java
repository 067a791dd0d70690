package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.server.json.ByteText;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Entries that a store must hold, by SHA-256 computed outside the store and so independent of its
 * checksums. Any difference is a {@link CommandFailure}.
 */
final class ExpectedEntries {
  private final List<Entry> entries = new ArrayList<>();

  /** Number of entries and bytes of their values. */
  record Tally(long entries, long bytes) {}

  void add(byte[] key, byte[] content) {
    entries.add(new Entry(key, digest(ByteBuffer.wrap(content)), content.length));
  }

  int count() {
    return entries.size();
  }

  /** Bytes of all values that must be present. */
  long bytes() {
    return entries.stream().filter(e -> e.digest != null).mapToLong(e -> e.length).sum();
  }

  /** Reads all entries: expected ones must be unchanged, deleted ones absent. */
  Tally check(KvStore store, ProgressBar bar) {
    long found = 0;
    long bytes = 0;
    for (Entry entry : entries) {
      byte @Nullable [] actual = store.read(entry.key, ExpectedEntries::digest);
      if (!Arrays.equals(entry.digest, actual)) {
        throw CommandFailure.failed(entry.difference(actual));
      }
      if (actual != null) {
        found++;
        bytes += entry.length;
        bar.advance(entry.length);
      }
    }
    return new Tally(found, bytes);
  }

  /** Inverts the bytes of every fourth value and writes it back. */
  Tally overwriteQuarter(KvStore store, ProgressBar bar) {
    BatchedWriter writer = new BatchedWriter(store);
    long count = 0;
    long bytes = 0;
    for (int i = 0; i < entries.size(); i += 4) {
      Entry entry = entries.get(i);
      byte[] content = store.get(entry.key);
      if (content == null) {
        throw CommandFailure.failed(entry.difference(null));
      }
      for (int j = 0; j < content.length; j++) {
        content[j] = (byte) ~content[j];
      }
      writer.put(entry.key, content);
      entry.digest = digest(ByteBuffer.wrap(content));
      count++;
      bytes += content.length;
      bar.advance(content.length);
    }
    writer.flush();
    return new Tally(count, bytes);
  }

  /** Deletes every fourth entry, disjoint from {@link #overwriteQuarter}. */
  Tally deleteQuarter(KvStore store) {
    BatchedWriter writer = new BatchedWriter(store);
    long count = 0;
    for (int i = 1; i < entries.size(); i += 4) {
      writer.delete(entries.get(i).key);
      entries.get(i).digest = null;
      count++;
    }
    writer.flush();
    return new Tally(count, 0);
  }

  /** Scans the keys with {@code prefix}; they must be complete and in order. */
  Tally scan(KvStore store, String prefix) {
    long expected =
        entries.stream().filter(e -> e.digest != null && e.text().startsWith(prefix)).count();
    long count = 0;
    long bytes = 0;
    byte[] last = new byte[0];
    try (KvCursor cursor = store.cursor(ScanOptions.prefix(prefix.getBytes(UTF_8)))) {
      while (cursor.next()) {
        byte[] key = cursor.key();
        if (Arrays.compareUnsigned(last, key) >= 0) {
          throw CommandFailure.failed("the cursor is out of order at " + ByteText.show(key));
        }
        last = key;
        count++;
        bytes += cursor.valueView().remaining();
      }
    }
    if (count != expected) {
      throw CommandFailure.failed(
          "the cursor found " + count + " entries below " + prefix + " instead of " + expected);
    }
    return new Tally(count, bytes);
  }

  /**
   * Returns the prefix with most remaining entries: a folder right below {@code start}, or {@code
   * start}.
   */
  String fullestPrefix(String start) {
    Map<String, Integer> counts = new TreeMap<>();
    for (Entry entry : entries) {
      if (entry.digest != null) {
        int slash = entry.text().indexOf('/', start.length());
        counts.merge(slash < 0 ? start : entry.text().substring(0, slash + 1), 1, Integer::sum);
      }
    }
    return counts.entrySet().stream()
        .max(Map.Entry.comparingByValue())
        .map(Map.Entry::getKey)
        .orElse(start);
  }

  private static byte[] digest(ByteBuffer content) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(content);
      return digest.digest();
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }

  /** The digest is null if the key must be absent. */
  private static final class Entry {
    private final byte[] key;
    private final long length;
    private byte @Nullable [] digest;

    Entry(byte[] key, byte[] digest, long length) {
      this.key = key;
      this.digest = digest;
      this.length = length;
    }

    String text() {
      return new String(key, UTF_8);
    }

    String difference(byte @Nullable [] actual) {
      String problem = "has the wrong content (SHA-256)";
      if (actual == null) {
        problem = "is missing";
      } else if (digest == null) {
        problem = "was deleted and is there";
      }
      return "the entry " + ByteText.show(key) + " " + problem;
    }
  }
}
