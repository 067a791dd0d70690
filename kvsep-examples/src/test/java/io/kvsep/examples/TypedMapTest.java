package io.kvsep.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.KvStore;
import io.kvsep.examples.TypedMap.Money;
import io.kvsep.examples.TypedMap.Order;
import io.kvsep.examples.TypedMap.OrderKey;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TypedMapTest {
  @TempDir Path directory;

  @Test
  void ordersOfACustomerComeNewestFirst() {
    try (KvStore store = KvStore.inMemory()) {
      TypedMap shop = new TypedMap(store);
      for (String customer : List.of("a", "ab", "", "b")) {
        for (int second : new int[] {2, -1, 10}) {
          Order order = new Order(customer + second, 2, new Money(second));
          shop.add(new OrderKey(customer, Instant.ofEpochSecond(second)), order);
          shop.add(new OrderKey(customer, Instant.ofEpochSecond(second)), order);
        }
      }

      assertEquals(
          List.of("a10", "a2", "a-1"), shop.newest("a", 5).stream().map(Order::item).toList());
      assertEquals(List.of(new Order("ab10", 2, new Money(10))), shop.newest("ab", 1));
      assertEquals(List.of(), shop.newest("c", 5));
      assertEquals(new Money(22), shop.spent("b"));
      assertEquals(new Money(0), shop.spent("c"));
    }
  }

  @Test
  void theProgramRuns() {
    assertEquals(
        """
        [Order[item=cake, count=1, price=Money[cents=420]], \
        Order[item=tea, count=2, price=Money[cents=350]]]
        Money[cents=1120]
        """,
        Printed.by(() -> TypedMap.main(new String[] {directory.toString()})));
  }
}
