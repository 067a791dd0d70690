package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import io.kvsep.Durability;
import io.kvsep.EntryInfo;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.KvView;
import io.kvsep.KvWriter;
import io.kvsep.Snapshot;
import io.kvsep.Transaction;
import io.kvsep.WriteBatch;
import io.kvsep.server.http.ManyEntries.Read;
import io.kvsep.server.json.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** {@code /v1/get}, {@code /v1/batch}, {@code /v1/transaction}, {@code /v1/increment}. */
final class BatchApi {
  /**
   * Most bytes of memory that a transaction takes per byte of its JSON, in addition to the JSON.
   * Worst case is a put of about 35 bytes: its record, key and value, and all again with a node in
   * the transaction's tree.
   */
  private static final int TRANSACTION_WEIGHT = 6;

  /** Most conflicts listed: the text of one takes several times the memory of its check. */
  private static final int CONFLICTS_MAX = 1_000;

  /** Most bytes of all listed conflicts together. The first one is listed whatever its length. */
  private static final int CONFLICTS_BYTES_MAX = 64 << 10;

  private final KvStore store;
  private final KeyspaceCache keyspaces;
  private final Entries entries;
  private final EntityTags tags;
  private final HttpLimits limits;

  BatchApi(
      KvStore store, KeyspaceCache keyspaces, Entries entries, EntityTags tags, HttpLimits limits) {
    this.store = store;
    this.keyspaces = keyspaces;
    this.entries = entries;
    this.tags = tags;
    this.limits = limits;
  }

  private sealed interface Change {
    /** Null for the default keyspace. */
    @Nullable String keyspace();
  }

  private record Put(
      @Nullable String keyspace, byte[] key, byte[] value, @Nullable Duration timeToLive)
      implements Change {}

  private record Delete(@Nullable String keyspace, byte[] key) implements Change {}

  private record DeleteRange(@Nullable String keyspace, byte[] from, byte[] to) implements Change {}

  /** Requires an entry to have the tag, or to be absent if the tag is null. */
  private record Check(@Nullable String keyspace, byte[] key, @Nullable String tag) {}

  /** Reads all from one snapshot across keyspaces. */
  HttpResponse getMany(Exchange exchange) {
    ManyEntries found = new ManyEntries(exchange, tags, "", limits.documentBytesMax());
    try (Snapshot snapshot = store.snapshot()) {
      Document.each(
          exchange,
          document -> {
            Read read = Read.of(document);
            String keyspace = read.keyspace();
            found.add(
                keyspace == null ? snapshot : snapshot.in(keyspaces.existing(keyspace)), read);
          });
    }
    return found.answer();
  }

  /** Applies all writes or none, in order, across keyspaces. */
  HttpResponse batch(Exchange exchange) {
    boolean isSynced = Entries.isSynced(exchange.headers());
    // The batch keeps a copy of the entries, which is never longer than their JSON.
    exchange.reserve(exchange.body().length);
    WriteBatch batch = new WriteBatch();
    int count = Document.each(exchange, document -> add(batch, change(document)));
    if (isSynced) {
      store.write(batch, Durability.sync());
    } else {
      store.write(batch);
    }
    return Answers.json(new JsonObject().put("operations", count));
  }

  /**
   * Applies all writes or none, and only if all checks hold. Its reads do not see its own writes.
   */
  HttpResponse transaction(Exchange exchange) {
    boolean isSynced = Entries.isSynced(exchange.headers());
    exchange.reserve((long) TRANSACTION_WEIGHT * exchange.body().length);
    List<Check> checks = new ArrayList<>();
    List<Read> reads = new ArrayList<>();
    List<Change> changes = new ArrayList<>();
    Document document =
        Document.one(
            exchange,
            Map.of(
                "checks", element -> checks.add(check(element)),
                "reads", element -> reads.add(Read.of(element)),
                "operations", element -> changes.add(change(element))));
    document.allow(Set.of());
    for (Check check : checks) {
      keyspaces.view(check.keyspace());
    }
    for (Read read : reads) {
      keyspaces.view(read.keyspace());
    }
    for (Change change : changes) {
      keyspaces.view(change.keyspace());
    }
    String head = "\"operations\":" + changes.size() + ',';
    ManyEntries found = new ManyEntries(exchange, tags, head, limits.documentBytesMax());
    store.<@Nullable Object>transact(
        transaction -> {
          requireAll(transaction, checks);
          // The transaction may be retried.
          found.clear();
          for (Read read : reads) {
            found.add(reader(transaction, read.keyspace()), read);
          }
          for (Change change : changes) {
            apply(writer(transaction, change.keyspace()), change);
          }
          return null;
        });
    entries.syncIf(isSynced);
    return found.answer();
  }

