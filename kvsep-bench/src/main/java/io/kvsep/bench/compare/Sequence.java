package io.kvsep.bench.compare;

import io.kvsep.bench.UsageException;
import java.lang.management.ManagementFactory;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Runs all workloads in order on one store, which is reopened when its durability changes. Not
 * thread safe.
 */
final class Sequence implements AutoCloseable {
  private static final long POLL_NANOS = 5_000_000;

  /** Idle time after which no work is left; it is not counted. */
  private static final long QUIET_NANOS = 300_000_000;

  /** The same before reads: some work begins only in an idle store. */
  private static final long REST_QUIET_NANOS_MAX = 3_000_000_000L;

  private static final int SYNCED_THREADS = 16;

  private final ChildOptions options;
  private final ChildOutput output;
  private final Entries entries;
  private String workload = "start";
  private long anonymousPeak;

  /** Keys and values of all current entries. */
  private long liveRawBytes;

  private @Nullable Engine engine;
  private @Nullable SyncMode mode;

  Sequence(ChildOptions options, ChildOutput output) {
    this.options = options;
    this.output = output;
    this.entries = options.entries();
    this.liveRawBytes = entries.rawBytes();
  }

  String workload() {
    return workload;
  }

  void run() {
    load();
    begin("open");
    long start = System.nanoTime();
    Engine opened = open(options.durability());
    if (options.does("open")) {
      output.seconds("open", "seconds", System.nanoTime() - start);
    }
    reads(opened);
    singles();
    if (options.does("overwrite")) {
      begin("overwrite");
      overwrite(open(options.durability()));
    }
    if (options.does("mixed")) {
      begin("mixed");
      mixed(open(options.durability()));
    }
    begin("close");
    close();
    process();
  }

  private void begin(String name) {
    anonymousPeak = Math.max(anonymousPeak, ProcessStatus.bytes("RssAnon"));
    workload = name;
  }

  private void load() {
    begin("load");
    Engine opened = open(options.durability());
    output.engine(options.engine(), opened);
    long written = ProcessStatus.writtenBytes();
    long start = System.nanoTime();
    try (SyncTimer timer = SyncTimer.of(opened, options.durability())) {
      new WriteWorkloads(options, entries, opened, output).load();
    }
    long quiet = settle(opened, QUIET_NANOS);
    close();
    long nanos = System.nanoTime() - start - quiet;
    output.rate("load", "until_settled", entries.count(), nanos);
    output.seconds("load", "seconds", nanos);
    rest("load");
    DiskSpace.writeOut(options.directory());
    space("load", ProcessStatus.writtenBytes() - written, entries.rawBytes());
  }

  /** Lets the store do its idle work. */
  private void rest(String after) {
    if (!options.rests() || !Engines.worksInBackground(options.engine())) {
      return;
    }
    Engine opened = open(options.durability());
    long start = System.nanoTime();
    // Less if a workload takes less than a second, as in tests.
    long restNanos = Math.min(REST_QUIET_NANOS_MAX, 5 * options.time().toNanos());
    long quiet = settle(opened, restNanos);
    output.seconds(after, "at_rest", System.nanoTime() - start - quiet);
    close();
  }

  private void reads(Engine opened) {
    ReadWorkloads reads = new ReadWorkloads(options, entries, opened, output);
    if (options.does("get")) {
      begin("get");
      reads.gets("get", options.threads(), options.gets());
    }
    if (options.does("get1")) {
      begin("get1");
      reads.gets("get1", 1, options.gets());
    }
    if (options.does("get_view") && opened.hasViews()) {
      begin("get_view");
      reads.views("get_view", options.threads(), options.gets());
    }
    if (options.does("miss")) {
      begin("miss");
      reads.misses("miss", options.threads(), options.misses());
    }
    if (options.does("iterate")) {
      begin("iterate");
      reads.iterate("iterate", /* keysOnly= */ false);
    }
    if (options.does("keys")) {
      begin("keys");
      reads.iterate("keys", /* keysOnly= */ true);
    }
  }

