package io.kvsep.server.redis;

import io.kvsep.EntryInfo;
import io.kvsep.server.redis.Command.Kind;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Commands on numbers stored as decimal text, as in Redis. */
final class CounterCommands {
  private CounterCommands() {}

  static List<Command> all() {
    return List.of(
        counter("incr", 2, call -> add(call, 1), "Adds 1 to a number"),
        counter("decr", 2, call -> add(call, -1), "Takes 1 from a number"),
        counter("incrby", 3, call -> add(call, call.integer(2)), "Adds to a number"),
        counter("decrby", 3, CounterCommands::subtract, "Takes from a number"),
        counter("incrbyfloat", 3, CounterCommands::addFloat, "Adds to a number with a fraction"));
  }

  private static Command counter(String name, int arity, Command.Body body, String summary) {
    return Command.of(name, arity, Kind.WRITE, body, summary).keys(1, 1, 1);
  }

  private static void subtract(Call call) {
    long amount = call.integer(2);
    if (amount == Long.MIN_VALUE) {
      throw new CommandError("ERR decrement would overflow");
    }
    add(call, -amount);
  }

  private static void add(Call call, long amount) {
    Entries entries = call.entries();
    byte[] key = call.bytes(1);
    EntryInfo info = entries.info(key);
    byte[] old = info == null ? null : entries.get(key);
    long sum;
    try {
      sum = Math.addExact(old == null ? 0 : Numbers.integer(old), amount);
    } catch (ArithmeticException e) {
      throw new CommandError("ERR increment or decrement would overflow");
    }
    call.out.integer(sum);
    put(entries, key, old == null ? null : info, Numbers.text(sum));
  }

  private static void addFloat(Call call) {
    Entries entries = call.entries();
    byte[] key = call.bytes(1);
    EntryInfo info = entries.info(key);
    byte[] old = info == null ? null : entries.get(key);
    BigDecimal before = old == null ? BigDecimal.ZERO : Numbers.decimal(old);
    String sum = Numbers.text(Numbers.sum(before, Numbers.decimal(call.bytes(2))));
    call.out.bulk(sum);
    put(entries, key, old == null ? null : info, sum.getBytes(StandardCharsets.ISO_8859_1));
  }

  /**
   * Stores the number with its previous expiry.
   *
   * @param before read before the value: otherwise a key that expires in between would be stored
   *     without an expiry
   */
  private static void put(Entries entries, byte[] key, @Nullable EntryInfo before, byte[] value) {
    entries.put(key, value, Entries.expiry(before));
  }
}
