package io.kvsep.testing;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** A segment of the log in which one record or one frame is another, under right checksums. */
final class ForgedLog {
  private static final int PUT = 2;
  private static final int RANGE_DELETE = 4;
  private static final int EXPIRES = 0x10;
  private static final int LZ4 = 0x20;

  private final byte[] bytes;
  private final Random random;
  private final StringBuilder what = new StringBuilder();

  /** A record in its parts; the lengths are what it says of them. */
  private static final class LoggedRecord {
    int kind;
    long keyLength;
    long storedLength;
    long valueLength;
    long expiresAtMillis;
    byte[] key;
    byte[] stored;

    LoggedRecord(byte[] bytes, int at) {
      kind = bytes[at] & 0xff;
      Varints in = new Varints(bytes, at + 1);
      keyLength = in.next();
      if ((kind & 0xf) != 1) {
        storedLength = in.next();
        valueLength = (kind & LZ4) != 0 ? in.next() : 0;
      }
      if ((kind & EXPIRES) != 0) {
        expiresAtMillis = FileParts.getLong(bytes, in.position());
        in.skip(8);
      }
      int keyEnd = in.position() + (int) keyLength;
      key = Arrays.copyOfRange(bytes, in.position(), keyEnd);
      stored = Arrays.copyOfRange(bytes, keyEnd, keyEnd + (int) storedLength);
    }

    byte[] bytes() {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      out.write(kind);
      Varints.put(out, keyLength);
      if ((kind & 0xf) != 1) {
        Varints.put(out, storedLength);
        if ((kind & LZ4) != 0) {
          Varints.put(out, valueLength);
        }
      }
      if ((kind & EXPIRES) != 0) {
        byte[] expiry = new byte[8];
        FileParts.putLong(expiry, 0, expiresAtMillis);
        out.writeBytes(expiry);
      }
      out.writeBytes(key);
      out.writeBytes(stored);
      out.writeBytes(new byte[4]);
      return out.toByteArray();
    }
  }

  private ForgedLog(byte[] bytes, Random random) {
    this.bytes = bytes;
    this.random = random;
  }

  /** The segment itself where it has no frames. */
  static Forgery of(byte[] segment, Random random) {
    ForgedLog forged = new ForgedLog(segment, random);
    byte[] written = forged.write();
    return new Forgery(forged.what.toString(), written);
  }

  private byte[] write() {
    List<int[]> frames = FileParts.frames(bytes);
    if (frames.isEmpty()) {
      return bytes;
    }
    int drawn = random.nextInt(frames.size());
    what.append("; frame ").append(drawn);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(bytes, 0, FileParts.HEADER_BYTES);
    for (int[] frame : frames) {
      boolean changes = frame == frames.get(drawn);
      out.writeBytes(frame(frame[0], frame[1], out.size(), changes));
    }
    return out.toByteArray();
  }

  /**
   * A frame, sealed for its place.
   *
   * @param place where it will begin
   */
  private byte[] frame(int from, int to, int place, boolean changes) {
    List<byte[]> records = new ArrayList<>();
    for (int at = from + FileParts.FRAME_BYTES; at < to; ) {
      int end = FileParts.recordEnd(bytes, at);
      records.add(Arrays.copyOfRange(bytes, at, end));
      at = end;
    }
    if (changes && !records.isEmpty()) {
      int index = random.nextInt(records.size());
      int at = from + FileParts.FRAME_BYTES;
      for (byte[] before : records.subList(0, index)) {
        at += before.length;
      }
      LoggedRecord record = new LoggedRecord(bytes, at);
      change(record);
      records.set(index, record.bytes());
    }
    // The checksums depend on the segment's number and on places in it.
    byte[] whole =
        new byte[place + FileParts.FRAME_BYTES + records.stream().mapToInt(r -> r.length).sum()];
    System.arraycopy(bytes, 0, whole, 0, FileParts.HEADER_BYTES);
    System.arraycopy(bytes, from, whole, place, FileParts.FRAME_BYTES);
    int at = place + FileParts.FRAME_BYTES;
    for (byte[] record : records) {
      System.arraycopy(record, 0, whole, at, record.length);
      FileParts.sealRecord(whole, at, at + record.length);
      at += record.length;
    }
    if (!records.isEmpty()) {
      FileParts.putInt(whole, place + 8, at - place - FileParts.FRAME_BYTES);
    }
    if (changes && random.nextInt(4) == 0) {
      changeHead(whole, place);
    }
    FileParts.sealFrame(whole, place);
    return Arrays.copyOfRange(whole, place, whole.length);
  }

  private void changeHead(byte[] whole, int place) {
    int field = random.nextInt(5);
    long number = Forgery.extreme(random);
    what.append(", field ").append(field).append(" of its header is ").append(number);
    switch (field) {
      case 0 -> FileParts.putInt(whole, place + 8, (int) number);
      case 1 -> FileParts.putInt(whole, place + 12, (int) number);
      case 2 -> FileParts.putLong(whole, place + 16, number);
      case 3 -> FileParts.putInt(whole, place + 24, (int) number);
      default -> FileParts.putInt(whole, place + 28, (int) number);
    }
  }

  private void change(LoggedRecord record) {
    int how = random.nextInt(10);
    long number = Forgery.extreme(random) & Integer.MAX_VALUE;
    what.append(", record with change ").append(how).append(" and ").append(number);
    switch (how) {
      case 0 -> record.kind = random.nextInt(256);
      case 1 -> record.keyLength = number;
      case 2 -> record.storedLength = number;
      case 3 -> {
        record.kind = PUT | LZ4;
        record.valueLength = number;
      }
      case 4 -> {
        record.kind = PUT | LZ4;
        record.valueLength = record.stored.length * 255L;
      }
      case 5 -> {
        record.kind |= EXPIRES;
        record.expiresAtMillis = Forgery.extreme(random);
      }
      case 6 -> record.key[0] = (byte) random.nextInt(256);
      case 7 -> {
        record.key = Arrays.copyOf(record.key, random.nextBoolean() ? 1 : 5);
        record.keyLength = record.key.length;
      }
      case 8 -> {
        record.kind = RANGE_DELETE;
        record.storedLength = record.stored.length;
      }
      default -> {
        record.kind = RANGE_DELETE;
        record.stored = record.key.clone();
        record.stored[record.stored.length - 1] += (byte) random.nextInt(3);
        record.storedLength = record.stored.length;
      }
    }
  }
}
