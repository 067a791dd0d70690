package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.Optional;

/**
 * Sessions that survive a restart and expire some time after their last use, and a visit counter
 * that concurrent requests can increment.
 *
 * <pre>
 * session/TOKEN   the user; has a time to live, which uses extend
 * visits/USER     a counter of 8 bytes
 * </pre>
 */
public final class SessionCache {
  private final KvStore store;
  private final Duration timeToLive;
  private final Clock clock;

  /**
   * @param clock that of the store
   */
  public SessionCache(KvStore store, Duration timeToLive, Clock clock) {
    this.store = store;
    this.timeToLive = timeToLive;
    this.clock = clock;
  }

  private record Session(String user, long expiresAtMillis) {}

  /** Makes {@code token} stand for {@code user} until it expires or is closed. */
  public void open(String token, String user) {
    store.put(bytes("session/" + token), bytes(user), timeToLive);
  }

  /**
   * Empty if the session does not exist or has expired; otherwise it lasts for at least another
   * half of the time to live.
   */
  public Optional<String> user(String token) {
    byte[] key = bytes("session/" + token);
    Session session =
        store.readWithInfo(
            key,
            (info, value) ->
                new Session(
                    UTF_8.decode(value).toString(), info.expiresAtMillis().orElse(Long.MAX_VALUE)));
    if (session == null) {
      return Optional.empty();
    }
    // Extending writes the entry again, so most uses only read.
    if (session.expiresAtMillis() - clock.millis() < timeToLive.toMillis() / 2) {
      store.expire(key, timeToLive);
    }
    return Optional.of(session.user());
  }

  public void close(String token) {
    store.delete(bytes("session/" + token));
  }

  /** Adds one visit, also with concurrent callers, and returns the new count. */
  public long countVisit(String user) {
    return store.increment(bytes("visits/" + user), 1);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  public static void main(String[] arguments) {
    Path directory = Path.of(arguments.length > 0 ? arguments[0] : "session-data");
    KvOptions options = KvOptions.defaults();
    try (KvStore store = KvStore.open(directory, options)) {
      SessionCache sessions = new SessionCache(store, Duration.ofMinutes(30), options.clock());
      sessions.open("token-1", "ada");
      String user = sessions.user("token-1").orElse("none");
      System.out.println(user + ", visit " + sessions.countVisit(user));
    }
  }
}
