package io.kvsep.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.kvsep.bench.StopPoint.Step;
import io.kvsep.bench.StopPoint.Target;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A storage that calls back when the store reaches a {@link StopPoint}, on the thread that reached
 * it; the call does not return. Otherwise forwards to the underlying storage. Thread safe.
 */
final class StoppingStorage extends ForwardingStorage {
  private static final byte[] RELOCATED_MAGIC = "KVSEPREL".getBytes(US_ASCII);

  private final @Nullable StopPoint point;
  private final Runnable stop;
  private final AtomicInteger reached = new AtomicInteger();

  /** Both kinds of log files have the same names; only their first bytes differ. */
  private final Set<String> relocated = ConcurrentHashMap.newKeySet();

  /**
   * @param point null to never stop
   */
  StoppingStorage(Storage storage, @Nullable StopPoint point, Runnable stop) {
    super(storage);
    this.point = point;
    this.stop = stop;
  }

  /** Stops before the step, if the point says so; returns whether to stop after it. */
  private boolean begin(Step step, String name) {
    StopPoint wanted = point;
    if (wanted == null
        || wanted.step() != step
        || wanted.target() != targetOf(name)
        || reached.incrementAndGet() != wanted.nth()) {
      return false;
    }
    if (!wanted.after()) {
      stop.run();
    }
    return wanted.after();
  }

  private void end(boolean stops) {
    if (stops) {
      stop.run();
    }
  }

  private Target targetOf(String name) {
    return switch (StoreFiles.kindOf(name)) {
      case CURRENT -> Target.CURRENT;
      case MANIFEST -> Target.MANIFEST;
      case SEGMENT -> relocated.contains(name) ? Target.RELOCATED : Target.SEGMENT;
      case TABLE -> Target.TABLE;
      case TEMPORARY ->
          name.equals(StoreFiles.CURRENT_TEMPORARY)
              ? Target.CURRENT
              : name.contains(".vlog") ? Target.SEGMENT : Target.OTHER;
      case LOCK, OTHER -> Target.OTHER;
    };
  }

  @Override
  public StorageFile create(String name) throws IOException {
    boolean stops = begin(Step.CREATE, name);
    StorageFile file = super.create(name);
    end(stops);
    return new StoppingFile(file);
  }

  @Override
  public StorageFile open(String name, boolean writable) throws IOException {
    StorageFile file = super.open(name, writable);
    if (StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT) {
      ByteBuffer magic = ByteBuffer.allocateDirect(RELOCATED_MAGIC.length);
      file.read(magic, 0);
      note(name, magic.flip());
    }
    return new StoppingFile(file);
  }

  /** Notes the kind of a file, from its first bytes. */
  private void note(String name, ByteBuffer first) {
    if (first.remaining() >= RELOCATED_MAGIC.length
        && first
            .slice(first.position(), RELOCATED_MAGIC.length)
            .equals(ByteBuffer.wrap(RELOCATED_MAGIC))) {
      relocated.add(name);
    }
  }

  @Override
  public void rename(String source, String target) throws IOException {
    boolean stops = begin(Step.RENAME, source);
    super.rename(source, target);
    end(stops);
  }

  @Override
  public void delete(String name) throws IOException {
    boolean stops = begin(Step.DELETE, name);
    super.delete(name);
    end(stops);
  }

  @Override
  public void syncDirectory() throws IOException {
    boolean stops = begin(Step.SYNC_DIRECTORY, "");
    super.syncDirectory();
    end(stops);
  }

  private final class StoppingFile implements StorageFile {
    private final StorageFile file;

    StoppingFile(StorageFile file) {
      this.file = file;
    }

    @Override
    public String name() {
      return file.name();
    }

    @Override
    public long length() throws IOException {
      return file.length();
    }

    @Override
    public void write(ByteBuffer source, long offset) throws IOException {
      if (offset == 0 && StoreFiles.kindOf(name()) == StoreFiles.Kind.SEGMENT) {
        note(name(), source);
      }
      boolean stops = begin(Step.WRITE, name());
      file.write(source, offset);
      end(stops);
    }

    @Override
    public int read(ByteBuffer target, long offset) throws IOException {
      return file.read(target, offset);
    }

    @Override
    public ByteBuffer map(long length) throws IOException {
      return file.map(length);
    }

    @Override
    public void sync() throws IOException {
      boolean stops = begin(Step.SYNC, name());
      file.sync();
      end(stops);
    }

    @Override
    public void truncate(long length) throws IOException {
      boolean stops = begin(Step.TRUNCATE, name());
      file.truncate(length);
      end(stops);
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }
}
