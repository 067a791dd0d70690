package io.kvsep.cluster;

import io.kvsep.Keyspace;
import io.kvsep.KvView;
import io.kvsep.WriteBatch;
import io.kvsep.WriteBuffer;

/** A write buffer over the store of this node, whose commit is a batch of the group. */
final class ReplicatedBuffer extends RecordingView implements WriteBuffer {
  private final ReplicatedStore replicated;
  private final GroupStore store;
  private final WriteBuffer local;

  ReplicatedBuffer(ReplicatedStore replicated, GroupStore store) {
    this(replicated, store, store.store().buffer());
  }

  private ReplicatedBuffer(ReplicatedStore replicated, GroupStore store, WriteBuffer local) {
    super(new Recorder(replicated, /* tracksReads= */ false, GroupClock.WALL), null, local);
    this.replicated = replicated;
    this.store = store;
    this.local = local;
  }

  @Override
  public KvView in(Keyspace keyspace) {
    String name = keyspace.name();
    return new RecordingView(recorder, name, local.in(store.required(name)));
  }

  @Override
  public long bytes() {
    return local.bytes();
  }

  @Override
  public void commit() {
    commit(new WriteBatch());
  }

  @Override
  public void commit(WriteBatch extra) {
    // Throws when the buffer is closed.
    local.bytes();
    if (recorder.request().writeCount() + extra.count() > 0) {
      RequestWriter request = recorder.request().copy().addAll(extra);
      WriteGatherer.Outcome outcome = replicated.submit(request);
      replicated.current(Consistency.stale(outcome.index()));
    }
    discard();
  }

  @Override
  public void discard() {
    local.discard();
    recorder.clear();
  }

  @Override
  public void close() {
    local.close();
  }
}
