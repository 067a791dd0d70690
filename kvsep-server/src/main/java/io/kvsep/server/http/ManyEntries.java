package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import io.kvsep.EntryInfo;
import io.kvsep.KvReader;
import io.kvsep.server.json.ByteText;
import io.kvsep.server.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The answer with the entries of many keys, made as these come. Its bytes count as those of the
 * body do. Belongs to one request.
 */
final class ManyEntries {
  private static final byte[] VALUE = ",\"valueBase64\":\"".getBytes(UTF_8);
  private static final byte[] END = "\"}".getBytes(UTF_8);
  private static final byte[] TAIL = "]}".getBytes(UTF_8);

  /** What stands around the members of an entry and its value, at most. */
  private static final int MORE_BYTES = 32;

  /** While the text grows it is there twice; of an entry and of the whole there is a copy more. */
  private static final int WEIGHT = 4;

  private final Exchange exchange;
  private final EntityTags tags;
  private final byte[] head;
  private final int bytesMax;
  private final ByteArrayOutputStream text = new ByteArrayOutputStream();

  /** For how many bytes of the text there is room. */
  private int reserved;

  /**
   * One key that is asked for.
   *
   * @param keyspace null for the store's own
   */
  record Read(@Nullable String keyspace, byte[] key) {
    static Read of(Document document) {
      document.allow(Set.of("keyspace", "key", "keyHex", "keyBase64"));
      return new Read(document.text("keyspace"), document.key());
    }
  }

  /** An entry, and its value in base64 unless that is too long. */
  private record Found(EntryInfo info, byte @Nullable [] encoded) {
    static Found of(EntryInfo info, @Nullable ByteBuffer value) {
      // The encoder makes an array of just that length.
      return new Found(info, value == null ? null : Base64.getEncoder().encode(value).array());
    }
  }

  /**
   * @param head members of the answer in front of the entries, each with a comma behind it
   * @param bytesMax of the answer
   */
  ManyEntries(Exchange exchange, EntityTags tags, String head, int bytesMax) {
    this.exchange = exchange;
    this.tags = tags;
    this.head = ('{' + head + "\"entries\":[").getBytes(UTF_8);
    this.bytesMax = bytesMax;
    clear();
  }

  /** Forgets what was found. */
  void clear() {
    text.reset();
    text.writeBytes(head);
  }

  /** Throws a {@link Problem} when there is no room for the entry. */
  void add(KvReader reader, Read read) {
    if (exchange.context().isCancelled()) {
      throw Problem.of(HttpStatus.SERVICE_UNAVAILABLE, "timeout", "the request took too long");
    }
    int valueBytesMax = (bytesMax - text.size()) / 4 * 3;
    Found found = reader.readWithInfo(read.key(), valueBytesMax, Found::of);
    JsonObject entry = named(read.keyspace(), read.key());
    if (found == null) {
      append(entry.put("absent", true), null);
      return;
    }
    byte[] encoded = found.encoded();
    if (encoded == null) {
      throw tooLong();
    }
    EntryInfo info = found.info();
    entry.put("etag", tags.of(info));
    info.expiresAtMillis().ifPresent(millis -> entry.put("expiresAtMillis", millis));
    append(entry, encoded);
  }

  private void append(JsonObject entry, byte @Nullable [] encoded) {
    byte[] members = entry.toString().getBytes(UTF_8);
    long length = (long) text.size() + members.length + MORE_BYTES;
    length += encoded == null ? 0 : encoded.length;
    if (length > bytesMax) {
      throw tooLong();
    }
    if (length > reserved) {
      exchange.reserve(WEIGHT * (length - reserved));
      reserved = (int) length;
    }
    if (text.size() > head.length) {
      text.write(',');
    }
    if (encoded == null) {
      text.writeBytes(members);
    } else {
      text.write(members, 0, members.length - 1);
      text.writeBytes(VALUE);
      text.writeBytes(encoded);
      text.writeBytes(END);
    }
  }

  /** What was found, in the order it was asked for. */
  HttpResponse answer() {
    text.writeBytes(TAIL);
    return Answers.json(text.toByteArray());
  }

  private Problem tooLong() {
    return Problem.tooLarge(
        "the entries come to more than " + bytesMax + " bytes of JSON; ask for fewer at once");
  }

  /** Keyspace and key, as requests have them. */
  static JsonObject named(@Nullable String keyspace, byte[] key) {
    JsonObject named = new JsonObject();
    if (keyspace != null) {
      named.put("keyspace", keyspace);
    }
    String text = ByteText.text(key);
    return text != null
        ? named.put("key", text)
        : named.put("keyBase64", Base64.getEncoder().encodeToString(key));
  }
}
