package io.kvsep.server.cli;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one replica has after {@link DemoClients} have written: read from that node, without asking
 * the others.
 *
 * @param missing acknowledged writes that are not there
 * @param wrong entries that no client has written
 */
record ReplicaContent(long entries, long missing, long wrong, String digest) {
  private static final String SCAN = "/v1/scan?consistency=stale";
  private static final String BINARY = "application/vnd.kvsep.entries";

  /**
   * @param counts number of writes of each client
   */
  static ReplicaContent read(ServerConnection server, List<Integer> counts)
      throws IOException, InterruptedException {
    Reading reading = new Reading(counts);
    String cursor = "";
    while (cursor != null) {
      String path = cursor.isEmpty() ? SCAN : SCAN + "&cursor=" + cursor;
      try (InputStream answer = server.open(path, BINARY)) {
        cursor = reading.read(new DataInputStream(new BufferedInputStream(answer)));
      }
    }
    return reading.result();
  }

  /** Goes through keys in order, beside those that the clients have written. */
  private static final class Reading {
    private final MessageDigest digest;
    private final List<Integer> counts;
    private int client;
    private int number = 1;
    private long entries;
    private long missing;
    private long wrong;

    Reading(List<Integer> counts) {
      this.counts = counts;
      try {
        this.digest = MessageDigest.getInstance("SHA-256");
      } catch (NoSuchAlgorithmException e) {
        throw new AssertionError(e);
      }
    }

    /** The cursor to go on with, null at the end of the entries. */
    @Nullable String read(DataInputStream answer) throws IOException {
      while (true) {
        int keyLength;
        try {
          keyLength = answer.readInt();
        } catch (EOFException e) {
          return null;
        }
        byte[] value = new byte[answer.readInt()];
        byte[] key = new byte[keyLength];
        answer.readFully(key);
        answer.readFully(value);
        if (keyLength == 0) {
          return new String(value, StandardCharsets.US_ASCII);
        }
        digest.update(key);
        digest.update(value);
        entries++;
        check(new String(key, StandardCharsets.UTF_8), value);
      }
    }

    private void check(String key, byte[] value) {
      while (client < counts.size() && key.compareTo(expected()) > 0) {
        missing++;
        advance();
      }
      if (client < counts.size()
          && key.equals(expected())
          && Arrays.equals(value, DemoClients.value(key))) {
        advance();
      } else {
        wrong++;
      }
    }

    private String expected() {
      return DemoClients.key(client, number);
    }

    private void advance() {
      number++;
      while (client < counts.size() && number > counts.get(client)) {
        client++;
        number = 1;
      }
    }

    ReplicaContent result() {
      for (; client < counts.size(); advance()) {
        missing++;
      }
      return new ReplicaContent(entries, missing, wrong, HexFormat.of().formatHex(digest.digest()));
    }
  }
}
