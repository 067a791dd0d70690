package io.kvsep.cluster.check;

import io.kvsep.cluster.check.Call.Kind;
import io.kvsep.cluster.check.Call.Outcome;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A history that is linearizable because a map really did the calls one after the other, each at a
 * drawn moment between its invocation and its return. Each written value is another one.
 */
final class RandomHistory {
  private final Random random;
  private final int keys;
  private final Map<String, String> map = new TreeMap<>();
  private final List<Call> calls = new ArrayList<>();

  /** Calls whose clients have given up, and which may still take effect. */
  private final List<Call> late = new ArrayList<>();

  private long now;
  private int lastValue;
  private int lastClient;

  /** A client, with the call that it waits for and that call's answer. */
  private static final class Client {
    int number;
    @Nullable Call call;
    @Nullable Call answered;
  }

  private RandomHistory(Random random, int keys) {
    this.random = random;
    this.keys = keys;
  }

  /**
   * @param clients that call at once
   * @param count number of calls
   * @param unknown every how many calls one has an unknown outcome, about; 0 for none
   */
  static List<Call> draw(Random random, int clients, int keys, int count, int unknown) {
    return new RandomHistory(random, keys).run(clients, count, unknown);
  }

  private List<Call> run(int clients, int count, int unknown) {
    List<Client> all = new ArrayList<>();
    for (int i = 0; i < clients; i++) {
      Client client = new Client();
      client.number = ++lastClient;
      all.add(client);
    }
    for (int begun = 0; begun < count || all.stream().anyMatch(client -> client.call != null); ) {
      now += 1 + random.nextInt(3);
      Client client = all.get(random.nextInt(clients));
      Call call = client.call;
      Call answered = client.answered;
      if (!late.isEmpty() && random.nextInt(10) == 0) {
        apply(late.remove(random.nextInt(late.size())));
      } else if (call == null) {
        if (begun < count) {
          client.call = drawCall(client.number);
          begun++;
        }
      } else if (unknown > 0 && random.nextInt(2 * unknown) == 0) {
        calls.add(call);
        if (answered == null && random.nextBoolean()) {
          late.add(call);
        }
        client.number = ++lastClient;
        client.call = null;
        client.answered = null;
      } else if (answered == null) {
        client.answered = apply(call);
      } else {
        calls.add(
            new Call(
                answered.client(),
                answered.kind(),
                answered.key(),
                answered.expected(),
                answered.value(),
                answered.outcome(),
                answered.invoked(),
                now));
        client.call = null;
        client.answered = null;
      }
    }
    calls.sort(Comparator.comparingLong(Call::invoked));
    return calls;
  }

  private Call drawCall(int client) {
    String key = "k" + random.nextInt(keys);
    return switch (random.nextInt(8)) {
      case 0, 1, 2 -> unknown(client, Kind.GET, key, null, null);
      case 3, 4 -> unknown(client, Kind.PUT, key, null, newValue());
      case 5 -> unknown(client, Kind.DELETE, key, null, null);
      // The present value is often still there when the call takes effect.
      case 6 -> unknown(client, Kind.CAS, key, map.get(key), null);
      default -> unknown(client, Kind.CAS, key, map.get(key), newValue());
    };
  }

  private String newValue() {
    return "v" + ++lastValue;
  }

  private Call unknown(
      int client, Kind kind, String key, @Nullable String expected, @Nullable String value) {
    return new Call(client, kind, key, expected, value, Outcome.UNKNOWN, now, Call.NEVER);
  }

  /** Returns the call with its answer; the time of its return is not yet known. */
  private Call apply(Call call) {
    String found = map.get(call.key());
    boolean refused = call.kind() == Kind.CAS && !Objects.equals(found, call.expected());
    if (call.isWrite() && !refused) {
      if (call.value() == null) {
        map.remove(call.key());
      } else {
        map.put(call.key(), call.value());
      }
    }
    return new Call(
        call.client(),
        call.kind(),
        call.key(),
        call.expected(),
        call.kind() == Kind.GET ? found : call.value(),
        refused ? Outcome.REFUSED : Outcome.DONE,
        call.invoked(),
        now);
  }
}
