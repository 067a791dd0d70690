package io.kvsep;

import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreNotFoundException;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.concurrent.Ticker;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Host;
import io.kvsep.internal.config.EngineConfig.OpenMode;
import io.kvsep.internal.config.EngineConfig.Reclaim;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.config.EngineConfig.Sync;
import io.kvsep.internal.config.EngineConfig.Values;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.MemoryStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.read.RangeSize;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Clock;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.Function;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/** Implements the store API on an engine. */
final class OpenStore extends StoreView implements KvStore {
  /** Keeps the sync timer from occupying a processor. */
  private static final long SYNC_INTERVAL_NANOS_MIN = 1_000_000;

  /**
   * In a larger store, compactions of inline values write more than a device takes, and level 0
   * fills up while one of them runs.
   */
  private static final long LARGE_FROM_BYTES = 4L << 30;

  private final TransactionRetry retry;

  /** For tests that supply their own engine, with small limits or another storage. */
  OpenStore(StorageEngine engine) {
    this(engine, TransactionRetry.standard());
  }

  OpenStore(StorageEngine engine, TransactionRetry retry) {
    super(engine, Keyspaces.DEFAULT);
    this.retry = retry;
  }

  static KvStore open(Path directory, KvOptions options) {
    Objects.requireNonNull(directory, "directory");
    Objects.requireNonNull(options, "options");
    requireDirectory(directory);
    boolean mayCreate = options.createIfMissing() && !options.readOnly();
    // notExists is true only if absence is certain; otherwise opening fails with a device error.
    if (!mayCreate && Files.notExists(directory, LinkOption.NOFOLLOW_LINKS)) {
      throw notFound(directory);
    }
    try {
      return open(new FileStorage(directory, mayCreate), options);
    } catch (IOException e) {
      throw new StorageException("cannot open " + directory, e);
    }
  }

  static KvStore inMemory(KvOptions options) {
    return open(new MemoryStorage(), Objects.requireNonNull(options, "options"));
  }

  static void requireDirectory(Path directory) {
    if (Files.exists(directory) && !Files.isDirectory(directory)) {
      throw new IncompatibleFormatException(
          String.valueOf(directory.getFileName()),
          IncompatibleFormatException.Reason.FOREIGN,
          "not a directory");
    }
  }

  static StoreNotFoundException notFound(Path directory) {
    return new StoreNotFoundException(directory.toString());
  }

  /** Opens on any storage, for programs that observe, delay or fail file operations. */
  static KvStore open(Storage storage, KvOptions options) {
    OpenMode mode =
        new OpenMode(options.readOnly(), options.createIfMissing(), options.exclusive());
    KvResources shared = options.resources();
    KvResources resources = shared == null ? ownResources(options) : shared;
    return new OpenStore(
        StorageEngine.open(
            config(storage, options, mode, options.clock(), resources), resources.memory()));
  }

  private static KvResources ownResources(KvOptions options) {
    return KvResources.ofOneStore(options.memoryBudgetBytes(), options.backgroundThreads());
  }

  /**
   * @param mode replaces the mode in the options
   * @param clock replaces the clock in the options
   * @param resources replaces the resources in the options
   */
  static EngineConfig config(
      Storage storage, KvOptions options, OpenMode mode, Clock clock, KvResources resources) {
    boolean compresses = options.valueCompression() == ValueCompression.LZ4;
    return new EngineConfig(
        storage,
        mode,
        new Sync(commitSync(options.durability()), syncIntervalNanos(options.durability())),
        new Values(
            options.segmentBytes(),
            options.inlineValueBytesMax(),
            options.inlineValueBytesMaxIfLarge(),
            LARGE_FROM_BYTES,
            compresses ? options.valueCompressionBytesMin() : Integer.MAX_VALUE,
            options.verifyValues()),
        Shape.forBudget(
            resources.memoryBudgetBytes(), options.keyBlockCompression() == ValueCompression.LZ4),
        Reclaim.holding(options.spaceAmplificationMax(), options.segmentBytes())
            .retaining(options.changeRetentionBytes()),
        new Host(
            clock,
            Ticker.system(),
            new SplittableRandom(new SecureRandom().nextLong()),
            resources.newScheduler()));
  }

  @Override
  public void put(BytesStore<?, ?> key, BytesStore<?, ?> value) {
    engine
        .writes()
        .put(
            Keyspaces.DEFAULT,
            Objects.requireNonNull(key, "key"),
            Objects.requireNonNull(value, "value"));
  }

  @Override
  public void write(WriteBatch batch) {
    engine.writes().write(Objects.requireNonNull(batch, "batch").bufferFor(engine), null);
  }

  @Override
  public long writeVersioned(WriteBatch batch) {
    return engine.writes().write(Objects.requireNonNull(batch, "batch").bufferFor(engine), null);
  }

