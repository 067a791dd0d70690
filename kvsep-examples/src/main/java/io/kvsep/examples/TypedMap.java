package io.kvsep.examples;

import io.kvsep.KvStore;
import io.kvsep.collections.Codec;
import io.kvsep.collections.Codecs;
import io.kvsep.collections.KvMap;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;

/**
 * Orders as records in a {@link KvMap}, a {@link java.util.concurrent.ConcurrentNavigableMap} over
 * a keyspace. Keys are sorted by customer, then by time.
 */
public final class TypedMap {
  private static final Codec<OrderKey> KEYS =
      Codecs.tuple(
          Codecs.string(), OrderKey::customer, Codecs.instant(), OrderKey::time, OrderKey::new);

  private static final Codec<Order> ORDERS =
      Codecs.tuple(
          Codecs.string(),
          Order::item,
          Codecs.int32(),
          Order::count,
          Codecs.int64().mapped(Money::new, Money::cents),
          Order::price,
          Order::new);

  private final KvMap<OrderKey, Order> orders;
  private final KvMap<String, Long> spentCents;

  public TypedMap(KvStore store) {
    // The codecs are not stored: always open a keyspace with the same ones.
    orders = KvMap.open(store.in(store.keyspace("orders")), KEYS, ORDERS);
    spentCents = KvMap.open(store.in(store.keyspace("spent")), Codecs.string(), Codecs.int64());
  }

  public record OrderKey(String customer, Instant time) {}

  public record Money(long cents) {}

  public record Order(String item, int count, Money price) {}

  public void add(OrderKey key, Order order) {
    // Two writes, each atomic. What must happen together takes a transaction, see SecondaryIndex.
    if (orders.putIfAbsent(key, order) == null) {
      spentCents.merge(key.customer(), order.count() * order.price().cents(), Long::sum);
    }
  }

  /** The orders of a customer, newest first; reads no others. */
  public List<Order> newest(String customer, int countMax) {
    return orders.prefixMap(Codecs.string().encode(customer)).descendingMap().values().stream()
        .limit(countMax)
        .toList();
  }

  public Money spent(String customer) {
    return new Money(spentCents.getOrDefault(customer, 0L));
  }

  public static void main(String[] arguments) {
    Path directory = Path.of(arguments.length > 0 ? arguments[0] : "order-data");
    try (KvStore store = KvStore.open(directory)) {
      TypedMap shop = new TypedMap(store);
      Instant noon = Instant.parse("2026-11-29T12:00:00Z");
      shop.add(new OrderKey("ada", noon), new Order("tea", 2, new Money(350)));
      shop.add(new OrderKey("ada", noon.plusSeconds(60)), new Order("cake", 1, new Money(420)));
      shop.add(new OrderKey("adam", noon), new Order("coffee", 1, new Money(290)));
      System.out.println(shop.newest("ada", 10));
      System.out.println(shop.spent("ada"));
    }
  }
}
