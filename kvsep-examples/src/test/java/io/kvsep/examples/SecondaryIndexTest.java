package io.kvsep.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.examples.SecondaryIndex.User;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SecondaryIndexTest {
  @TempDir Path directory;

  @Test
  void usersAreFoundByAddressAndCity() {
    try (KvStore store = KvStore.inMemory()) {
      SecondaryIndex users = new SecondaryIndex(store);
      User ada = new User("1", "ada@example.org", "London");
      User grace = new User("2", "grace@example.org", "London");
      assertTrue(users.put(grace));
      assertTrue(users.put(ada));
      assertFalse(users.put(new User("3", "ada@example.org", "Paris")));

      assertEquals(Optional.of(ada), users.withEmail("ada@example.org"));
      assertEquals(List.of(ada, grace), users.inCity("London"));
      assertEquals(List.of(), users.inCity("Lond"));
      assertEquals(List.of(), users.inCity("Paris"));

      User moved = new User("1", "ada@example.com", "Paris");
      assertTrue(users.put(moved));
      assertEquals(Optional.empty(), users.withEmail("ada@example.org"));
      assertEquals(List.of(moved), users.inCity("Paris"));
      assertTrue(users.delete("1"));
      assertFalse(users.delete("1"));
      assertEquals(List.of(), users.inCity("Paris"));
      assertThrows(IllegalArgumentException.class, () -> new User("1", "a", "Par\0is"));
    }
  }

  @Test
  void oneOfManyThreadsGetsAnAddress() throws InterruptedException {
    try (KvStore store = KvStore.inMemory()) {
      SecondaryIndex users = new SecondaryIndex(store);
      for (int round = 0; round < 20; round++) {
        String email = round + "@example.org";
        AtomicInteger successes = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
          User user = new User(round + "-" + i, email, "London");
          threads.add(new Thread(() -> successes.addAndGet(users.put(user) ? 1 : 0)));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
          thread.join();
        }
        assertEquals(1, successes.get());
      }
      assertEquals(20, users.inCity("London").size());
    }
  }

  @Test
  void indexesAndUsersAgree() {
    Random random = new Random(60);
    try (KvStore store = KvStore.inMemory()) {
      SecondaryIndex users = new SecondaryIndex(store);
      for (int i = 0; i < 500; i++) {
        String id = "id-" + random.nextInt(20);
        if (random.nextInt(4) == 0) {
          users.delete(id);
        } else {
          users.put(new User(id, random.nextInt(30) + "@example.org", "c" + random.nextInt(3)));
        }
      }
      List<User> found = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        found.addAll(users.inCity("c" + i));
      }
      for (User user : found) {
        assertEquals(Optional.of(user), users.withEmail(user.email()));
      }
      for (String keyspace : List.of("users", "emails", "cities")) {
        assertEquals(
            found.size(),
            store.in(store.keyspace(keyspace)).stream(ScanOptions.all()).count(),
            keyspace);
      }
    }
  }

  @Test
  void theProgramRuns() {
    assertEquals(
        """
        false
        [] [User[id=1, email=ada@example.com, city=Turin]]
        """,
        Printed.by(() -> SecondaryIndex.main(new String[] {directory.toString()})));
  }
}