  @Override
  public boolean tryWrite(WriteBatch batch) {
    return engine.writes().tryWrite(Objects.requireNonNull(batch, "batch").bufferFor(engine));
  }

  @Override
  public void write(WriteBatch batch, Durability durability) {
    Objects.requireNonNull(batch, "batch");
    Objects.requireNonNull(durability, "durability");
    if (durability instanceof Durability.Async) {
      engine.writes().writeSyncedWithin(batch.bufferFor(engine), syncIntervalNanos(durability));
    } else {
      engine.writes().write(batch.bufferFor(engine), commitSync(durability));
    }
  }

  @Override
  public Snapshot snapshot() {
    return new StoreSnapshot(engine);
  }

  @Override
  public Transaction begin() {
    return new StoreTransaction(engine);
  }

  @Override
  public <R extends @Nullable Object> R transact(Function<Transaction, R> work) {
    Objects.requireNonNull(work, "work");
    return retry.run(() -> new StoreTransaction(engine), work);
  }

  @Override
  public WriteBuffer buffer() {
    return new StoreWriteBuffer(engine);
  }

  @Override
  public Keyspace keyspace(String name) {
    Objects.requireNonNull(name, "name");
    return new Keyspace(engine, engine.keyspaces().open(name), name);
  }

  @Override
  public List<Keyspace> keyspaces(Collection<String> names) {
    List<String> wanted = new ArrayList<>(Objects.requireNonNull(names, "names"));
    for (String name : wanted) {
      Objects.requireNonNull(name, "names has a null element");
    }
    List<Integer> ids = engine.keyspaces().openAll(wanted);
    List<Keyspace> opened = new ArrayList<>();
    for (int i = 0; i < ids.size(); i++) {
      opened.add(new Keyspace(engine, ids.get(i), wanted.get(i)));
    }
    return List.copyOf(opened);
  }

  @Override
  public List<String> keyspaces() {
    return engine.keyspaces().names();
  }

  @Override
  public void dropKeyspace(Keyspace keyspace) {
    engine.keyspaces().drop(Objects.requireNonNull(keyspace, "keyspace").idIn(engine));
  }

  @Override
  public KeyspaceView in(Keyspace keyspace) {
    return view(keyspace);
  }

  private StoreView view(Keyspace keyspace) {
    int id = Objects.requireNonNull(keyspace, "keyspace").idIn(engine);
    engine.keyspaces().requirePresent(id);
    return new StoreView(engine, id);
  }

  @Override
  public void sync() {
    engine.sync();
  }

  @Override
  public void flush() {
    engine.flush();
  }

  @Override
  public void compact() {
    engine.compact();
  }

  @Override
  public ReclaimReport reclaim() {
    return engine.reclaim();
  }

  @Override
  public void checkpoint(Path directory) {
    engine.backups().checkpoint(Objects.requireNonNull(directory, "directory"));
  }

  @Override
  public long backup(OutputStream output, long sinceSequence) {
    return engine.backups().backup(Objects.requireNonNull(output, "output"), sinceSequence);
  }

  @Override
  public long restore(InputStream input) {
    return engine.backups().restore(Objects.requireNonNull(input, "input"));
  }

  @Override
  public long bulkLoad(Keyspace keyspace, Iterator<? extends Map.Entry<byte[], byte[]>> entries) {
    return in(keyspace).bulkLoad(entries);
  }

  @Override
  public ChangeFeed changes(long afterSequence) {
    return new StoreChangeFeed(engine, afterSequence);
  }

  @Override
  public VerifyReport verify() {
    return engine.verify();
  }

  @Override
  public StoreStats stats() {
    return engine.stats();
  }

  @Override
  public KeyspaceStats stats(Keyspace keyspace) {
    RangeSize size = view(keyspace).size(/* from= */ null, /* to= */ null);
    long inlineBytes = Math.max(0, size.indexBytes() - size.keyBytes());
    return new KeyspaceStats(size.entries(), size.keyBytes(), inlineBytes + size.logBytes());
  }

  @Override
  public List<SegmentStats> segments() {
    return List.copyOf(engine.segments());
  }

  @Override
  public void close() {
    engine.close();
  }

  private static CommitSync commitSync(Durability durability) {
    if (durability instanceof Durability.Sync) {
      return CommitSync.EVERY_COMMIT;
    }
    return durability instanceof Durability.Async ? CommitSync.INTERVAL : CommitSync.ON_DEMAND;
  }

  private static long syncIntervalNanos(Durability durability) {
    if (durability instanceof Durability.Async async) {
      long seconds = async.interval().toSeconds();
      return seconds > 1_000_000_000L
          ? Long.MAX_VALUE / 2
          : Math.max(SYNC_INTERVAL_NANOS_MIN, async.interval().toNanos());
    }
    return 0;
  }
}
