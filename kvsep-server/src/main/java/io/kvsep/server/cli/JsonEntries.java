package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import io.kvsep.ExpiringEntry;
import java.io.ByteArrayOutputStream;
import java.io.CharConversionException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.TypeConversionException;

/**
 * One JSON object per line. It has a {@code key} (text) or {@code keyHex}, and a {@code value}
 * (text) or {@code valueBase64}. With {@code valueLength}, as {@code scan --json} writes it, {@code
 * value} is base64 of that length. {@code expiresAtMillis} and {@code keyspace} are optional. Empty
 * lines are skipped.
 */
final class JsonEntries implements EntryFile {
  /** Enough for base64 of the longest value, or a key. */
  private static final int STRING_MAX = Integer.MAX_VALUE - 8;

  private final InputStream input;
  private final JsonFactory json =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder().maxStringLength(STRING_MAX).build())
          .build();
  private final ByteArrayOutputStream line = new ByteArrayOutputStream();
  private long number;
  private @Nullable String keyspace;

  /** Members of one line. */
  private static final class Fields {
    private @Nullable String keyspace;
    private @Nullable String key;
    private @Nullable String keyHex;
    private @Nullable String value;
    private @Nullable String valueBase64;
    private @Nullable Long valueLength;
    private @Nullable Long expiresAtMillis;
  }

  /**
   * @param input should be buffered; it is read byte by byte
   */
  JsonEntries(InputStream input) {
    this.input = input;
  }

  @Override
  public Map.@Nullable Entry<byte[], byte[]> next() throws BadEntryException, IOException {
    while (nextLine()) {
      byte[] bytes = line.toByteArray();
      if (!new String(bytes, UTF_8).isBlank()) {
        return entry(bytes);
      }
    }
    return null;
  }

  @Override
  public @Nullable String keyspace() {
    return keyspace;
  }

  private boolean nextLine() throws IOException {
    line.reset();
    int next = input.read();
    if (next < 0) {
      return false;
    }
    number++;
    while (next >= 0 && next != '\n') {
      line.write(next);
      next = input.read();
    }
    return true;
  }

  private BadEntryException bad(String why) {
    return new BadEntryException("line " + number, why);
  }

  private Map.Entry<byte[], byte[]> entry(byte[] bytes) throws BadEntryException, IOException {
    Fields fields = new Fields();
    try (JsonParser parser = json.createParser(bytes)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw bad("no JSON object");
      }
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        read(parser, fields);
      }
      if (parser.nextToken() != null) {
        throw bad("something behind the JSON object");
      }
    } catch (JsonParseException | StreamConstraintsException e) {
      throw bad("no JSON: " + e.getOriginalMessage());
    } catch (CharConversionException e) {
      // The parser took the line for UTF-16 or UTF-32 by its first bytes.
      throw bad("no JSON: " + e.getMessage());
    }
    byte[] key = key(fields);
    EntryFile.checkKey("line " + number, key);
    byte[] value = value(fields);
    Long expiry = fields.expiresAtMillis;
    if (expiry != null && expiry <= 0) {
      throw bad("\"expiresAtMillis\" must be positive, and is " + expiry);
    }
    keyspace = fields.keyspace;
    return expiry == null ? Map.entry(key, value) : new ExpiringEntry(key, value, expiry);
  }

  private void read(JsonParser parser, Fields fields) throws BadEntryException, IOException {
    String name = parser.currentName();
    parser.nextToken();
    switch (name) {
      case "keyspace" -> fields.keyspace = keyspace(text(parser, name));
      case "key" -> fields.key = text(parser, name);
      case "keyHex" -> fields.keyHex = text(parser, name);
      case "value" -> fields.value = text(parser, name);
      case "valueBase64" -> fields.valueBase64 = text(parser, name);
      case "valueLength" -> fields.valueLength = whole(parser, name);
      case "expiresAtMillis" -> fields.expiresAtMillis = whole(parser, name);
      default -> throw bad("nothing is known of \"" + name + "\"");
    }
  }

  private String keyspace(String name) throws BadEntryException {
    try {
      return new KeyspaceOption.Name().convert(name);
    } catch (TypeConversionException e) {
      throw bad(String.valueOf(e.getMessage()));
    }
  }

  private String text(JsonParser parser, String name) throws BadEntryException, IOException {
    if (parser.currentToken() != JsonToken.VALUE_STRING) {
      throw bad("\"" + name + "\" is no text");
    }
    return parser.getText();
  }

  private long whole(JsonParser parser, String name) throws BadEntryException, IOException {
    if (parser.currentToken() != JsonToken.VALUE_NUMBER_INT
        || parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
      throw bad("\"" + name + "\" is no whole number");
    }
    return parser.getLongValue();
  }

  private byte[] key(Fields fields) throws BadEntryException {
    String hex = fields.keyHex;
    if (hex != null) {
      try {
        return HexFormat.of().parseHex(hex);
      } catch (IllegalArgumentException e) {
        throw bad("\"keyHex\" is not an even number of hexadecimal digits");
      }
    }
    String text = fields.key;
    if (text == null) {
      throw bad("no \"key\"");
    }
    return bytes("key", text);
  }

  private byte[] value(Fields fields) throws BadEntryException {
    String text = fields.value;
    String base64 = fields.valueBase64;
    Long length = fields.valueLength;
    if ((text == null) == (base64 == null)) {
      throw bad("one of \"value\" and \"valueBase64\" is wanted");
    }
    if (text != null && length == null) {
      return bytes("value", text);
    }
    byte[] value;
    try {
      value = Base64.getDecoder().decode(text != null ? text : base64);
    } catch (IllegalArgumentException e) {
      throw bad("the value is no base64");
    }
    if (length != null && length != value.length) {
      throw bad("the value has " + value.length + " bytes, \"valueLength\" says " + length);
    }
    return value;
  }

  private byte[] bytes(String name, String text) throws BadEntryException {
    if (!UTF_8.newEncoder().canEncode(text)) {
      throw bad("\"" + name + "\" is no text: half of a surrogate pair");
    }
    return text.getBytes(UTF_8);
  }
}
