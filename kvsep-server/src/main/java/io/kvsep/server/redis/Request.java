package io.kvsep.server.redis;

import org.jspecify.annotations.Nullable;

/** One command as received, or the protocol error found instead. */
final class Request {
  /** Name and arguments; the name may be empty if the command is known. */
  final byte[][] arguments;

  /** The command of that name, null if unknown. */
  final @Nullable Command command;

  /** Reservation, to be released when the command is answered. */
  final long reservedBytes;

  final @Nullable String protocolError;

  /** Length of all arguments. */
  final int bytes;

  /** Heap bytes of an argument in addition to its content. */
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

  /** Approximate heap bytes. */
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
