package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.Change;
import io.kvsep.ChangeFeed;
import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.Snapshot;
import io.kvsep.error.ChangesLostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * A map in memory of what the store's own keyspace holds, decoded, which follows the changes of the
 * store whichever part of the program writes them. The same serves a search index or a replica.
 * Entries with a time to live would also need {@link Change#expiresAtMillis}.
 */
public final class FeedCache implements AutoCloseable {
  private final KvStore store;
  private volatile NavigableMap<byte[], String> entries = empty();
  private ChangeFeed feed;

  public FeedCache(KvStore store) {
    this.store = store;
    this.feed = copy();
  }

  /** For any thread. */
  public Optional<String> get(String key) {
    return Optional.ofNullable(entries.get(key.getBytes(UTF_8)));
  }

  /**
   * Applies the changes that are durable, and waits up to {@code atMost} for the first one. For the
   * one thread that keeps the cache up to date.
   */
  public void follow(Duration atMost) {
    try {
      for (Change change = feed.poll(atMost); change != null; change = feed.poll()) {
        apply(change);
      }
    } catch (ChangesLostException e) {
      // Too far behind, or a bulk load: start again from a copy.
      feed.close();
      feed = copy();
    }
  }

  /** Replaces the content by that of the store; returns what is committed from then on. */
  private ChangeFeed copy() {
    NavigableMap<byte[], String> copied = empty();
    // The snapshot ends with the copy: it keeps old versions, and the feed does not need it.
    try (Snapshot now = store.snapshot()) {
      ChangeFeed later = store.changes(now.sequence());
      now.forEach(ScanOptions.all(), (key, value) -> copied.put(key, new String(value, UTF_8)));
      entries = copied;
      return later;
    }
  }

  private void apply(Change change) {
    if (change.keyspaceId() != 0) {
      return;
    }
    switch (change.kind()) {
      case PUT -> entries.put(change.key(), new String(change.value(), UTF_8));
      case DELETE -> entries.remove(change.key());
      case DELETE_RANGE -> {
        byte[] to = change.toKey();
        NavigableMap<byte[], String> tail = entries.tailMap(change.key(), true);
        (to == null ? tail : tail.headMap(to, false)).clear();
      }
    }
  }

  /** In the order of the store. */
  private static NavigableMap<byte[], String> empty() {
    return new ConcurrentSkipListMap<>(Arrays::compareUnsigned);
  }

  @Override
  public void close() {
    feed.close();
  }

  public static void main(String[] arguments) {
    Path directory = Path.of(arguments.length > 0 ? arguments[0] : "feed-data");
    // A feed has what is durable: with the default, changes arrive up to a second after the write.
    KvOptions options = KvOptions.builder().durability(Durability.sync()).build();
    try (KvStore store = KvStore.open(directory, options);
        FeedCache cache = new FeedCache(store)) {
      store.put("price/tea".getBytes(UTF_8), "3.50".getBytes(UTF_8));
      System.out.println(cache.get("price/tea").orElse("not known yet"));
      cache.follow(Duration.ofSeconds(10));
      System.out.println(cache.get("price/tea").orElse("not known yet"));
      store.delete("price/tea".getBytes(UTF_8));
      cache.follow(Duration.ofSeconds(10));
      System.out.println(cache.get("price/tea").orElse("not sold"));
    }
  }
}
