package io.kvsep.bench.compare;

import io.kvsep.bench.UsageException;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Runs all workloads in order on one store, which is reopened when its durability changes. Not
 * thread safe.
 */
final class Sequence implements AutoCloseable {
  private static final long POLL_NANOS = 5_000_000;

  /** Idle time after which no work is left: some begins only in an idle store. Not counted. */
  private static final long QUIET_NANOS_MAX = 3_000_000_000L;

  private static final int SYNCED_THREADS = 16;

  private final ChildOptions options;
  private final ChildOutput output;
  private final Entries entries;
  private final long processStartNanos;
  private String workload = "start";
  private long anonymousPeak;

  /** Keys and values of all current entries. */
  private long liveRawBytes;

  private @Nullable Engine engine;
  private @Nullable SyncMode mode;

  Sequence(ChildOptions options, ChildOutput output, long processStartNanos) {
    this.processStartNanos = processStartNanos;
    this.options = options;
    this.output = output;
    this.entries = options.entries();
    this.liveRawBytes = entries.rawBytes();
  }

  String workload() {
    return workload;
  }

  void run() {
    if (options.workloads().equals(List.of(Workload.COLD))) {
      cold();
      return;
    }
    load();
    singles();
    if (options.does("overwrite")) {
      overwrite();
    }
    if (options.does("steady")) {
      steady();
    }
    mixes();
    begin("close");
    close();
    process();
  }

  private void begin(String name) {
    anonymousPeak = Math.max(anonymousPeak, ProcessStatus.bytes("RssAnon"));
    workload = name;
  }

  /** Loads, and reads after each rest. */
  private void load() {
    begin("load");
    Engine opened = open(options.durability());
    output.engine(options.engine(), opened);
    long writtenBefore = ProcessStatus.writtenBytes();
    long start = System.nanoTime();
    try (SyncTimer timer = SyncTimer.of(opened, options.durability())) {
      new WriteWorkloads(options, entries, opened, output).load();
    }
    finish(opened, start, entries.count());
    space(writtenBefore, entries.rawBytes());
    for (Rest rest : options.rests()) {
      rest(rest, "load", writtenBefore, entries.rawBytes());
      reads(rest.suffix);
    }
  }

  private void overwrite() {
    begin("overwrite");
    Engine opened = open(options.durability());
    DiskSpace.writeOut(options.directory());
    long writtenBefore = ProcessStatus.writtenBytes();
    long start = System.nanoTime();
    WriteWorkloads.Written done;
    try (SyncTimer timer = SyncTimer.of(opened, options.durability())) {
      done = new WriteWorkloads(options, entries, opened, output).overwrite();
    }
    finish(opened, start, done.entries());
    space(writtenBefore, done.rawBytes());
    for (Rest rest : options.rests()) {
      rest(rest, "overwrite", writtenBefore, done.rawBytes());
    }
  }

  private void steady() {
    begin("steady");
    Engine opened = open(options.durability());
    DiskSpace.writeOut(options.directory());
    long writtenBefore = ProcessStatus.writtenBytes();
    long start = System.nanoTime();
    WriteWorkloads.Written done;
    try (SyncTimer timer = SyncTimer.of(opened, options.durability())) {
      done = new SteadyWorkload(options, entries, opened, output).run(liveRawBytes);
    }
    finish(opened, start, done.entries());
    space(writtenBefore, done.rawBytes());
  }

  /** Syncs and closes after writing. */
  private void finish(Engine opened, long startNanos, long count) {
    opened.sync();
    close();
    long nanos = System.nanoTime() - startNanos;
    output.rate(workload, "until_closed", count, nanos);
    output.seconds(workload, "seconds", nanos);
    DiskSpace.writeOut(options.directory());
  }

