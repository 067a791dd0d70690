package io.kvsep.cluster;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * An entry of the log: requests of one or many callers, and the time of the leader that appended
 * it. Numbers are big-endian.
 *
 * <pre>
 * entry: version u8 = 1, timeMillis i64, crc32c u32 of these two, body
 * body:  version u8 = 1, crc32c u32 of what follows, count i32, requests
 * request: length i32, bytes ({@link Request})
 * </pre>
 *
 * @param timeMillis since 1970
 */
record LogEntry(long timeMillis, List<Request> requests) {
  static final int VERSION = 1;

  /** Of what the leader adds. */
  static final int STAMP_BYTES = 1 + Long.BYTES + Integer.BYTES;

  private static final int BODY_HEADER_BYTES = 1 + Integer.BYTES;

  /** The part that a client sends. */
  static byte[] body(List<byte[]> requests) {
    int length = BODY_HEADER_BYTES + Integer.BYTES;
    for (byte[] request : requests) {
      length = Math.addExact(length, Math.addExact(Integer.BYTES, request.length));
    }
    ByteBuffer body = ByteBuffer.allocate(length);
    body.position(BODY_HEADER_BYTES);
    body.putInt(requests.size());
    for (byte[] request : requests) {
      body.putInt(request.length).put(request);
    }
    body.put(0, (byte) VERSION);
    body.putInt(1, crc(body.array(), BODY_HEADER_BYTES, length));
    return body.array();
  }

  /** The part that the leader puts in front. */
  static byte[] stamp(long timeMillis) {
    ByteBuffer stamp = ByteBuffer.allocate(STAMP_BYTES);
    stamp.put((byte) VERSION).putLong(timeMillis);
    stamp.putInt(crc(stamp.array(), 0, 1 + Long.BYTES));
    return stamp.array();
  }

  /**
   * @throws MalformedEntryException if the bytes are not an entry
   */
  static LogEntry decode(byte[] entry) throws MalformedEntryException {
    require(entry.length >= STAMP_BYTES, "length of an entry", entry.length);
    ByteBuffer stamp = ByteBuffer.wrap(entry, 0, STAMP_BYTES);
    requireVersion(stamp.get());
    long timeMillis = stamp.getLong();
    require(stamp.getInt() == crc(entry, 0, 1 + Long.BYTES), "checksum of the time of", timeMillis);
    return new LogEntry(
        timeMillis, requests(ByteBuffer.wrap(entry, STAMP_BYTES, entry.length - STAMP_BYTES)));
  }

  /**
   * The requests of a body.
   *
   * @param body with an array
   * @throws MalformedEntryException if the bytes are not a body
   */
  static List<Request> requests(ByteBuffer body) throws MalformedEntryException {
    require(
        body.remaining() >= BODY_HEADER_BYTES + Integer.BYTES,
        "length of a body",
        body.remaining());
    requireVersion(body.get());
    int crc = body.getInt();
    int start = body.arrayOffset() + body.position();
    require(
        crc == crc(body.array(), start, start + body.remaining()),
        "checksum of a body of length",
        body.remaining());
    int count = body.getInt();
    require(count >= 1 && count <= body.remaining() / Integer.BYTES, "requests", count);
    List<Request> requests = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      require(body.remaining() >= Integer.BYTES, "bytes left", body.remaining());
      int length = body.getInt();
      require(length >= 0 && length <= body.remaining(), "length of a request", length);
      requests.add(new Request(body.slice(body.position(), length)));
      body.position(body.position() + length);
    }
    require(!body.hasRemaining(), "bytes behind the requests", body.remaining());
    require(count == 1 || requests.stream().noneMatch(Request::isAlone), "mixed requests", count);
    return requests;
  }

  private static int crc(byte[] bytes, int from, int to) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, from, to - from);
    return (int) crc.getValue();
  }

  private static void requireVersion(byte version) throws MalformedEntryException {
    require(version == VERSION, "version of an entry", version);
  }

  private static void require(boolean holds, String what, long found)
      throws MalformedEntryException {
    if (!holds) {
      throw new MalformedEntryException(what + ": " + found);
    }
  }
}
