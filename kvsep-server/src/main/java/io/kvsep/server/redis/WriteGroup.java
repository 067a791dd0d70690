package io.kvsep.server.redis;

import io.kvsep.KvStore;
import io.kvsep.Transaction;
import io.kvsep.WriteBatch;
import io.kvsep.error.ConflictException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;

/**
 * Writing commands of many connections that become one commit: a batch when none of them reads, a
 * transaction of the store otherwise. Replies are written at once and cut back when the commit
 * fails or meets a conflict; they are sent after it. Where a group fails, each of its commands is
 * tried alone, so that nobody gets the error of another.
 *
 * <p>A short command can have a long reply, and write a long value: GETEX does both. So a group is
 * also cut by what carrying it out makes, and connections have the commands behind the cut back.
 *
 * <p>Conflicts with other users of the store are met again and again until there is none, for some
 * time; after a few, other lanes are kept out meanwhile. Of one thread.
 *
 * <p>What has to be done whatever comes up makes no objects, as memory may be what lacks: lists are
 * gone through by index there.
 */
final class WriteGroup {
  private static final int COMMANDS_MAX = 1024;
  private static final long BYTES_MAX = 1 << 20;

  /** Replies, and values that a transaction keeps, behind which a group is cut. */
  private static final long MADE_BYTES_MAX = 4 << 20;

  /** Tries beside other lanes. */
  private static final int SHARED_TRIES = 3;

  /** From when a group begins, after which each of its commands has few tries left. */
  static final long RETRY_MILLIS_MAX = 10_000;

  /** For a clock that was set back: with the pauses between them, more than that time. */
  private static final int TRIES_MAX = 10_000;

  private static final long PAUSE_NANOS_MIN = 16_000;
  private static final long PAUSE_NANOS_MAX = 8_192_000;

  private record Entry(Session session, Command command, Request request) {
    boolean onlyWrites() {
      return command.onlyWrites().test(request.arguments);
    }

    boolean endsTransaction() {
      return command.name().equals(TransactionCommands.EXEC);
    }
  }

  private final ServerState server;
  private final List<Entry> entries = new ArrayList<>();
  private final WriteBatch batch = new WriteBatch();
  private long bytes;

  /** When what is there began to be committed. */
  private long beganMillis;

  /** Bytes of values that the command that runs has written in its transaction. */
  private long writtenBytes;

  WriteGroup(ServerState server) {
    this.server = server;
  }

  void add(Session session, Command command, Request request) {
    entries.add(new Entry(session, command, request));
    if (session.inGroup++ == 0) {
      mark(session);
    }
    bytes += request.bytes + session.queuedBytes;
  }

  boolean isEmpty() {
    return entries.isEmpty();
  }

  boolean isFull() {
    return entries.size() >= COMMANDS_MAX || bytes >= BYTES_MAX;
  }

  /**
   * Carries commands out, one at least, until they have made too much; those have their replies
   * then, and connections have the others back. Whether there were none.
   */
  boolean commit() {
    int count = entries.size();
    int done = count;
    try {
      if (count > 0) {
        done = commitSome();
      }
    } finally {
      finish(done);
      giveBack(done);
      forget();
    }
    return done == count;
  }

  private int commitSome() {
    try {
      beganMillis = server.options().clock().millis();
      return commit(entries);
    } catch (RuntimeException | Error e) {
      cutBack();
      if (entries.size() > 1) {
        return commitEach();
      }
      refuse(entries.get(0), e);
      return 1;
    }
  }

  private int commitEach() {
    int done = 0;
    long made = 0;
    while (done < entries.size() && made < MADE_BYTES_MAX) {
      Entry entry = entries.get(done++);
      if (!entry.session.closing) {
        mark(entry.session);
        commitAlone(entry);
        made += entry.session.replies.length() - entry.session.groupMark;
      }
    }
    return done;
  }

  /**
   * Carries everything out if that needs no wait and nothing is in the way; all of it only writes.
   * Whether it did. When not, the connections have their commands back, and are to leave with them
   * for a thread that may wait.
   */
  boolean tryCommit() {
    boolean committed = false;
    // Not while others are kept out so that a transaction meets no more conflicts.
    Lock lock = server.commits().readLock();
    boolean locked = lock.tryLock();
    try {
      if (locked) {
        fill(entries);
        committed = server.store().tryWrite(batch);
      }
    } catch (RuntimeException | Error e) {
      // Whoever may wait tries again, each alone, and answers what becomes of it.
      committed = false;
    } finally {
      if (locked) {
        lock.unlock();
      }
      if (committed) {
        finish(entries.size());
      } else {
        cutBack();
        for (int i = 0; i < entries.size(); i++) {
          entries.get(i).session.leaves = true;
        }
        giveBack(0);
      }
      forget();
    }
    return committed;
  }

