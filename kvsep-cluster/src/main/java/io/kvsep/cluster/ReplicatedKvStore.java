package io.kvsep.cluster;

import io.kvsep.ChangeFeed;
import io.kvsep.Durability;
import io.kvsep.Keyspace;
import io.kvsep.KeyspaceStats;
import io.kvsep.KeyspaceView;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.ReclaimReport;
import io.kvsep.SegmentStats;
import io.kvsep.Snapshot;
import io.kvsep.StoreStats;
import io.kvsep.Transaction;
import io.kvsep.VerifyReport;
import io.kvsep.WriteBatch;
import io.kvsep.WriteBuffer;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/**
 * The group as a store. A {@link Keyspace} of it is one of the local store, and stands for its
 * name: the local store may be replaced by a received snapshot.
 */
final class ReplicatedKvStore extends ReplicatedView implements KvStore {
  ReplicatedKvStore(ReplicatedStore replicated, Consistency consistency) {
    super(replicated, consistency, null);
  }

  @Override
  public void put(BytesStore<?, ?> key, BytesStore<?, ?> value) {
    put(bytes(Objects.requireNonNull(key, "key")), bytes(Objects.requireNonNull(value, "value")));
  }

  @Override
  public void write(WriteBatch batch) {
    if (batch.count() > 0) {
      replicated.write(batch);
    }
  }

  /** False: every write waits for other nodes. */
  @Override
  public boolean tryWrite(WriteBatch batch) {
    Objects.requireNonNull(batch, "batch");
    return false;
  }

  @Override
  public long writeVersioned(WriteBatch batch) {
    throw new UnsupportedOperationException(
        "a replicated store has no versions of batches: call write of ReplicatedStore, which"
            + " returns the index of the log");
  }

  /** The log is synced by a majority, whatever {@code durability} says. */
  @Override
  public void write(WriteBatch batch, Durability durability) {
    Objects.requireNonNull(durability, "durability");
    write(batch);
  }

  @Override
  public Snapshot snapshot() {
    return replicated.<Snapshot>read(
        consistency, store -> new ReplicatedSnapshot(store.snapshot()));
  }

  @Override
  public Transaction begin() {
    return ReplicatedTransaction.begin(replicated, consistency);
  }

  @Override
  public <R extends @Nullable Object> R transact(Function<Transaction, R> work) {
    Objects.requireNonNull(work, "work");
    return ReplicatedTransaction.<R>transact(replicated, consistency, work::apply);
  }

  @Override
  public WriteBuffer buffer() {
    return new ReplicatedBuffer(replicated, replicated.current(consistency));
  }

  @Override
  public Keyspace keyspace(String name) {
    return keyspaces(List.of(name)).get(0);
  }

  @Override
  public List<Keyspace> keyspaces(Collection<String> names) {
    List<String> wanted = new ArrayList<>(Objects.requireNonNull(names, "names"));
    wanted.forEach(RequestWriter::requireName);
    GroupStore store = replicated.current(consistency);
    List<String> missing = new ArrayList<>(new LinkedHashSet<>(wanted));
    missing.removeAll(store.keyspaces());
    if (!missing.isEmpty()) {
      WriteGatherer.Outcome created =
          replicated.submit(RequestWriter.createKeyspaces(missing), /* alone= */ true);
      store = replicated.current(Consistency.stale(created.index()));
    }
    return wanted.stream().map(store::required).toList();
  }

  @Override
  public List<String> keyspaces() {
    return replicated.read(consistency, GroupStore::keyspaces);
  }

  @Override
  public void dropKeyspace(Keyspace keyspace) {
    WriteGatherer.Outcome dropped =
        replicated.submit(RequestWriter.dropKeyspace(keyspace.name()), /* alone= */ true);
    replicated.current(Consistency.stale(dropped.index()));
  }

  /** For a server, whose cached keyspace may be gone, it must be there. */
  @Override
  public KeyspaceView in(Keyspace keyspace) {
    if (consistency == Consistency.OF_CALL) {
      replicated.machine().live().required(keyspace.name());
    }
    return new ReplicatedView(replicated, consistency, keyspace.name());
  }

  /** What was acknowledged is on stable storage of a majority; this syncs the local store. */
  @Override
  public void sync() {
    local(
        store -> {
          store.sync();
          return null;
        });
  }

  @Override
  public void flush() {
    local(
        store -> {
          store.flush();
          return null;
        });
  }

  @Override
  public void compact() {
    local(
        store -> {
          store.compact();
          return null;
        });
  }

  @Override
  public ReclaimReport reclaim() {
    return local(KvStore::reclaim);
  }

  @Override
  public VerifyReport verify() {
    return local(KvStore::verify);
  }

  /** Of the local store; the copy is no member of the group, and its own store. */
  @Override
  public void checkpoint(Path directory) {
    replicated.current(consistency);
    local(
        store -> {
          store.checkpoint(directory);
          return null;
        });
  }

  /** Of the local store, to be restored into one that is not replicated. */
  @Override
  public long backup(OutputStream output, long sinceSequence) {
    replicated.current(consistency);
    return local(store -> store.backup(output, sinceSequence));
  }

  @Override
  public long restore(InputStream input) {
    throw new UnsupportedOperationException(
        "a backup cannot be restored into a replicated store: write its content in batches");
  }

  @Override
  public long bulkLoad(Keyspace keyspace, Iterator<? extends Map.Entry<byte[], byte[]>> entries) {
    return bulkLoad(entries);
  }

  /** With numbers of the group; reads the log of the local store. */
  @Override
  public ChangeFeed changes(long afterSequence) {
    replicated.current(consistency);
    return new ReplicatedFeed(replicated.machine()::live, afterSequence);
  }

  @Override
  public StoreStats stats() {
    return local(KvStore::stats);
  }

  @Override
  public KeyspaceStats stats(Keyspace keyspace) {
    GroupStore store = replicated.machine().live();
    return store.store().stats(store.required(keyspace.name()));
  }

  @Override
  public List<SegmentStats> segments() {
    return local(KvStore::segments);
  }

  /** Nothing: the node is closed where it was opened. */
  @Override
  public void close() {}

  private <R extends @Nullable Object> R local(Function<KvStore, R> work) {
    return work.apply(replicated.machine().live().store());
  }

  /** A snapshot of the local store. */
  private static final class ReplicatedSnapshot extends ForwardingReader implements Snapshot {
    private final GroupStore.State state;

    ReplicatedSnapshot(GroupStore.State state) {
      this.state = state;
    }

    @Override
    <R extends @Nullable Object> R with(Function<KvReader, R> read) {
      return read.apply(state.snapshot());
    }

    @Override
    public KvReader in(Keyspace keyspace) {
      KvReader view = state.reader(keyspace.name());
      return new ForwardingReader() {
        @Override
        <R extends @Nullable Object> R with(Function<KvReader, R> read) {
          return read.apply(view);
        }
      };
    }

    @Override
    public long sequence() {
      return state.sequence();
    }

    @Override
    public void close() {
      state.snapshot().close();
    }
  }
}
