package io.kvsep.server.redis;

import io.kvsep.KvStore;
import io.kvsep.Transaction;
import io.kvsep.WriteBatch;
import io.kvsep.error.ConflictException;
import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.cluster.LogPosition;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Commits writes of many connections together: as a batch if none of them reads, otherwise as a
 * transaction of the store. Replies are written at once, truncated if the commit fails or meets a
 * conflict, and sent after it. If a group fails, each of its commands is tried alone, so that no
 * client gets the error of another.
 *
 * <p>A short command can have a long reply and write a long value, as GETEX does. So a group is
 * also cut by what its commands produce, and commands after the cut are put back.
 *
 * <p>After a conflict with other users of the store the group is retried for some time; after a few
 * tries other groups are kept out meanwhile. For one thread.
 *
 * <p>Cleanup allocates nothing, because memory may have run out: it iterates lists by index.
 */
final class WriteGroup {
  private static final int COMMANDS_MAX = 1024;
  private static final long BYTES_MAX = 1 << 20;

  /** Bytes of replies and of values kept by a transaction, after which a group is cut. */
  private static final long MADE_BYTES_MAX = 4 << 20;

  /** Tries before other groups are kept out. */
  private static final int SHARED_TRIES = 3;

  /** Time from the start of a group, after which each of its commands has few tries left. */
  static final long RETRY_MILLIS_MAX = 10_000;

  /** In case the clock was set back: with the pauses, these tries take longer than that time. */
  private static final int TRIES_MAX = 10_000;

  private static final long PAUSE_NANOS_MIN = 16_000;
  private static final long PAUSE_NANOS_MAX = 8_192_000;

  private record Entry(Session session, Command command, Request request) {
    boolean onlyWrites() {
      return command.onlyWrites().test(request.arguments);
    }

    /** Whether it removes all keys of a database. */
    boolean clears() {
      return command.firstKey() == 0 && onlyWrites();
    }

    boolean endsTransaction() {
      return command.name().equals(TransactionCommands.EXEC);
    }
  }

  private final ServerState server;
  private final @Nullable RoundCalls calls;
  private final int shard;
  private final List<Entry> entries = new ArrayList<>();
  private final WriteBatch batch = new WriteBatch();
  private long bytes;

  /** When the commit of the current commands began. */
  private long beganMillis;

  /** Bytes of values that the current command has written in its transaction. */
  private long writtenBytes;

  /**
   * @param calls null on a server of one store
   * @param shard of the keys of the commands
   */
  WriteGroup(ServerState server, @Nullable RoundCalls calls, int shard) {
    this.server = server;
    this.calls = calls;
    this.shard = shard;
  }

  void add(Session session, Command command, Request request) {
    entries.add(new Entry(session, command, request));
    if (session.inGroup++ == 0) {
      mark(session);
      session.groupShard = shard;
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
   * Commits commands, at least one, until they have produced too much. Those have their replies
   * then; the others are put back. Returns whether there were no others.
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
      if (server.isUnavailable(e)) {
        // They may be carried out, and must not be a second time.
        entries.forEach(entry -> refuse(entry, e));
        return entries.size();
      }
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
   * Commits everything if that is possible without waiting; all of it only writes. Returns whether
   * it was. If not, the commands are put back, and their connections leave with them for a thread
   * that may wait.
   */
  boolean tryCommit() {
    boolean committed = false;
    // Fails while others are kept out for a transaction that met conflicts.
    Lock lock = server.commits().readLock();
    boolean locked = lock.tryLock();
    try {
      if (locked) {
        fill(entries);
        committed = server.store().tryWrite(batch);
      }
    } catch (RuntimeException | Error e) {
      // A thread that may wait retries each command alone, and replies with the result.
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

  /** Puts the commands from an index on back into the inboxes of their connections. */
  private void giveBack(int first) {
    for (int i = entries.size() - 1; i >= first; i--) {
      Session session = entries.get(i).session;
      Request request = entries.get(i).request;
      session.inGroup = 0;
      try {
        session.putBack(request);
      } catch (RuntimeException | Error e) {
        // No memory for a longer inbox, and later commands in it must not be executed.
        session.closing = true;
        server.budget().release(request.reservedBytes);
      }
    }
  }

  /** Drops commands that get no reply. Throws nothing. */
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
   * Commits commands from the first on and returns their number. Retries once if another user of
   * the store has dropped a keyspace, which shows before anything is written.
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
        return calls == null ? carryOut(some, onlyWrites) : carryOut(calls, some, onlyWrites);
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

  private int carryOut(RoundCalls calls, List<Entry> some, boolean onlyWrites) {
    try (ClusterNode.Call call = calls.beginWrites(shard)) {
      int done = carryOut(some, onlyWrites);
      calls.end(call);
      LogPosition written = call.written();
      if (!written.isEmpty()) {
        some.forEach(entry -> entry.session.lastWrite = entry.session.lastWrite.max(written));
      }
      return done;
    } catch (RuntimeException e) {
      calls.failed(e, shard);
      throw e;
    }
  }

  private int carryOut(List<Entry> some, boolean onlyWrites) {
    return onlyWrites ? write(some) : transact(some);
  }

  /** Whether the time is over, or no client waits any more. */
  private boolean isInVain(List<Entry> some, int tries) {
    return tries == TRIES_MAX
        || server.options().clock().millis() - beganMillis >= RETRY_MILLIS_MAX
        || some.stream().allMatch(entry -> entry.session.gone);
  }

  private int write(List<Entry> some) {
    if (server.shards() > 1 && some.get(0).clears()) {
      // It is alone: a batch cannot be of all shards.
      long unusedBytes = run(some.get(0), server.databases().present());
      return 1;
    }
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

  /** One value may always be written; EXEC may run any number of commands that write long ones. */
  private void willWrite(int length) {
    if (writtenBytes > server.options().limits().requestBytes()) {
      throw new CommandLimitException("the transaction is too large");
    }
    writtenBytes += length;
  }

  /** Returns the bytes that the command produced. */
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

  private void refuse(Entry entry, Throwable failure) {
    try {
      entry.session.replies.begin();
      entry.session.replies.error(server.reply(failure));
    } catch (RuntimeException | Error e) {
      // No memory for the reply. No other may take its place, so the connection ends.
      entry.session.closing = true;
    }
  }

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
