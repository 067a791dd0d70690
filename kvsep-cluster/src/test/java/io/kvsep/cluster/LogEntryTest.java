package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.testing.Seeds;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

final class LogEntryTest {
  @Test
  void entryIsReadAsWritten() throws Exception {
    LogEntry entry = LogEntry.decode(entry());
    assertEquals(77, entry.timeMillis());
    assertEquals(2, entry.requests().size());
    Request request = entry.requests().get(0);
    assertEquals(List.of("users", "ümläute"), request.names);
    assertEquals(4, request.conditions.size());
    Request.Condition range = request.conditions.get(3);
    assertEquals(null, range.keyspace());
    assertEquals(null, range.key());
    assertArrayEquals(bytes("z"), range.end());
    assertEquals(3, range.count());
    assertEquals(5, request.writes.size());
    Request.Write put = request.writes.get(1);
    assertEquals("users", put.keyspace());
    assertArrayEquals(bytes("k"), put.key());
    assertArrayEquals(bytes("v"), put.value());
    assertEquals(5, put.number());
    assertEquals(-9, entry.requests().get(1).writes.get(0).number());
  }

  @Test
  void noChangedByteIsAccepted() {
    byte[] entry = entry();
    for (int i = 0; i < entry.length; i++) {
      for (int bit = 0; bit < 8; bit++) {
        byte[] changed = entry.clone();
        changed[i] ^= (byte) (1 << bit);
        assertThrows(MalformedEntryException.class, () -> LogEntry.decode(changed), "byte " + i);
      }
    }
  }

  @Test
  void noPrefixIsAccepted() {
    byte[] entry = entry();
    for (int length = 0; length < entry.length; length++) {
      byte[] prefix = Arrays.copyOf(entry, length);
      assertThrows(MalformedEntryException.class, () -> LogEntry.decode(prefix));
    }
    byte[] longer = Arrays.copyOf(entry, entry.length + 1);
    assertThrows(MalformedEntryException.class, () -> LogEntry.decode(longer));
  }

  /** With a checksum that fits, as a program with another idea of the format would send. */
  @Test
  void changedRequestIsRefusedOrWellFormed() {
    Seeds.some(
        LogEntryTest.class,
        200,
        5,
        random -> {
          byte[] request = request();
          for (int i = 0; i < 2_000; i++) {
            byte[] changed = request.clone();
            int changes = 1 + random.nextInt(3);
            for (int c = 0; c < changes; c++) {
              changed[random.nextInt(changed.length)] =
                  (byte) (random.nextBoolean() ? random.nextInt() : random.nextInt(4) - 1);
            }
            int length = random.nextInt(4) == 0 ? random.nextInt(changed.length) : changed.length;
            try {
              new Request(ByteBuffer.wrap(changed, 0, length).slice());
            } catch (MalformedEntryException e) {
              // Refused, as most are.
            }
          }
        });
  }

  @Test
  void changeOfKeyspacesStandsAlone() {
    byte[] body =
        LogEntry.body(List.of(request(), RequestWriter.createKeyspaces(List.of("another"))));
    assertThrows(MalformedEntryException.class, () -> LogEntry.requests(ByteBuffer.wrap(body)));
  }

  @Test
  void keyspaceOfTheClusterIsRefused() {
    assertThrows(
        IllegalArgumentException.class, () -> RequestWriter.dropKeyspace(GroupStore.SYSTEM));
  }

  @Test
  void answersAreReadAsWritten() throws Exception {
    List<Answer> answers =
        List.of(
            Answer.OK,
            new Answer(Answer.Status.OK, Long.MIN_VALUE, ""),
            Answer.of(Answer.Status.NO_KEYSPACE, "ü"));
    byte[] bytes = Answer.encode(answers);
    assertEquals(answers, Answer.decode(bytes));
    for (int length = 0; length < bytes.length; length++) {
      byte[] prefix = Arrays.copyOf(bytes, length);
      assertThrows(MalformedEntryException.class, () -> Answer.decode(prefix));
    }
  }

  private static byte[] entry() {
    RequestWriter increment = new RequestWriter(1 << 20);
    increment.increment("users", bytes("n"), -9);
    byte[] body = LogEntry.body(List.of(request(), increment.toBytes()));
    byte[] stamp = LogEntry.stamp(77);
    byte[] entry = Arrays.copyOf(stamp, stamp.length + body.length);
    System.arraycopy(body, 0, entry, stamp.length, body.length);
    return entry;
  }

  private static byte[] request() {
    RequestWriter request = new RequestWriter(1 << 20);
    request.absent("users", bytes("a"));
    request.valueIs("ümläute", bytes("b"), new byte[16]);
    request.entryIs(null, bytes("c"), new byte[16]);
    request.rangeIs(null, null, bytes("z"), new ContentHash.Range(3, new byte[16]));
    request.put(null, bytes("k"), bytes(""));
    request.put("users", bytes("k"), bytes("v"), Duration.ofMillis(5));
    request.putUntil("users", bytes("k"), bytes("v"), 6);
    request.delete("users", bytes("k"));
    request.deleteRange("ümläute", bytes(""), bytes("z"));
    return request.toBytes();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
