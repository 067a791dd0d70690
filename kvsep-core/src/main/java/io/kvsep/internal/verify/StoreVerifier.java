package io.kvsep.internal.verify;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
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
 * Checks one version of a store: first the files of the log, then the tables, each entry of which
 * has to lead to its record, then the live bytes. Everything is read from the files anew; what an
 * open store has checked before is not relied on.
 *
 * <p>Nothing is remembered of single entries. What is held grows with the number of files: a sum
 * for each segment; besides that one key, one block, one compressed value, and a bounded number of
 * problems and damaged places. Reads every file once front to back, and every separated value once
 * more by its pointer, in the order of the keys of each table.
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
   * What is looked at.
   *
   * @param segments finds all files of the log that the version has
   * @param pulse is called often and may throw to give up
   */
  public record Context(
      Storage storage,
      StoreId storeId,
      MemoryLedger ledger,
      SegmentDirectory segments,
      Epochs<?> epochs,
      Runnable pulse) {}

  /**
   * What was found.
   *
   * @param files tables and files of the log that were read
   * @param bytes of these
   * @param entries of tables
   * @param records of the log
   * @param problemCount all of them
   * @param problems the first of them
   */
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

  /** Takes a problem that was found elsewhere. */
  public void add(CorruptionException problem) {
    findings.add(problem);
  }

  /** Checks everything; only the device and the pulse make it throw. */
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
        // Its own file is gone, or it was begun just now and holds nothing yet.
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

  /** Whether the live bytes that reclaim decides by are the sums over the tables. */
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

  /** Of one file of the log. */
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

  /** Of one table. */
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

    private <C extends SlotContext> @Nullable CorruptionException follow(
        Epochs<C> epochs, Region key, int keyLength, int kind, Region payload, long payloadOffset) {
      EpochSlot<C> slot = epochs.vacant();
      try {
        slot = epochs.enter(slot);
        return pointers.check(payload, payloadOffset, kind, key, 0, keyLength);
      } finally {
        epochs.exit(slot);
      }
    }
  }
}
