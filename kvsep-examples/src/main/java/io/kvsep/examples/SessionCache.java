package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * Sessions that survive a restart and expire by themselves, and a count of visits to which requests
 * that come at the same time all add.
 *
 * <pre>
 * session/TOKEN   the user; has a time to live
 * visits/USER     a number in decimal digits
 * </pre>
 */
public final class SessionCache {
  private final KvStore store;
  private final Duration timeToLive;

  public SessionCache(KvStore store, Duration timeToLive) {
    this.store = store;
    this.timeToLive = timeToLive;
  }

  /** From now on and until it expires or is closed {@code token} stands for {@code user}. */
  public void open(String token, String user) {
    store.put(bytes("session/" + token), bytes(user), timeToLive);
  }

  /** Empty when there is no such session, or not any more. */
  public Optional<String> user(String token) {
    return Optional.ofNullable(store.get(bytes("session/" + token)))
        .map(user -> new String(user, UTF_8));
  }

  public void close(String token) {
    store.delete(bytes("session/" + token));
  }

  /** Adds one visit, whoever else adds one meanwhile; how many there are then. */
  public long countVisit(String user) {
    byte[] key = bytes("visits/" + user);
    while (true) {
      // Null for the first visit, and compareAndSet takes null for: must be absent.
      byte[] before = store.get(key);
      long visits = before == null ? 1 : Long.parseLong(new String(before, UTF_8)) + 1;
      if (store.compareAndSet(key, before, bytes(Long.toString(visits)))) {
        return visits;
      }
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  public static void main(String[] arguments) {
    Path directory = Path.of(arguments.length > 0 ? arguments[0] : "session-data");
    try (KvStore store = KvStore.open(directory)) {
      SessionCache sessions = new SessionCache(store, Duration.ofMinutes(30));
      sessions.open("token-1", "ada");
      String user = sessions.user("token-1").orElse("nobody");
      System.out.println(user + ", visit " + sessions.countVisit(user));
    }
  }
}
