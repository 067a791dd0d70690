package io.kvsep.internal.verify;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableCheck;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.vlog.AuditSink;
import io.kvsep.internal.vlog.BlobFileAudit;
import io.kvsep.internal.vlog.PointerCheck;
import io.kvsep.internal.vlog.RecordView;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentAudit;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.util.HexFormat;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Checks one version of a store: log files, tables with the record of each pointer, live bytes.
 * Reads everything from the files again and relies on no earlier check.
 *
 * <p>Memory: one sum per segment, one key, one block, one compressed value, and bounded problems
 * and damaged parts. Reads every file once sequentially, and every separated value once more
 * through its pointer, in key order of each table.
 */
public final class StoreVerifier {
  private final Context context;
  private final Version version;
  private final ProblemList findings = new ProblemList();
  private long files;
  private long bytes;
  private long entries;
  private long records;

  /**
   * The store.
   *
   * @param segments contains all log files of the version
   * @param pulse called often; may throw to cancel
   */
  public record Context(
      Storage storage,
      StoreId storeId,
      MemoryLedger ledger,
      SegmentDirectory segments,
      Epochs<?> epochs,
      Runnable pulse) {}

  /** See {@code VerifyReport}. */
  public record Result(
      long files,
      long bytes,
      long entries,
      long records,
      long problemCount,
      List<CorruptionException> problems) {}

  /**
   * @param version retained by the caller
   */
  public StoreVerifier(Context context, Version version) {
    this.context = context;
    this.version = version;
  }

  /** Adds a problem found elsewhere. */
  public void add(CorruptionException problem) {
    findings.add(problem);
  }

  /** Throws only for a failing device or a cancellation. */
  public Result run() {
    checkLog();
    try (PointerCheck pointers = new PointerCheck(context.segments(), context.ledger())) {
      for (int level = 0; level < Version.LEVELS; level++) {
        for (TableFile table : version.tables(level)) {
          checkTable(table.meta(), pointers);
        }
      }
    }
    checkLiveBytes();
    return new Result(files, bytes, entries, records, findings.problemCount(), findings.problems());
  }

  private void checkLog() {
    long leastSequence = 0;
    for (SegmentState state : version.segments().values()) {
      Segment segment = state.hasFile() ? context.segments().find(state.id()) : null;
      if (segment == null) {
        // Rewritten into another file, or just created and empty.
        continue;
      }
      files++;
      Damage sink = new Damage(segment.name());
      if (state.relocated()) {
        BlobFileAudit.Result result =
            BlobFileAudit.run(
                context.storage(),
                context.storeId(),
                state.id(),
                segment.publishedEnd(),
                context.ledger(),
                sink,
                context.pulse());
        bytes += result.bytes();
        records += result.records();
      } else {
        SegmentAudit.Result result =
            SegmentAudit.run(
                context.storage(),
                context.storeId(),
                state.id(),
                segment.publishedEnd(),
                leastSequence,
                /* mayBeTorn= */ false,
                sink,
                context.pulse());
        bytes += result.bytes();
        records += result.records();
        leastSequence = result.endSequence();
      }
    }
  }

  private void checkTable(TableMeta meta, PointerCheck pointers) {
    files++;
    try (TableCheck table =
        TableCheck.open(
            context.storage(), meta.number(), context.storeId(), context.ledger(), findings::add)) {
      if (table == null) {
        return;
      }
      table.run(new Entries(StoreFiles.table(meta.number()), pointers), context.pulse());
      table.compareWithManifest(meta);
      bytes += table.fileBytes();
      entries += table.entryCount();
    }
    if (meta.largestSequence() > version.lastSequence()) {
      findings.add(
          new CorruptionException(
              StoreFiles.table(meta.number()),
              0,
              "sequence numbers up to "
                  + version.lastSequence()
                  + ", which the manifest calls last",
              "sequence number " + meta.largestSequence()));
    }
  }

  /** The live bytes that reclaim uses must be the sums over the tables. */
  private void checkLiveBytes() {
    SortedMap<Long, Long> sums = new TreeMap<>();
    for (long segment : version.segments().keySet()) {
      sums.put(segment, 0L);
    }
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : version.tables(level)) {
        for (SegmentUse use : table.meta().segments()) {
          sums.merge(use.segment(), use.liveBytes(), Long::sum);
        }
      }
    }
    sums.forEach(
        (segment, sum) -> {
          if (version.liveBytes(segment) != sum) {
            findings.add(
                new CorruptionException(
                    StoreFiles.segment(segment),
                    0,
                    sum + " live bytes, which the tables add up to",
                    version.liveBytes(segment) + " in the version in force"));
          }
        });
  }

  private final class Damage implements AuditSink {
    private final String file;

    Damage(String file) {
      this.file = file;
    }

    @Override
    public void record(Region region, RecordView record, long offset, long sequence) {}

    @Override
    public void damaged(long from, long to, CorruptionException what) {
      findings.damaged(file, from, to);
      findings.add(what);
    }
  }

  private final class Entries implements TableCheck.EntrySink {
    private final String table;
    private final PointerCheck pointers;

    Entries(String table, PointerCheck pointers) {
      this.table = table;
      this.pointers = pointers;
    }

    @Override
    public void entry(
        long blockOffset,
        Region key,
        int keyLength,
        long tag,
        Region payload,
        long payloadOffset,
        int payloadLength) {
      int kind = Tag.kind(tag);
      if (Tag.baseKind(kind) != Tag.POINTER) {
        return;
      }
      CorruptionException wrong =
          follow(context.epochs(), key, keyLength, kind, payload, payloadOffset);
      if (wrong == null) {
        return;
      }
      String name = HexFormat.of().formatHex(key.getBytes(0, keyLength));
      if (findings.isDamaged(wrong.file(), wrong.offset())) {
        findings.add(
            new CorruptionException(
                wrong.file(),
                wrong.offset(),
                "the value of key " + name + " of " + table,
                "damaged bytes"));
      } else {
        findings.add(
            new CorruptionException(
                table,
                blockOffset,
                "a pointer of key " + name + " to its record",
                "one to offset " + wrong.offset() + " of " + wrong.file() + ": " + wrong.found()));
      }
    }

    private @Nullable CorruptionException follow(
        Epochs<?> epochs, Region key, int keyLength, int kind, Region payload, long payloadOffset) {
      return epochs.inside(
          context -> pointers.check(payload, payloadOffset, kind, key, 0, keyLength));
    }
  }
}
