package io.kvsep.internal.repair;

import io.kvsep.internal.io.NewDirectory;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StorageLock;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Read-only access to a store on a failing device. A file with unreadable pages is read from a copy
 * in which these have invalid bytes: they count as damaged, and everything around them stays
 * usable. Files are read with read calls, which fail immediately; for a mapping the JVM would throw
 * at some later time.
 *
 * <p>Refuses every modification. Thread safe if the two directories are.
 */
public final class ReadableFiles implements Storage {
  private static final int PIECE_BYTES = 1 << 20;

  /** Bytes given up per unreadable sector; systems read at least this much at a time. */
  private static final int PAGE_BYTES = 4096;

  /** Not zero, which a file system reads where nothing was written. */
  private static final byte FILL = (byte) 0xdb;

  private final Storage source;
  private final Storage copies;
  private final Set<String> copied = new HashSet<>();
  private final List<String> notes = new ArrayList<>();

  private ReadableFiles(Storage source, Storage copies) {
    this.source = source;
    this.copies = copies;
  }

  /**
   * Reads all files of a store sequentially.
   *
   * @param source must not be changed by others
   * @param copies receives copies of incompletely readable files
   * @throws IOException if a file cannot be opened or a copy cannot be written
   */
  public static ReadableFiles of(Storage source, Storage copies) throws IOException {
    ReadableFiles files = new ReadableFiles(source, copies);
    Region buffer = new MemoryLedger().allocate(MemoryPurpose.READ, PIECE_BYTES);
    try {
      for (String name : source.list()) {
        switch (StoreFiles.kindOf(name)) {
          case CURRENT, MANIFEST, SEGMENT, TABLE -> files.look(name, buffer);
          default -> {}
        }
      }
    } finally {
      buffer.free();
    }
    return files;
  }

  /** Whether the first attempt could read every file completely. */
  public boolean isWhole() {
    return copied.isEmpty();
  }

  /** A sentence for each incompletely read file. */
  public List<String> notes() {
    return List.copyOf(notes);
  }

  private void look(String name, Region buffer) throws IOException {
    try (StorageFile file = source.open(name, /* writable= */ false)) {
      NativeWindow window = new NativeWindow();
      long length = file.length();
      for (long offset = 0; offset < length; offset += PIECE_BYTES) {
        ByteBuffer piece = window.over(buffer, 0, (int) Math.min(PIECE_BYTES, length - offset));
        if (!fills(file, piece, offset)) {
          copy(file, length, buffer);
          return;
        }
      }
    }
  }

  private static boolean fills(StorageFile file, ByteBuffer target, long offset) {
    int wanted = target.remaining();
    try {
      return file.read(target, offset) == wanted;
    } catch (IOException e) {
      return false;
    }
  }

  private void copy(StorageFile file, long length, Region buffer) throws IOException {
    NativeWindow window = new NativeWindow();
    long missing = 0;
    long first = length;
    try (StorageFile copy = copies.create(file.name())) {
      for (long offset = 0; offset < length; offset += PIECE_BYTES) {
        int count = (int) Math.min(PIECE_BYTES, length - offset);
        if (!fills(file, window.over(buffer, 0, count), offset)) {
          for (int at = 0; at < count; at += PAGE_BYTES) {
            int page = Math.min(PAGE_BYTES, count - at);
            if (!fills(file, window.over(buffer, at, page), offset + at)) {
              buffer.fill(at, page, FILL);
              missing += page;
              first = Math.min(first, offset + at);
            }
          }
        }
        copy.write(window.over(buffer, 0, count), offset);
      }
    }
    copied.add(file.name());
    if (missing > 0) {
      notes.add(
          missing
              + " of "
              + length
              + " bytes of "
              + file.name()
              + " could not be read, the first at offset "
              + first
              + ": they were taken for damaged.");
    }
  }

  @Override
  public StorageFile open(String name, boolean writable) throws IOException {
    if (writable) {
      throw refusal();
    }
    return (copied.contains(name) ? copies : source).open(name, /* writable= */ false);
  }

  @Override
  public boolean exists(String name) throws IOException {
    return source.exists(name);
  }

  @Override
  public List<String> list() throws IOException {
    return source.list();
  }

  @Override
  public void checkDirectory() throws IOException {
    source.checkDirectory();
  }

  @Override
  public String location() {
    return source.location();
  }

  @Override
  public boolean deletesMapped() {
    return source.deletesMapped();
  }

  @Override
  public boolean load(ByteBuffer mapped) {
    return false;
  }

  @Override
  public StorageFile create(String name) {
    throw refusal();
  }

  @Override
  public void rename(String from, String to) {
    throw refusal();
  }

  @Override
  public void delete(String name) {
    throw refusal();
  }

  @Override
  public void syncDirectory() {
    throw refusal();
  }

  @Override
  public StorageLock lock(String name, boolean shared) {
    throw refusal();
  }

  @Override
  public NewDirectory newDirectory(Path target) {
    throw refusal();
  }

  /** Does not close the two directories. */
  @Override
  public void close() {}

  private static UnsupportedOperationException refusal() {
    return new UnsupportedOperationException("for reading only");
  }
}
