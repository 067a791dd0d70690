package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;

/** A socket that sends what it is told and shows the bytes that come back; ^ stands for CR LF. */
final class RawClient implements AutoCloseable {
  private static final int TIMEOUT_MILLIS = 60_000;

  final Socket socket;
  private final InputStream input;
  private final OutputStream output;

  RawClient(int port) throws IOException {
    this(new Socket(InetAddress.getLoopbackAddress(), port));
  }

  RawClient(Socket connected) throws IOException {
    socket = connected;
    socket.setSoTimeout(TIMEOUT_MILLIS);
    socket.setTcpNoDelay(true);
    input = new BufferedInputStream(socket.getInputStream());
    output = socket.getOutputStream();
  }

  void send(String text) throws IOException {
    send(text.replace("^", "\r\n").getBytes(ISO_8859_1));
  }

  void send(byte[] bytes) throws IOException {
    output.write(bytes);
    output.flush();
  }

  /** Sends a line of words; the reply. */
  String ask(String line) throws IOException {
    send(line + "^");
    return reply();
  }

  /** Sends an array of words; the reply. */
  String command(String... words) throws IOException {
    send(array(words));
    return reply();
  }

  static String array(String... words) {
    StringBuilder text = new StringBuilder("*" + words.length + "^");
    for (String word : words) {
      text.append('$').append(word.length()).append('^').append(word).append('^');
    }
    return text.toString();
  }

  void expect(String line, String reply) throws IOException {
    assertEquals(reply, ask(line), line);
  }

  /** The bytes of the next reply. */
  String reply() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    readReply(bytes);
    return bytes.toString(ISO_8859_1).replace("\r\n", "^");
  }

  private void readReply(ByteArrayOutputStream bytes) throws IOException {
    String line = readLine(bytes);
    int count = line.length() > 1 && "$=*~%".indexOf(line.charAt(0)) >= 0 ? number(line) : -1;
    if (line.startsWith("$") || line.startsWith("=")) {
      if (count >= 0) {
        readBulk(bytes, count + 2);
      }
    } else {
      int elements = line.startsWith("%") ? 2 * count : count;
      for (int i = 0; i < elements; i++) {
        readReply(bytes);
      }
    }
  }

  private void readBulk(ByteArrayOutputStream bytes, int length) throws IOException {
    byte[] bulk = input.readNBytes(length);
    if (bulk.length < length) {
      throw new EOFException("the server has closed the connection");
    }
    bytes.writeBytes(bulk);
  }

  private static int number(String line) {
    return Integer.parseInt(line.substring(1));
  }

  private String readLine(ByteArrayOutputStream bytes) throws IOException {
    StringBuilder line = new StringBuilder();
    int c = readByte();
    while (c != '\r') {
      line.append((char) c);
      bytes.write(c);
      c = readByte();
    }
    bytes.write(c);
    bytes.write(readByte());
    return line.toString();
  }

  private int readByte() throws IOException {
    int c = input.read();
    if (c < 0) {
      throw new EOFException("the server has closed the connection");
    }
    return c;
  }

  /** Whether the server has closed its side, after whatever it still sent. */
  boolean isEnded() throws IOException {
    return drain() >= 0;
  }

  /** Bytes that come until the server closes its side; -1 when it does not. */
  long drain() throws IOException {
    byte[] bytes = new byte[1 << 16];
    long total = 0;
    try {
      for (int count = input.read(bytes); count >= 0; count = input.read(bytes)) {
        total += count;
      }
    } catch (SocketTimeoutException e) {
      return -1;
    } catch (IOException e) {
      // Reset: the server did not want what was still on its way.
      return total;
    }
    return total;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
