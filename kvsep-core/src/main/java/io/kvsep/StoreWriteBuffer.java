package io.kvsep;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.txn.EngineWriteBuffer;
import java.util.Objects;

/** Implements the write buffer API on an engine write buffer. */
final class StoreWriteBuffer extends TransactionView implements WriteBuffer {
  private final StorageEngine engine;
  private final EngineWriteBuffer buffer;

  StoreWriteBuffer(StorageEngine engine) {
    this(engine, engine.buffer());
  }

  private StoreWriteBuffer(StorageEngine engine, EngineWriteBuffer buffer) {
    super(buffer, Keyspaces.DEFAULT);
    this.engine = engine;
    this.buffer = buffer;
  }

  @Override
  public KvView in(Keyspace keyspace) {
    int id = Objects.requireNonNull(keyspace, "keyspace").idIn(engine);
    buffer.check(id);
    return new TransactionView(buffer, id);
  }

  @Override
  public long bytes() {
    return buffer.bytes();
  }

  @Override
  public void commit() {
    commit(new WriteBatch());
  }

  @Override
  public void commit(WriteBatch extra) {
    Objects.requireNonNull(extra, "extra");
    PageFaults.guard(() -> buffer.commit(extra.bufferFor(engine)));
  }

  @Override
  public void discard() {
    buffer.discard();
  }

  @Override
  public void close() {
    buffer.close();
  }
}