  HttpResponse increment(Exchange exchange) {
    boolean isSynced = Entries.isSynced(exchange.headers());
    Document document = Document.one(exchange);
    document.allow(Set.of("key", "keyHex", "keyBase64", "keyspace", "delta"));
    byte[] key = document.key();
    Long delta = document.whole("delta");
    KvView view = keyspaces.view(document.text("keyspace"));
    KvWriter writer = view == null ? store : view;
    long value;
    try {
      value = writer.increment(key, delta == null ? 1 : delta);
    } catch (IllegalArgumentException | ArithmeticException e) {
      throw Problem.of(HttpStatus.CONFLICT, "no-counter", String.valueOf(e.getMessage()));
    }
    entries.syncIf(isSynced);
    return Answers.json(new JsonObject().put("value", value));
  }

  private static Change change(Document document) {
    String keyspace = document.text("keyspace");
    String kind = document.requiredText("op");
    switch (kind) {
      case "put" -> {
        document.allow(
            Set.of(
                "op",
                "keyspace",
                "key",
                "keyHex",
                "keyBase64",
                "value",
                "valueHex",
                "valueBase64",
                "ttlMillis"));
        return new Put(keyspace, document.key(), document.bytes("value"), timeToLive(document));
      }
      case "delete" -> {
        document.allow(Set.of("op", "keyspace", "key", "keyHex", "keyBase64"));
        return new Delete(keyspace, document.key());
      }
      case "deleteRange" -> {
        document.allow(
            Set.of("op", "keyspace", "from", "fromHex", "fromBase64", "to", "toHex", "toBase64"));
        return new DeleteRange(keyspace, document.bytes("from"), document.bytes("to"));
      }
      default -> throw document.wrong("op is put, delete or deleteRange");
    }
  }

  private static @Nullable Duration timeToLive(Document document) {
    Long millis = document.whole("ttlMillis");
    if (millis == null) {
      return null;
    }
    if (millis <= 0) {
      throw document.wrong("ttlMillis must be above 0");
    }
    return Duration.ofMillis(millis);
  }

  private static Check check(Document document) {
    document.allow(Set.of("keyspace", "key", "keyHex", "keyBase64", "etag", "absent"));
    String tag = document.text("etag");
    if ((tag != null) == document.flag("absent")) {
      throw document.wrong("one of etag and \"absent\": true is wanted");
    }
    return new Check(document.text("keyspace"), document.key(), tag);
  }

  private void add(WriteBatch batch, Change change) {
    String keyspace = change.keyspace();
    if (keyspace == null) {
      batch.inDefault();
    } else {
      batch.in(keyspaces.existing(keyspace));
    }
    if (change instanceof Put put) {
      Duration timeToLive = put.timeToLive();
      if (timeToLive == null) {
        batch.put(put.key(), put.value());
      } else {
        batch.put(put.key(), put.value(), timeToLive);
      }
    } else if (change instanceof Delete delete) {
      batch.delete(delete.key());
    } else if (change instanceof DeleteRange range) {
      batch.deleteRange(range.from(), range.to());
    }
  }

  private static void apply(KvWriter writer, Change change) {
    if (change instanceof Put put) {
      Duration timeToLive = put.timeToLive();
      if (timeToLive == null) {
        writer.put(put.key(), put.value());
      } else {
        writer.put(put.key(), put.value(), timeToLive);
      }
    } else if (change instanceof Delete delete) {
      writer.delete(delete.key());
    } else if (change instanceof DeleteRange range) {
      writer.deleteRange(range.from(), range.to());
    }
  }

  private void requireAll(Transaction transaction, List<Check> checks) {
    List<JsonObject> conflicts = new ArrayList<>();
    long bytes = 0;
    for (Check check : checks) {
      EntryInfo entry = reader(transaction, check.keyspace()).info(check.key());
      String found = entry == null ? null : tags.of(entry);
      boolean holds = found == null ? check.tag() == null : found.equals(check.tag());
      if (!holds && conflicts.size() < CONFLICTS_MAX && bytes < CONFLICTS_BYTES_MAX) {
        JsonObject conflict = conflict(check, found);
        bytes += conflict.toString().getBytes(UTF_8).length;
        if (conflicts.isEmpty() || bytes < CONFLICTS_BYTES_MAX) {
          conflicts.add(conflict);
        }
      }
    }
    if (!conflicts.isEmpty()) {
      Problem problem =
          Problem.of(HttpStatus.CONFLICT, "conflict", "what was read before has changed");
      problem.more().put("conflicts", conflicts);
      throw problem;
    }
  }

  private static JsonObject conflict(Check check, @Nullable String found) {
    JsonObject conflict = ManyEntries.named(check.keyspace(), check.key());
    return found == null ? conflict.put("absent", true) : conflict.put("etag", found);
  }

  private KvReader reader(Transaction transaction, @Nullable String keyspace) {
    return keyspace == null ? transaction : transaction.in(keyspaces.existing(keyspace));
  }

  private KvWriter writer(Transaction transaction, @Nullable String keyspace) {
    return keyspace == null ? transaction : transaction.in(keyspaces.existing(keyspace));
  }
}