  /** What is behind some commands comes first again with its connections. */
  private void giveBack(int first) {
    for (int i = entries.size() - 1; i >= first; i--) {
      Session session = entries.get(i).session;
      Request request = entries.get(i).request;
      session.inGroup = 0;
      try {
        session.putBack(request);
      } catch (RuntimeException | Error e) {
        // No memory for a longer inbox; what is behind it there must not be carried out.
        session.closing = true;
        server.budget().release(request.reservedBytes);
      }
    }
  }

  /** Drops commands that nobody will be told of. Throws nothing. */
  void giveUp() {
    finish(entries.size());
    entries.clear();
    bytes = 0;
  }

  private void forget() {
    entries.clear();
    bytes = 0;
    batch.clear();
  }

  private void commitAlone(Entry entry) {
    try {
      commit(List.of(entry));
    } catch (RuntimeException | Error e) {
      cutBack(entry.session);
      refuse(entry, e);
    }
  }

  /**
   * Commits some from the first on; how many. Once more where a keyspace was dropped behind our
   * back, which shows before anything is written.
   */
  private int commit(List<Entry> some) {
    try {
      return commitOnce(some);
    } catch (RuntimeException e) {
      if (!server.mayGoWellAgain(e)) {
        throw e;
      }
      some.forEach(entry -> cutBack(entry.session));
      return commitOnce(some);
    }
  }

  private int commitOnce(List<Entry> some) {
    boolean onlyWrites = some.stream().allMatch(Entry::onlyWrites);
    long pause = PAUSE_NANOS_MIN;
    for (int tries = 1; ; tries++) {
      Lock lock = tries > SHARED_TRIES ? server.commits().writeLock() : server.commits().readLock();
      lock.lock();
      try {
        return onlyWrites ? write(some) : transact(some);
      } catch (ConflictException e) {
        if (tries > SHARED_TRIES && isInVain(some, tries)) {
          throw e;
        }
        some.forEach(entry -> cutBack(entry.session));
      } finally {
        lock.unlock();
      }
      LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(pause));
      pause = Math.min(PAUSE_NANOS_MAX, 2 * pause);
    }
  }

  /** Whether there was time enough, or nobody is left who waits for it. */
  private boolean isInVain(List<Entry> some, int tries) {
    return tries == TRIES_MAX
        || server.options().clock().millis() - beganMillis >= RETRY_MILLIS_MAX
        || some.stream().allMatch(entry -> entry.session.gone);
  }

  private int write(List<Entry> some) {
    fill(some);
    server.store().write(batch);
    return some.size();
  }

  private void fill(List<Entry> some) {
    batch.clear();
    Entries.Spaces spaces = server.databases().in(batch);
    for (Entry entry : some) {
      run(entry, spaces);
    }
  }

  private int transact(List<Entry> some) {
    KvStore store = server.store();
    int done = 0;
    long made = 0;
    try (Transaction transaction = store.begin()) {
      Entries.Spaces spaces = server.databases().in(transaction, this::willWrite);
      while (done < some.size() && made < MADE_BYTES_MAX) {
        made += run(some.get(done++), spaces);
      }
      transaction.commit();
    }
    return done;
  }

  /**
   * One value may be written in any case; EXEC may run any number of commands that write long ones.
   */
  private void willWrite(int length) {
    if (writtenBytes > server.options().limits().requestBytes()) {
      throw new CommandLimitException("the transaction is too large");
    }
    writtenBytes += length;
  }

  /** Returns bytes of what it made. */
  private long run(Entry entry, Entries.Spaces spaces) {
    Session session = entry.session;
    Replies out = session.replies;
    int mark = out.begin();
    writtenBytes = 0;
    try {
      entry
          .command
          .body()
          .run(
              new Call(
                  server, session, spaces, out, entry.command.name(), entry.request.arguments));
    } catch (CommandError e) {
      out.cutBackTo(mark);
      out.error(e.reply());
    }
    return out.length() - mark + writtenBytes;
  }

  private static void refuse(Entry entry, Throwable failure) {
    try {
      entry.session.replies.begin();
      entry.session.replies.error(StoreErrors.reply(failure));
    } catch (RuntimeException | Error e) {
      // No memory even for that. Nothing may come in its place, so the connection ends.
      entry.session.closing = true;
    }
  }

  /** Is through with some commands, from the first on. */
  private void finish(int count) {
    for (int i = 0; i < count; i++) {
      finish(entries.get(i));
    }
  }

  private void finish(Entry entry) {
    entry.session.inGroup = 0;
    server.budget().release(entry.request.reservedBytes);
    if (entry.endsTransaction() && entry.session.queue != null) {
      entry.session.discard(server.budget());
    }
  }

  private static void mark(Session session) {
    session.groupMark = session.replies.length();
    session.groupDatabase = session.database;
  }

  private void cutBack() {
    for (int i = 0; i < entries.size(); i++) {
      cutBack(entries.get(i).session);
    }
  }

  private static void cutBack(Session session) {
    session.replies.cutBackTo(session.groupMark);
    session.database = session.groupDatabase;
  }
}
