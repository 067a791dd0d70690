package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import org.jspecify.annotations.Nullable;

/**
 * Reads every byte of a blob file and checks that each relocation points to a record. Resumes after
 * damage at the next relocation target. Owns the mapping. Not thread safe.
 */
public final class BlobFileAudit implements AutoCloseable {
  private static final int PULSE_RECORDS = 4096;

  private final long id;
  private final String name;
  private final Region region;
  private final AuditSink sink;
  private final NativeWindow window = new NativeWindow();
  private final RecordView record = new RecordView();
  private long recordCount;

  private BlobFileAudit(long id, Region region, AuditSink sink) {
    this.id = id;
    this.name = StoreFiles.segment(id);
    this.region = region;
    this.sink = sink;
  }

  public record Result(long bytes, long records) {}

  /** Whether a file has a blob file's header, or an unknown header and a blob file's footer. */
  public static boolean isBlobFile(Region file) {
    int header = LogFormat.SEGMENT_HEADER_BYTES;
    boolean begins =
        file.length() >= header && file.getLong(0) == BlobFileFormat.KIND.magicNumber();
    boolean isLog = file.length() >= header && file.getLong(0) == LogFormat.SEGMENT.magicNumber();
    long footer = file.length() - BlobFileFormat.FOOTER_BYTES;
    if (begins || isLog || footer < header) {
      return begins;
    }
    int crc = new NativeWindow().crc32c(file, footer, BlobFileFormat.FOOTER_CRC_AT);
    return file.getLong(footer) == BlobFileFormat.FOOTER_MAGIC
        && file.getInt(footer + BlobFileFormat.FOOTER_CRC_AT) == crc;
  }

  /**
   * Checks each record and the index of relocations.
   *
   * @param length of the file according to the manifest; -1 for the whole file
   * @param pulse called periodically; may throw to stop the audit
   */
  public static Result run(
      Storage storage,
      StoreId storeId,
      long id,
      long length,
      MemoryLedger ledger,
      AuditSink sink,
      Runnable pulse) {
    String name = StoreFiles.segment(id);
    try (StorageFile file = storage.open(name, /* writable= */ false)) {
      long there = file.length();
      long mapped = length < 0 ? there : Math.min(length, there);
      if (mapped < 1 || mapped > Integer.MAX_VALUE) {
        sink.damaged(
            0,
            Long.MAX_VALUE,
            new CorruptionException(
                name, 0, "a file of relocated records", "a file of " + there + " bytes"));
        return new Result(0, 0);
      }
      try (BlobFileAudit survey = new BlobFileAudit(id, Region.ofMapping(file.map(mapped)), sink)) {
        if (length > there) {
          sink.damaged(
              there,
              length,
              new CorruptionException(name, there, length + " bytes", "end of file"));
        }
        survey.records(survey.relocations(file, storeId, ledger), pulse);
        return new Result(mapped, survey.recordCount);
      }
    } catch (NoSuchFileException e) {
      sink.damaged(
          0,
          Long.MAX_VALUE,
          new CorruptionException(name, 0, "a file of relocated records", "no such file"));
      return new Result(0, 0);
    } catch (IOException e) {
      throw new StorageException("cannot read " + name, e);
    }
  }

  @Override
  public void close() {
    region.free();
  }

  /** Returns null if anything but the records is invalid. */
  private @Nullable BlobFileIndex relocations(
      StorageFile file, StoreId storeId, MemoryLedger ledger) throws IOException {
    CorruptionException what;
    try {
      return BlobFileIndex.read(file, region, storeId, id, ledger);
    } catch (CorruptionException e) {
      what = e;
    } catch (IncompatibleFormatException e) {
      what =
          new CorruptionException(name, 0, "a file of this store", String.valueOf(e.getMessage()));
    }
    sink.damaged(0, Long.MAX_VALUE, what);
    return null;
  }

  private void records(@Nullable BlobFileIndex relocations, Runnable pulse) {
    long end = relocations == null ? region.length() : relocations.recordsEnd();
    long at = LogFormat.SEGMENT_HEADER_BYTES;
    while (at < end) {
      if (recordCount % PULSE_RECORDS == 0) {
        pulse.run();
      }
      if (holdsRecord(at, end)) {
        recordCount++;
        sink.record(region, record, at, AuditSink.UNKNOWN_SEQUENCE);
        at += record.length;
      } else if (relocations == null) {
        // The end of the records is unknown.
        return;
      } else {
        long next = relocations.nextFrom(at + 1, end);
        sink.damaged(at, next, new CorruptionException(name, at, "a record", "damaged bytes"));
        at = next;
      }
    }
    if (relocations != null) {
      checkRelocations(relocations, end, pulse);
    }
  }

  private void checkRelocations(BlobFileIndex relocations, long end, Runnable pulse) {
    long before = -1;
    for (long i = 0; i < relocations.count(); i++) {
      if (i % PULSE_RECORDS == 0) {
        pulse.run();
      }
      long old = relocations.oldOffset(i);
      if (relocations.isFirst(i)) {
        before = -1;
      }
      long at = relocations.newOffset(i);
      boolean leads = at >= LogFormat.SEGMENT_HEADER_BYTES && at < end && holdsRecord(at, end);
      if (old <= before || !leads) {
        long place = relocations.place(i);
        sink.damaged(
            leads ? place : at,
            leads ? place + BlobFileFormat.RELOCATION_BYTES : at + 1,
            new CorruptionException(
                name,
                place,
                "a relocation behind " + before + " that leads to a record",
                "one of " + old + " to " + at));
      }
      before = old;
    }
  }

  private boolean holdsRecord(long offset, long end) {
    return record.decode(region, offset, end) && record.crcHolds(region, id, window);
  }
}
