package io.kvsep.server.redis;

import io.kvsep.EntryInfo;
import io.kvsep.server.redis.Command.Kind;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntBinaryOperator;

/** Commands on single bits of values, and bitwise combinations of values. */
final class BitCommands {
  private static final ByteBuffer NO_BYTES = ByteBuffer.allocate(0).asReadOnlyBuffer();

  private BitCommands() {}

  static List<Command> all() {
    return List.of(
        Command.of("setbit", 4, Kind.WRITE, BitCommands::set, "Sets a bit of a value")
            .keys(1, 1, 1),
        Command.of("getbit", 3, Kind.READ, BitCommands::get, "Gives a bit of a value")
            .keys(1, 1, 1)
            .asQuick(),
        Command.of("bitcount", -2, Kind.READ, BitCommands::count, "Counts the ones in a value")
            .keys(1, 1, 1),
        Command.of("bitpos", -3, Kind.READ, BitCommands::find, "Finds the first one or zero")
            .keys(1, 1, 1),
        Command.of("bitop", -4, Kind.WRITE, BitCommands::combine, "Combines values bit by bit")
            .keys(2, -1, 1));
  }

  /**
   * Parses the number of a bit, or of the first bit of a field. It must lie within the longest
   * value that can be sent.
   *
   * @param from index in the argument at which the number begins
   * @param width bits of the field
   * @param inFields whether the number counts fields instead of bits
   */
  static long offset(Call call, byte[] text, int from, int width, boolean inFields) {
    long offset = Numbers.parse(text, from, text.length, -1);
    long max = 8L * call.server.options().limits().commandBytes() - width;
    if (offset < 0 || offset > (inFields ? max / width : max)) {
      throw new CommandError("ERR bit offset is not an integer or out of range");
    }
    return inFields ? offset * width : offset;
  }

  private static long offset(Call call) {
    return offset(call, call.bytes(2), 0, 1, false);
  }

  private static void set(Call call) {
    long bit = offset(call);
    long to = Numbers.parse(call.bytes(3), 0, call.bytes(3).length, -1);
    if (to != 0 && to != 1) {
      throw new CommandError("ERR bit is not an integer or out of range");
    }
    Entries entries = call.entries();
    EntryInfo info = entries.info(call.bytes(1));
    byte[] old = entries.getOrEmpty(call.bytes(1));
    int length = Math.max(old.length, (int) (bit >>> 3) + 1);
    call.checkValueLength(length);
    byte[] value = Arrays.copyOf(old, length);
    ByteBuffer bits = ByteBuffer.wrap(value);
    int before = Bits.get(bits, bit);
    call.out.integer(before);
    // An unchanged value is not written, so that WATCH sees no change.
    if (before != to || value.length > old.length || info == null) {
      Bits.set(bits, bit, (int) to);
      entries.put(call.bytes(1), value, Entries.expiry(info));
    }
  }

  private static void get(Call call) {
    long bit = offset(call);
    Integer found = call.entries().read(call.bytes(1), view -> Bits.get(view, bit));
    call.out.integer(found == null ? 0 : found);
  }

  /** Whether the optional last argument, at an index, says that indexes count bits. */
  private static boolean inBits(Call call, int index) {
    if (call.count() <= index) {
      return false;
    }
    String unit = call.word(index);
    if (call.count() > index + 1 || !(unit.equals("BIT") || unit.equals("BYTE"))) {
      throw CommandError.syntax();
    }
    return unit.equals("BIT");
  }

  private static void count(Call call) {
    if (call.count() == 3) {
      throw CommandError.syntax();
    }
    boolean inBits = inBits(call, 4);
    long start = call.count() > 2 ? call.integer(2) : 0;
    long end = call.count() > 3 ? call.integer(3) : -1;
    Long ones =
        call.entries()
            .read(
                call.bytes(1),
                view -> {
                  Span span = Span.inOrder(start, end, length(view, inBits));
                  Span bits = inBits ? span : span.inBits();
                  return bits.isEmpty() ? 0 : Bits.count(view, bits.from(), bits.to());
                });
    call.out.integer(ones == null ? 0 : ones);
  }

  private static void find(Call call) {
    long wanted = call.integer(2);
    if (wanted != 0 && wanted != 1) {
      throw new CommandError("ERR The bit argument must be 1 or 0.");
    }
    long start = call.count() > 3 ? call.integer(3) : 0;
    boolean hasEnd = call.count() > 4;
    long end = hasEnd ? call.integer(4) : -1;
    boolean inBits = inBits(call, 5);
    Long found =
        call.entries()
            .read(
                call.bytes(1),
                view -> {
                  Span span = Span.of(start, end, length(view, inBits));
                  Span bits = inBits ? span : span.inBits();
                  if (bits.isEmpty()) {
                    return -1L;
                  }
                  long at = Bits.find(view, (int) wanted, bits.from(), bits.to());
                  // Without an end, the value is followed by zeros.
                  return at < 0 && wanted == 0 && !hasEnd ? 8L * view.limit() : at;
                });
    call.out.integer(found == null ? -wanted : found);
  }

  private static long length(ByteBuffer view, boolean inBits) {
    return inBits ? 8L * view.limit() : view.limit();
  }

  private static void combine(Call call) {
    String word = call.word(1);
    boolean inverts = word.equals("NOT");
    IntBinaryOperator operation =
        switch (word) {
          case "AND" -> (a, b) -> a & b;
          case "OR", "NOT" -> (a, b) -> a | b;
          case "XOR" -> (a, b) -> a ^ b;
          default -> throw CommandError.syntax();
        };
    if (inverts && call.count() != 4) {
      throw new CommandError("ERR BITOP NOT must be called with a single source key.");
    }
    Entries entries = call.entries();
    int length = 0;
    for (int i = 3; i < call.count(); i++) {
      EntryInfo info = entries.info(call.bytes(i));
      length = Math.max(length, info == null ? 0 : info.valueLength());
    }
    call.out.integer(length);
    try (RequestBudget.Share share = call.server.budget().share()) {
      share.take(length);
      byte[] result = new byte[length];
      for (int i = 3; i < call.count(); i++) {
        IntBinaryOperator next = i == 3 ? (a, b) -> b : operation;
        Boolean found = entries.read(call.bytes(i), view -> combine(result, view, next));
        if (found == null) {
          combine(result, NO_BYTES, next);
        }
      }
      if (inverts) {
        combine(result, NO_BYTES, (a, b) -> ~a);
      }
      if (length == 0) {
        entries.delete(call.bytes(2));
      } else {
        entries.put(call.bytes(2), result, Entries.NEVER);
      }
    }
  }

  private static boolean combine(byte[] into, ByteBuffer other, IntBinaryOperator operation) {
    int both = Math.min(into.length, other.limit());
    for (int i = 0; i < both; i++) {
      into[i] = (byte) operation.applyAsInt(into[i], other.get(i));
    }
    for (int i = both; i < into.length; i++) {
      into[i] = (byte) operation.applyAsInt(into[i], 0);
    }
    return true;
  }
}
