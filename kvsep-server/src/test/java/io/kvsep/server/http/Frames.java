package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;

/**
 * A connection of HTTP/2 frame by frame, without encryption and known beforehand, for what no
 * client does that is well.
 */
final class Frames {
  static final int HEADERS = 1;
  static final int RST_STREAM = 3;
  static final int GOAWAY = 7;

  /** What the headers of an answer begin with that has status 200. */
  static final byte OK = (byte) 0x88;

  private static final int SETTINGS = 4;
  private static final int WINDOW_UPDATE = 8;
  private static final int END_STREAM_AND_HEADERS = 5;
  private static final int INITIAL_WINDOW_SIZE = 4;

  private final DataInputStream input;
  private final DataOutputStream output;

  /** One that came. */
  record Frame(int type, int stream, byte[] payload) {}

  /**
   * @param window how many bytes of each answer may come unasked
   */
  Frames(Socket socket, int window) throws IOException {
    input = new DataInputStream(socket.getInputStream());
    output = new DataOutputStream(socket.getOutputStream());
    output.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(UTF_8));
    head(6, SETTINGS, 0, 0);
    output.writeShort(INITIAL_WINDOW_SIZE);
    output.writeInt(window);
  }

  /** Lets so many more bytes come, of all answers together. */
  void widen(int bytes) throws IOException {
    head(4, WINDOW_UPDATE, 0, 0);
    output.writeInt(bytes);
  }

  void get(int stream, String path) throws IOException {
    ByteArrayOutputStream headers = new ByteArrayOutputStream();
    // The method is GET, the scheme http, and two more from the static table with texts.
    headers.write(0x82);
    headers.write(0x86);
    text(headers, 4, path);
    text(headers, 1, "localhost");
    head(headers.size(), HEADERS, END_STREAM_AND_HEADERS, stream);
    headers.writeTo(output);
  }

  private static void text(ByteArrayOutputStream headers, int name, String value) {
    headers.write(name);
    headers.write(value.length());
    headers.writeBytes(value.getBytes(UTF_8));
  }

  private void head(int length, int type, int flags, int stream) throws IOException {
    output.writeByte(length >> 16);
    output.writeShort(length);
    output.writeByte(type);
    output.writeByte(flags);
    output.writeInt(stream);
  }

  Frame next() throws IOException {
    int length = input.readUnsignedByte() << 16 | input.readUnsignedShort();
    int type = input.readUnsignedByte();
    input.readUnsignedByte();
    int stream = input.readInt();
    byte[] payload = new byte[length];
    input.readFully(payload);
    return new Frame(type, stream, payload);
  }
}