  /**
   * Gives the closed store a rest, and closes it again.
   *
   * @param writtenBefore what the process had written before the workload in question
   * @param userBytes of that workload
   */
  private void rest(Rest rest, String after, long writtenBefore, long userBytes) {
    if (rest == Rest.NONE) {
      return;
    }
    begin(after + rest.suffix);
    Engine opened = open(options.durability());
    long restBefore = ProcessStatus.writtenBytes();
    long start = System.nanoTime();
    long quiet = 0;
    if (rest == Rest.SETTLED) {
      maintain(opened);
    } else {
      quiet = awaitIdle(opened);
    }
    opened.sync();
    close();
    output.seconds(workload, "seconds", System.nanoTime() - start - quiet);
    DiskSpace.writeOut(options.directory());
    long written = ProcessStatus.writtenBytes() - restBefore;
    output.result(workload, "written_bytes", (double) written, "B");
    space(writtenBefore, userBytes);
  }

  private void maintain(Engine opened) {
    ScheduledExecutorService alive = Executors.newSingleThreadScheduledExecutor();
    try {
      var unused =
          alive.scheduleAtFixedRate(() -> output.progress(workload, 1, 1), 1, 1, TimeUnit.SECONDS);
      opened.maintain();
    } finally {
      alive.shutdownNow();
    }
  }

  /** Waits until there was no background work for a while; returns that idle part. */
  private long awaitIdle(Engine opened) {
    if (!Engines.worksInBackground(options.engine())) {
      return 0;
    }
    opened.flush();
    // Less if a workload takes less than a second, as in tests.
    long quietNanos = Math.min(QUIET_NANOS_MAX, 5 * options.time().toNanos());
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

  private void space(long writtenBefore, long userBytes) {
    long diskBytes = DiskSpace.allocatedBytes(options.directory());
    long written = ProcessStatus.writtenBytes() - writtenBefore;
    output.result(workload, "disk_bytes", (double) diskBytes, "B");
    output.result(workload, "disk_by_raw", diskBytes / (double) liveRawBytes, "x");
    output.result(workload, "written_by_raw", written / (double) Math.max(1, userBytes), "x");
  }

  private void reads(String suffix) {
    begin("open" + suffix);
    long start = System.nanoTime();
    Engine opened = open(options.durability());
    if (options.does("open")) {
      output.seconds(workload, "seconds", System.nanoTime() - start);
    }
    ReadWorkloads reads = new ReadWorkloads(options, entries, opened, output);
    if (options.does("get")) {
      begin("get" + suffix);
      reads.gets(workload, options.threads(), options.gets());
    }
    if (options.does("get_reused")) {
      begin("get_reused" + suffix);
      reads.reusedGets(workload, options.threads(), options.gets());
    }
    if (options.does("get1")) {
      begin("get1" + suffix);
      reads.gets(workload, 1, options.gets());
    }
    if (options.does("get_view") && opened.hasViews()) {
      begin("get_view" + suffix);
      reads.views(workload, options.threads(), options.gets());
    }
    if (options.does("miss")) {
      begin("miss" + suffix);
      reads.misses(workload, options.threads(), options.misses());
    }
    if (options.does("iterate")) {
      begin("iterate" + suffix);
      reads.iterate(workload, /* keysOnly= */ false);
    }
    if (options.does("keys")) {
      begin("keys" + suffix);
      reads.iterate(workload, /* keysOnly= */ true);
    }
  }

  private void cold() {
    workload = Workload.COLD;
    long start = System.nanoTime();
    Engine opened = open(options.durability());
    output.seconds(workload, "open", System.nanoTime() - start);
    new ReadWorkloads(options, entries, opened, output).coldGets(processStartNanos);
    close();
  }

  private void mixes() {
    List<Mix> mixes = Mix.ALL.stream().filter(mix -> options.does(mix.name())).toList();
    if (mixes.isEmpty()) {
      return;
    }
    begin(mixes.get(0).name());
    Engine opened = open(options.durability());
    if (2 * entries.rawBytes() < ProcessStatus.memoryBytes()) {
      new ReadWorkloads(options, entries, opened, output).walk(workload);
    }
    MixedWorkload mixed = new MixedWorkload(options, entries, opened, output);
    for (Mix mix : mixes) {
      begin(mix.name());
      mixed.run(mix);
    }
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
