package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.Keyspace;
import io.kvsep.KvStore;
import io.kvsep.KvView;
import io.kvsep.ScanOptions;
import io.kvsep.Snapshot;
import io.kvsep.Transaction;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Users with two indexes: e-mail addresses, each of one user at most, and cities. A transaction
 * writes the user and both indexes, so they always agree.
 *
 * <pre>
 * users      ID          EMAIL 0 CITY
 * emails     EMAIL       ID
 * cities     CITY 0 ID   nothing
 * </pre>
 */
public final class SecondaryIndex {
  private final KvStore store;
  private final Keyspace users;
  private final Keyspace emails;
  private final Keyspace cities;

  public SecondaryIndex(KvStore store) {
    this.store = store;
    this.users = store.keyspace("users");
    this.emails = store.keyspace("emails");
    this.cities = store.keyspace("cities");
  }

  /** A user, without zero bytes. */
  public record User(String id, String email, String city) {
    public User {
      if ((id + email + city).indexOf('\0') >= 0) {
        throw new IllegalArgumentException("a user has a zero byte");
      }
    }
  }

  /** Adds or changes a user; returns false if the e-mail address belongs to another one. */
  public boolean put(User user) {
    return store.transact(
        transaction -> {
          // This read makes a concurrent put of the same address a conflict, and one runs again.
          byte[] owner = transaction.in(emails).get(bytes(user.email()));
          if (owner != null && !user.id().equals(text(owner))) {
            return false;
          }
          delete(transaction, user.id());
          byte[] id = bytes(user.id());
          transaction.in(users).put(id, bytes(user.email() + '\0' + user.city()));
          transaction.in(emails).put(bytes(user.email()), id);
          transaction.in(cities).put(bytes(user.city() + '\0' + user.id()), new byte[0]);
          return true;
        });
  }

  /** Returns whether there was such a user. */
  public boolean delete(String id) {
    return store.transact(transaction -> delete(transaction, id));
  }

  private boolean delete(Transaction transaction, String id) {
    KvView all = transaction.in(users);
    byte[] found = all.get(bytes(id));
    if (found == null) {
      return false;
    }
    User old = user(id, found);
    all.delete(bytes(id));
    transaction.in(emails).delete(bytes(old.email()));
    transaction.in(cities).delete(bytes(old.city() + '\0' + id));
    return true;
  }

  public Optional<User> withEmail(String email) {
    try (Snapshot now = store.snapshot()) {
      return Optional.ofNullable(now.in(emails).get(bytes(email)))
          .map(id -> user(text(id), Objects.requireNonNull(now.in(users).get(id))));
    }
  }

  /** The users of a city in the order of their ids, all as of one moment. */
  public List<User> inCity(String city) {
    byte[] prefix = bytes(city + '\0');
    try (Snapshot now = store.snapshot()) {
      List<byte[]> ids = new ArrayList<>();
      now.in(cities)
          .forEach(
              ScanOptions.prefix(prefix).keysOnly(),
              (key, none) -> ids.add(Arrays.copyOfRange(key, prefix.length, key.length)));
      List<byte @Nullable []> values = now.in(users).getAll(ids);
      List<User> found = new ArrayList<>();
      for (int i = 0; i < ids.size(); i++) {
        found.add(user(text(ids.get(i)), Objects.requireNonNull(values.get(i))));
      }
      return found;
    }
  }

  private static User user(String id, byte[] value) {
    String[] parts = text(value).split("\0", -1);
    return new User(id, parts[0], parts[1]);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, UTF_8);
  }

  public static void main(String[] arguments) {
    Path directory = Path.of(arguments.length > 0 ? arguments[0] : "user-data");
    try (KvStore store = KvStore.open(directory)) {
      SecondaryIndex users = new SecondaryIndex(store);
      users.put(new User("1", "ada@example.org", "London"));
      users.put(new User("2", "grace@example.org", "New York"));
      System.out.println(users.put(new User("3", "ada@example.org", "Paris")));
      users.put(new User("1", "ada@example.com", "Turin"));
      System.out.println(users.inCity("London") + " " + users.inCity("Turin"));
    }
  }
}