  private void mixed(Engine opened) {
    if (2 * entries.rawBytes() < ProcessStatus.memoryBytes()) {
      new ReadWorkloads(options, entries, opened, output).walk("mixed");
    }
    new MixedWorkload(options, entries, opened, output).run();
  }

  private void singles() {
    if (options.does("single")) {
      begin("single");
      Engine opened = open(SyncMode.ASYNC);
      try (SyncTimer timer = SyncTimer.of(opened, SyncMode.ASYNC)) {
        liveRawBytes += new WriteWorkloads(options, entries, opened, output).single().rawBytes();
      }
    }
    if (options.does("single_sync")) {
      begin("single_sync");
      Engine opened = open(SyncMode.SYNC);
      WriteWorkloads writes = new WriteWorkloads(options, entries, opened, output);
      liveRawBytes += writes.singleSync(SYNCED_THREADS).rawBytes();
    }
  }

  private void overwrite(Engine opened) {
    DiskSpace.writeOut(options.directory());
    long written = ProcessStatus.writtenBytes();
    long start = System.nanoTime();
    WriteWorkloads.Written done;
    try (SyncTimer timer = SyncTimer.of(opened, options.durability())) {
      done = new WriteWorkloads(options, entries, opened, output).overwrite();
    }
    long quiet = settle(opened, QUIET_NANOS);
    long nanos = System.nanoTime() - start - quiet;
    output.rate("overwrite", "until_settled", done.entries(), nanos);
    output.seconds("overwrite", "seconds", nanos);
    close();
    rest("overwrite");
    space("overwrite", ProcessStatus.writtenBytes() - written, Math.max(1, done.rawBytes()));
  }

  private void space(String name, long writtenBytes, long userBytes) {
    long diskBytes = DiskSpace.allocatedBytes(options.directory());
    output.result(name, "disk_bytes", (double) diskBytes, "B");
    output.result(name, "disk_by_raw", diskBytes / (double) liveRawBytes, "x");
    output.result(name, "written_by_raw", writtenBytes / (double) userBytes, "x");
  }

  /**
   * Flushes, syncs, and waits until there was no background work for that long; returns that idle
   * part.
   */
  private long settle(Engine opened, long quietNanos) {
    opened.flush();
    opened.sync();
    if (!options.rests() || !Engines.worksInBackground(options.engine())) {
      return 0;
    }
    long quietSince = System.nanoTime();
    while (System.nanoTime() - quietSince < quietNanos) {
      LockSupport.parkNanos(POLL_NANOS);
      if (!opened.isIdle()) {
        quietSince = System.nanoTime();
      }
      output.progress(workload, 1, 1);
    }
    return System.nanoTime() - quietSince;
  }

  private void process() {
    anonymousPeak = Math.max(anonymousPeak, ProcessStatus.bytes("RssAnon"));
    output.result("process", "peak_memory", (double) ProcessStatus.bytes("VmHWM"), "B");
    output.result("process", "anonymous_memory", (double) anonymousPeak, "B");
    long cpu =
        ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class)
            .getProcessCpuTime();
    output.seconds("process", "cpu", cpu);
  }

  private Engine open(SyncMode wanted) {
    if (engine != null && mode == wanted) {
      return engine;
    }
    close();
    Engine opened =
        Engines.open(
            options.engine(),
            new EngineOptions(
                options.directory(),
                options.cacheBytes(),
                wanted,
                entries.valueBytesMax(),
                entries.rawBytes(),
                options.tuning()));
    engine = opened;
    mode = wanted;
    return opened;
  }

  @Override
  public void close() {
    Engine opened = engine;
    engine = null;
    if (opened != null) {
      opened.close();
    }
  }

  /** The workloads that can be selected; load always runs. */
  static void requireKnown(Iterable<String> names) {
    for (String name : names) {
      if (!Workload.ALL.contains(name)) {
        throw new UsageException(
            "--workloads must be of " + String.join(", ", Workload.ALL) + ": " + name);
      }
    }
  }
}
