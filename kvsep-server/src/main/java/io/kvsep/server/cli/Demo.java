package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.StoreStats;
import io.kvsep.server.json.JsonObject;
import io.kvsep.server.json.StoreFigures;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The demo. Any difference between expected and stored entries is a {@link CommandFailure}. */
final class Demo {
  private static final String PREFIX = "file/";
  private static final int KILLS = 3;
  private static final long SPARE_BYTES = 64L << 20;

  private final Streams streams;
  private final DemoReport report;
  private final Setup setup;
  private final Skipped skipped = new Skipped();
  private final ExpectedEntries expected = new ExpectedEntries();
  private boolean capped;

  Demo(Streams streams, DemoReport report, Setup setup) {
    this.streams = streams;
    this.report = report;
    this.setup = setup;
  }

  /** Takes at most {@code bytesMax} bytes and {@code filesMax} files of {@code folder}. */
  record Setup(Path folder, Path directory, long bytesMax, int filesMax, int batchesPerKill) {}

  void run() throws IOException {
    List<FolderWalk.SourceFile> files = choose();
    long bytes = files.stream().mapToLong(FolderWalk.SourceFile::length).sum();
    if (files.isEmpty()) {
      throw CommandFailure.failed("no files to store in " + setup.folder());
    }
    requireSpace(2 * bytes + SPARE_BYTES);
    announce(files.size(), bytes);
    ingest(files, bytes);
    compare("reopen, read and compare");
    CrashRounds crashes = crash();
    change();
    compact();
    compare("reopen, compare again");
    scan();
    summarize(crashes);
  }

  private List<FolderWalk.SourceFile> choose() throws IOException {
    List<FolderWalk.SourceFile> files = new ArrayList<>();
    // A file is read into one array and may take only its share of the heap.
    long fileBytesMax = Runtime.getRuntime().maxMemory() / 6;
    long[] roomBytes = {setup.bytesMax()};
    new FolderWalk(setup.folder(), setup.directory(), skipped)
        .run(
            file -> {
              if (file.length() > fileBytesMax) {
                skipped.add(file.path().toString(), "too long for this heap");
              } else if (file.length() > roomBytes[0] || files.size() == setup.filesMax()) {
                capped = true;
              } else {
                files.add(file);
                roomBytes[0] -= file.length();
              }
              // A long file that does not fit does not end the walk: shorter ones may follow.
              boolean hasRoom =
                  files.size() < setup.filesMax() && roomBytes[0] > setup.bytesMax() / 2;
              return !capped || hasRoom;
            });
    return files;
  }

  private void requireSpace(long neededBytes) throws IOException {
    long usableBytes = Files.getFileStore(setup.directory()).getUsableSpace();
    if (usableBytes < neededBytes) {
      throw CommandFailure.failed(
          "the demo may need "
              + Amounts.bytes(neededBytes)
              + " in "
              + setup.directory()
              + ", where "
              + Amounts.bytes(usableBytes)
              + " are free (--limit-bytes takes less, --dir goes elsewhere)");
    }
  }

  private void announce(int files, long bytes) throws IOException {
    report.say(
        "demo with "
            + Amounts.of(files, "file")
            + " of "
            + setup.folder()
            + ", "
            + Amounts.bytes(bytes)
            + (capped ? " (not all of it: see --limit-bytes)" : ""));
    report.say("store in " + setup.directory());
    report.head();
  }

  private void ingest(List<FolderWalk.SourceFile> files, long plannedBytes) throws IOException {
    long start = System.nanoTime();
    long bytes = 0;
    try (KvStore store = open(KvOptions.builder().durability(Durability.none()));
        ProgressBar bar = new ProgressBar(streams, "ingest", plannedBytes)) {
      BatchedWriter writer = new BatchedWriter(store);
      for (FolderWalk.SourceFile file : files) {
        byte[] content;
        try {
          content = Files.readAllBytes(file.path());
        } catch (IOException e) {
          skipped.add(file.path().toString(), "cannot be read");
          continue;
        }
        byte[] key = (PREFIX + file.key()).getBytes(UTF_8);
        writer.put(key, content);
        expected.add(key, content);
        bytes += content.length;
        bar.advance(content.length);
      }
      writer.flush();
      store.sync();
    }
    String left = skipped.count() == 0 ? "" : ", skipped " + Amounts.of(skipped.count(), "file");
    report.step("ingest", expected.count(), bytes, System.nanoTime() - start, "synced" + left);
  }

