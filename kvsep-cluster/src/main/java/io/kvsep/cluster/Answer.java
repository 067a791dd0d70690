package io.kvsep.cluster;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * What became of a request.
 *
 * <pre>
 * answers: count i32, of each: status u8, number i64, length i32, text in UTF-8
 * </pre>
 *
 * @param number the new value of the counter after the last increment
 * @param text of the keyspace that is missing, or what was wrong
 */
record Answer(Status status, long number, String text) {
  enum Status {
    /** Applied. */
    OK,
    /** A condition did not hold; nothing was written. */
    CONFLICT,
    /** A keyspace does not exist; nothing was written. */
    NO_KEYSPACE,
    /** A counter does not have 8 bytes; nothing was written. */
    NO_COUNTER,
    /** A counter would overflow; nothing was written. */
    OVERFLOW,
    /** Decided before the node started; what it was is no longer known. */
    UNKNOWN
  }

  static final Answer OK = new Answer(Status.OK, 0, "");

  private static final int BYTES_MIN = 1 + Long.BYTES + Integer.BYTES;

  static Answer of(Status status, String text) {
    return new Answer(status, 0, text);
  }

  static byte[] encode(List<Answer> answers) {
    List<byte[]> texts = new ArrayList<>();
    int length = Integer.BYTES;
    for (Answer answer : answers) {
      byte[] text = answer.text.getBytes(StandardCharsets.UTF_8);
      texts.add(text);
      length += BYTES_MIN + text.length;
    }
    ByteBuffer out = ByteBuffer.allocate(length).putInt(answers.size());
    for (int i = 0; i < answers.size(); i++) {
      Answer answer = answers.get(i);
      byte[] text = texts.get(i);
      out.put((byte) answer.status.ordinal()).putLong(answer.number).putInt(text.length).put(text);
    }
    return out.array();
  }

  /**
   * @throws MalformedEntryException if the bytes are not answers
   */
  static List<Answer> decode(byte[] bytes) throws MalformedEntryException {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    List<Answer> answers = new ArrayList<>();
    int count = in.remaining() < Integer.BYTES ? -1 : in.getInt();
    if (count < 0 || count > in.remaining() / BYTES_MIN) {
      throw new MalformedEntryException("count of answers: " + count);
    }
    for (int i = 0; i < count; i++) {
      if (in.remaining() < BYTES_MIN) {
        throw new MalformedEntryException("bytes left: " + in.remaining());
      }
      int status = in.get() & 0xff;
      long number = in.getLong();
      int length = in.getInt();
      if (status >= Status.values().length || length < 0 || length > in.remaining()) {
        throw new MalformedEntryException("status " + status + ", length " + length);
      }
      byte[] text = new byte[length];
      in.get(text);
      answers.add(
          new Answer(Status.values()[status], number, new String(text, StandardCharsets.UTF_8)));
    }
    return answers;
  }
}
