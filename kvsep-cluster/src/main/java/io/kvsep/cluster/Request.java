package io.kvsep.cluster;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A request as it stands in the log, decoded and checked: applying one that passed the checks does
 * not fail for what it contains. Numbers are big-endian.
 *
 * <pre>
 * request:   kind u8
 *   CREATE, DROP: names
 *   WRITE:        names, conditionCount i32, conditions, writeCount i32, writes
 * names:     count i32, of each: length u8, UTF-8
 * condition: kind u8, keyspace i32 (0 the store's own, else 1 + position in names)
 *   ABSENT:       key
 *   VALUE, ENTRY: key, hash of 16 bytes
 *   RANGE:        from, to (length -1: open), count i32, hash of 16 bytes
 * write:     kind u8, keyspace i32, key, value
 *   PUT_FOR:      then milliseconds i64, from the time of the entry
 *   PUT_UNTIL:    then milliseconds i64, since 1970
 *   INCREMENT:    then delta i64; the value is empty; the only write
 *   DELETE_RANGE: the key is the first of the range, the value the end
 * key, value, from, to: length i32, bytes
 * </pre>
 */
final class Request {
  static final int WRITE = 1;
  static final int CREATE = 2;
  static final int DROP = 3;

  static final int ABSENT = 1;
  static final int VALUE = 2;
  static final int ENTRY = 3;
  static final int RANGE = 4;

  static final int PUT = 1;
  static final int PUT_FOR = 2;
  static final int PUT_UNTIL = 3;
  static final int DELETE = 4;
  static final int DELETE_RANGE = 5;
  static final int INCREMENT = 6;

  private static final int KEY_BYTES_MAX = 65_535;

  /**
   * @param keyspace null for the store's own
   * @param key the start of a range
   * @param end of a range
   * @param count entries of a range
   */
  record Condition(
      int kind,
      @Nullable String keyspace,
      byte @Nullable [] key,
      byte @Nullable [] end,
      int count,
      byte[] hash) {}

  /**
   * @param keyspace null for the store's own
   * @param value the end of a deleted range
   * @param number time to live, expiry or delta
   */
  record Write(int kind, @Nullable String keyspace, byte[] key, byte[] value, long number) {}

  final int kind;

  /** To create, to drop, or used. */
  final List<String> names;

  final List<Condition> conditions = new ArrayList<>();
  final List<Write> writes = new ArrayList<>();

  private final ByteBuffer in;

  /**
   * @throws MalformedEntryException if the bytes are not a request
   */
  Request(ByteBuffer bytes) throws MalformedEntryException {
    in = bytes;
    kind = unsignedByte();
    require(kind >= WRITE && kind <= DROP, "kind of request", kind);
    names = names();
    if (kind == WRITE) {
      int conditionCount = count(1 + 4 + 4);
      for (int i = 0; i < conditionCount; i++) {
        conditions.add(condition());
      }
      int writeCount = count(1 + 4 + 4 + 4);
      for (int i = 0; i < writeCount; i++) {
        writes.add(write());
        boolean increments = writes.get(i).kind() == INCREMENT;
        require(writeCount == 1 || !increments, "writes beside an increment", writeCount);
      }
    } else {
      require(!names.isEmpty(), "number of names", names.size());
    }
    require(!in.hasRemaining(), "bytes behind a request", in.remaining());
  }

  /** Whether it changes keyspaces, and so stands in an entry of its own. */
  boolean isAlone() {
    return kind != WRITE;
  }

  private List<String> names() throws MalformedEntryException {
    int count = count(1 + 1);
    List<String> names = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      byte[] utf8 = bytes(unsignedByte());
      require(utf8.length > 0, "length of a name", utf8.length);
      try {
        names.add(
            StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .decode(ByteBuffer.wrap(utf8))
                .toString());
      } catch (CharacterCodingException e) {
        throw new MalformedEntryException("a name is not UTF-8");
      }
      require(!names.get(i).equals(GroupStore.SYSTEM), "name of the cluster's keyspace", i);
    }
    require(new HashSet<>(names).size() == names.size(), "names that repeat among", names.size());
    return List.copyOf(names);
  }

  private Condition condition() throws MalformedEntryException {
    int condition = unsignedByte();
    require(condition >= ABSENT && condition <= RANGE, "kind of condition", condition);
    String keyspace = keyspace();
    if (condition == RANGE) {
      byte[] from = bound();
      byte[] to = bound();
      int count = number();
      require(count >= 0, "count of a range", count);
      return new Condition(condition, keyspace, from, to, count, bytes(ContentHash.BYTES));
    }
    byte[] key = key();
    byte[] hash = condition == ABSENT ? new byte[0] : bytes(ContentHash.BYTES);
    return new Condition(condition, keyspace, key, null, 0, hash);
  }

  private Write write() throws MalformedEntryException {
    int write = unsignedByte();
    require(write >= PUT && write <= INCREMENT, "kind of write", write);
    String keyspace = keyspace();
    byte[] key;
    if (write == DELETE_RANGE) {
      key = bytes(number());
      require(key.length <= KEY_BYTES_MAX, "length of a bound", key.length);
    } else {
      key = key();
    }
    byte[] value = bytes(number());
    if (write == DELETE_RANGE) {
      require(value.length <= KEY_BYTES_MAX, "length of a bound", value.length);
    } else if (write == DELETE || write == INCREMENT) {
      require(value.length == 0, "length of no value", value.length);
    }
    long argument = 0;
    if (write == PUT_FOR || write == PUT_UNTIL || write == INCREMENT) {
      require(in.remaining() >= Long.BYTES, "bytes left", in.remaining());
      argument = in.getLong();
      require(write == INCREMENT || argument > 0, "time", argument);
    }
    return new Write(write, keyspace, key, value, argument);
  }

  private @Nullable String keyspace() throws MalformedEntryException {
    int index = number();
    require(index >= 0 && index <= names.size(), "keyspace", index);
    return index == 0 ? null : names.get(index - 1);
  }

  private byte[] key() throws MalformedEntryException {
    byte[] key = bytes(number());
    require(key.length >= 1 && key.length <= KEY_BYTES_MAX, "length of a key", key.length);
    return key;
  }

  private byte @Nullable [] bound() throws MalformedEntryException {
    int length = number();
    if (length == -1) {
      return null;
    }
    byte[] bound = bytes(length);
    require(bound.length <= KEY_BYTES_MAX, "length of a bound", bound.length);
    return bound;
  }

  /** A number of things that take at least {@code bytesMin} each. */
  private int count(int bytesMin) throws MalformedEntryException {
    int count = number();
    require(count >= 0 && count <= in.remaining() / bytesMin, "count", count);
    return count;
  }

  private byte[] bytes(int length) throws MalformedEntryException {
    require(length >= 0 && length <= in.remaining(), "length", length);
    byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }

  private int unsignedByte() throws MalformedEntryException {
    require(in.hasRemaining(), "bytes left", in.remaining());
    return in.get() & 0xff;
  }

  private int number() throws MalformedEntryException {
    require(in.remaining() >= Integer.BYTES, "bytes left", in.remaining());
    return in.getInt();
  }

  private static void require(boolean holds, String what, long found)
      throws MalformedEntryException {
    if (!holds) {
      throw new MalformedEntryException(what + ": " + found);
    }
  }
}
