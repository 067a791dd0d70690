package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * Sessions that survive a restart and expire automatically, and a visit counter that concurrent
 * requests can increment.
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

  /** Makes {@code token} stand for {@code user} until it expires or is closed. */
  public void open(String token, String user) {
    store.put(bytes("session/" + token), bytes(user), timeToLive);
  }

  /** Empty if the session does not exist or has expired. */
  public Optional<String> user(String token) {
    return Optional.ofNullable(store.get(bytes("session/" + token)))
        .map(user -> new String(user, UTF_8));
  }

  public void close(String token) {
    store.delete(bytes("session/" + token));
  }

  /** Adds one visit, also with concurrent callers, and returns the new count. */
  public long countVisit(String user) {
    byte[] key = bytes("visits/" + user);
    while (true) {
      // Null for the first visit; compareAndSet takes null as: must be absent.
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
