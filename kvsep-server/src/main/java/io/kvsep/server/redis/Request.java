package io.kvsep.server.redis;

import org.jspecify.annotations.Nullable;

/** One command as it came, or what is wrong with the bytes that came in place of one. */
final class Request {
  /** Name and arguments; the name may be empty where the command is known. */
  final byte[][] arguments;

  /** What the name stands for, null for nothing. */
  final @Nullable Command command;

  /** What was reserved for it, to be given back when it is answered. */
  final long reservedBytes;

  final @Nullable String protocolError;

  /** Of all arguments. */
  final int bytes;

  /** What an argument costs beside its bytes. */
  static final int ARGUMENT_OVERHEAD_BYTES = 24;

  private static final long OVERHEAD_BYTES = 100;

  private Request(
      byte[][] arguments,
      @Nullable Command command,
      int bytes,
      long reservedBytes,
      @Nullable String protocolError) {
    this.arguments = arguments;
    this.command = command;
    this.bytes = bytes;
    this.reservedBytes = reservedBytes;
    this.protocolError = protocolError;
  }

  /** What it takes of the heap, about. */
  long heapBytes() {
    return bytes + OVERHEAD_BYTES + (long) ARGUMENT_OVERHEAD_BYTES * arguments.length;
  }

  static Request of(byte[][] arguments, @Nullable Command command, int bytes, long reservedBytes) {
    return new Request(arguments, command, bytes, reservedBytes, null);
  }

  static Request broken(String protocolError) {
    return new Request(new byte[0][], null, 0, 0, protocolError);
  }
}
