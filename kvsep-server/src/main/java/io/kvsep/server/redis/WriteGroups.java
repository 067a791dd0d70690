package io.kvsep.server.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The writes of a round: a group for each shard of a cluster, which are committed at the same time.
 * A connection has writes in one group alone. For one thread.
 */
final class WriteGroups {
  private final ServerState server;
  private final List<WriteGroup> groups = new ArrayList<>();

  /**
   * @param calls null on a server of one store
   */
  WriteGroups(ServerState server, @Nullable RoundCalls calls) {
    this.server = server;
    for (int shard = 0; shard < server.shards(); shard++) {
      groups.add(new WriteGroup(server, calls, shard));
    }
  }

  void add(int shard, Session session, Command command, Request request) {
    groups.get(shard).add(session, command, request);
  }

  boolean isEmpty() {
    for (int i = 0; i < groups.size(); i++) {
      if (!groups.get(i).isEmpty()) {
        return false;
      }
    }
    return true;
  }

  boolean isFull() {
    for (int i = 0; i < groups.size(); i++) {
      if (groups.get(i).isFull()) {
        return true;
      }
    }
    return false;
  }

  /** As {@link WriteGroup#commit}, for all. */
  boolean commit() {
    return groups.size() == 1 ? groups.get(0).commit() : commitAll();
  }

  private boolean commitAll() {
    List<CompletableFuture<Boolean>> others = new ArrayList<>();
    WriteGroup own = null;
    for (WriteGroup group : groups) {
      if (group.isEmpty()) {
        continue;
      }
      if (own == null) {
        own = group;
      } else {
        others.add(elsewhere(group));
      }
    }
    boolean done = true;
    try {
      done = own == null || own.commit();
    } finally {
      // They use the connections of this round.
      done &= join(others);
    }
    return done;
  }

  private CompletableFuture<Boolean> elsewhere(WriteGroup group) {
    try {
      return CompletableFuture.supplyAsync(group::commit, server.shardWriters());
    } catch (RejectedExecutionException e) {
      return CompletableFuture.completedFuture(group.commit());
    }
  }

  private static boolean join(List<CompletableFuture<Boolean>> commits) {
    boolean done = true;
    CompletionException failure = null;
    for (CompletableFuture<Boolean> commit : commits) {
      try {
        done &= commit.join();
      } catch (CompletionException e) {
        failure = e;
      }
    }
    if (failure != null) {
      throw failure;
    }
    return done;
  }

  /** As {@link WriteGroup#tryCommit}. On a node of a cluster all writes wait, so there are none. */
  boolean tryCommit() {
    return groups.get(0).tryCommit();
  }

  /** Drops commands that get no reply. Throws nothing. */
  void giveUp() {
    for (int i = 0; i < groups.size(); i++) {
      groups.get(i).giveUp();
    }
  }
}