  private void compare(String step) throws IOException {
    long start = System.nanoTime();
    ExpectedEntries.Tally found;
    try (KvStore store = open(KvOptions.builder());
        ProgressBar bar = new ProgressBar(streams, "compare", expected.bytes())) {
      found = expected.check(store, bar);
    }
    long gone = expected.count() - found.entries();
    String absent = gone == 0 ? "" : ", " + Amounts.count(gone) + " deleted are absent";
    report.step(
        step,
        found.entries(),
        found.bytes(),
        System.nanoTime() - start,
        "all SHA-256 agree" + absent);
  }

  private CrashRounds crash() throws IOException {
    long start = System.nanoTime();
    CrashRounds crashes = new CrashRounds(setup.directory(), KILLS, setup.batchesPerKill());
    crashes.run();
    report.step(
        "kill a writer " + KILLS + " times",
        crashes.found().batches() * CrashBatches.ENTRIES,
        crashes.found().bytes(),
        System.nanoTime() - start,
        Amounts.count(crashes.acknowledged())
            + " batches acknowledged, "
            + Amounts.count(crashes.found().batches())
            + " found, all whole");
    return crashes;
  }

  private void change() throws IOException {
    long start = System.nanoTime();
    ExpectedEntries.Tally overwritten;
    ExpectedEntries.Tally deleted;
    try (KvStore store = open(KvOptions.builder());
        ProgressBar bar = new ProgressBar(streams, "change", expected.bytes() / 4)) {
      overwritten = expected.overwriteQuarter(store, bar);
      deleted = expected.deleteQuarter(store);
      store.sync();
    }
    report.step(
        "overwrite 1/4, delete 1/4",
        overwritten.entries() + deleted.entries(),
        overwritten.bytes(),
        System.nanoTime() - start,
        "synced");
  }

  private void compact() throws IOException {
    long start = System.nanoTime();
    StoreStats stats = new ElapsedLine(streams, "compact").during(this::statsCompacted);
    report.step(
        "compact the tables",
        stats.entriesEstimate(),
        stats.tableBytes(),
        System.nanoTime() - start,
        InfoCommand.levelsLine(stats));
  }

  private StoreStats statsCompacted() {
    try (KvStore store = open(KvOptions.builder())) {
      store.compact();
      return store.stats();
    }
  }

  private void scan() throws IOException {
    String prefix = expected.fullestPrefix(PREFIX);
    long start = System.nanoTime();
    ExpectedEntries.Tally found;
    try (KvStore store = open(KvOptions.builder())) {
      found = expected.scan(store, prefix);
    }
    report.step(
        "scan a prefix",
        found.entries(),
        found.bytes(),
        System.nanoTime() - start,
        prefix + ": in order, none missing");
  }

  private void summarize(CrashRounds crashes) throws IOException {
    StoreStats stats;
    try (KvStore store = open(KvOptions.builder().readOnly(true))) {
      stats = store.stats();
    }
    long storeBytes = storeBytes();
    report.say("");
    report.say(
        "on disk   "
            + Amounts.bytes(storeBytes)
            + ": value log "
            + Amounts.bytes(stats.logBytes())
            + " (live "
            + Amounts.bytes(stats.logLiveBytes())
            + "), tables "
            + Amounts.bytes(stats.tableBytes()));
    report.say("levels    " + InfoCommand.levelsLine(stats));
    report.say(
        "recovery  "
            + Amounts.bytes(crashes.replayedBytes())
            + " of log read again after "
            + KILLS
            + " kills, "
            + Amounts.bytes(crashes.tornBytes())
            + " of torn tails cut off");
    report.say("");
    report.say("Everything that was acknowledged is there, and every checksum agrees.");
    report.finish(
        new JsonObject()
            .put("folder", setup.folder().toString())
            .put("directory", setup.directory().toString())
            .put("files", expected.count())
            .put("capped", capped)
            .put("skipped", skipped.count())
            .put("kills", KILLS)
            .put("acknowledgedBatches", crashes.acknowledged())
            .put("foundBatches", crashes.found().batches())
            .put("replayedBytes", crashes.replayedBytes())
            .put("tornBytes", crashes.tornBytes())
            .put("storeBytes", storeBytes)
            .put("logBytes", stats.logBytes())
            .put("logLiveBytes", stats.logLiveBytes())
            .put("tableBytes", stats.tableBytes())
            .put("levels", StoreFigures.levels(stats)));
  }

  private long storeBytes() throws IOException {
    long total = 0;
    try (Stream<Path> files = Files.list(setup.directory())) {
      for (Path file : files.toList()) {
        total += Files.size(file);
      }
    }
    return total;
  }

  private KvStore open(KvOptions.Builder options) {
    return KvStore.open(setup.directory(), options.build());
  }
}
