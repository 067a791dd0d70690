package io.kvsep.bench;

import io.kvsep.bench.compare.ChartsCommand;
import io.kvsep.bench.compare.CompareCommand;
import io.kvsep.error.KvException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;

/**
 * The load driver behind {@code kvsep bench}. Prints figures to standard output, one per line as
 * {@code name value unit}, errors and progress to standard error. Exit code 0, 1 if the measurement
 * failed or found wrong content, 2 if the command line is wrong.
 */
public final class Bench {
  private static final int FAILED = 1;
  private static final int USAGE = 2;

  private static final String HELP =
      """
      usage: kvsep bench <command> [options]

      write     writes into a store, new or not: rate, times of the calls, what it cost
        --entries N              entries                          (1000000)
        --seconds S              how long at most                 (until all are written)
        --threads T              writers                          (1)
        --batch B                entries per write                (1000)
        --order shuffled|ascending
      read      reads random keys of any store, of a sample that is taken from it; changes nothing
        --seconds S              how long                         (10)
        --threads T              readers                          (1)
        --sample K               keys at most                     (1000000)
        --via array|view         copies of values, or values in place
        --full-scan              flag: walks all keys and values, too
        --cold                   flag: with nothing in the file cache (for root), without warm-up
      scan      walks any store in key order
        --passes P               how often                        (3)
        --seconds S              how long at most, all passes     (until they are through)
        --threads T              walkers of all of it             (1)
        --entries N              entries to stop after            (all)
        --prefetch N             entries to read ahead            (as many as seem right)
        --keys-only --reverse    flags
        --cold                   flag: with nothing in the file cache before each pass
      open      opens and closes any store
        --rounds R               how often                        (100)
        --seconds S              how long at most                 (10)
        --read-only              flag: without changing it
        --cold                   flag: with nothing in the file cache before each
      load      loads a store, closes and reopens it, reads everything back and checks it
        --entries N              entries                          (1000000)
        --batch B                entries per write                (1000)
        --order shuffled|ascending
      bulk      fills stores in turns by batches of 1,000 and by a bulk load
        --entries N              entries                          (1000000)
        --order shuffled|ascending
        --rounds R               how often each                   (3)
      get       reads random keys of a loaded store
        --entries N              entries it was loaded with       (1000000)
        --threads T              readers                          (1)
        --seconds S              how long                         (10)
        --via array|bytes|view|contains|all
        --batch B                keys of each call via all        (100)
      scaling   random reads of a loaded store: some threads against one, in turns
        --entries N              entries it was loaded with       (1000000)
        --threads T              readers                          (2)
        --rounds R               how often each                   (7)
        --seconds S              how long each                    (1)
        --via all|array|bytes|view|contains
      machine   the same for arithmetic, memory reads and allocation, without a store
        --threads T, --rounds R, --seconds S
      commits   concurrent single puts
        --threads T              writers                          (16)
        --seconds S              how long                         (10)
      tables    builds a store of many short tables, opens it, reads random keys and says what
                the process holds
        --tables N               tables                           (21040)
        --gets G                 random reads                     (1000000)
      stores    opens many stores with one memory budget, leaves them alone, writes to all in turns
        --stores N               stores                           (200)
        --threads T              writers                          (8)
        --seconds S              how long they write              (10)
        --rest S                 seconds without calls before that; CPU time of the last quarter (8)
        --background-threads B   for all stores                   (the store's default)
        --own                    flag: each store has its own threads and its part of the budget
      space     what the files take while values are overwritten, deleted or expire, or what
                giving it back costs
        --what overwrite|delete|expire|cost|scan
        --entries N              entries                          (1000000)
        --overwrites R           how often each, on average       (10)
        --batch B                entries per write                (100)
        --rounds R               of cost, with reclaim and without; of scan, before and after (3)
      compare   kvsep, RocksDB, LMDB and others in turns, each in a process of its own: loads,
                reads, walks, single puts, overwrites, mixes; prints medians
                (see docs/internals/bench-protocol.md)
        --engines E,E,..         kvsep rocksdb rocksdb-blob lmdb mvstore xodus badger bbolt, with
                                 their default options; each with -tuned behind its name, with
                                 better ones; kvsep-unverified   (all but kvsep-unverified)
        --sets S,S,..            128, 1024, 16384, alternating, LENGTH:ENTRIES (the first four)
        --scale F                times 3 M x 128 B, 1 M x 1 KiB, 80 k x 16 KiB, 300 x 64 kB and
                                 2,932 kB alternating             (1)
        --rounds R               the median counts                (3)
        --workloads W,W,..       load open get get_reused get1 get_view miss iterate keys single
                                 single_sync overwrite steady mixed ycsb_a to ycsb_f, or ycsb for
                                 these six, cold                  (all but steady and ycsb)
        --rest none|settled|idle,..   before reads: closed and opened; maintained by the engine's
                                 own call; idle for three seconds. Several are in turns, with all
                                 reads after each                 (none,settled)
        --cache-mib C            for the caches of each engine    (256)
        --threads T              readers                          (2)
        --seconds S              most that each read workload takes, and how long steady is (5)
        --gets G                 most reads of each               (2000000)
        --scan-max N             most entries of each walk        (2000000)
        --durability none|async|sync   of load, overwrite and mixed (none)
        --seed N                 what is read and overwritten     (1)
        --memory-limit SIZE|P%   every engine in a control group with so much memory, such as
                                 1200M, or 25% of the data        (none)
        --csv FILE               every figure of every round
        --charts DIR             the medians as pictures
        --go-dir DIR             the program for badger and bbolt (kvsep-bench/go)
        --tune NAME=VALUE,..     other options of the tuned rows, to find the best
        --dir D                  in which a directory for the stores is made, and removed at the
                                 end                            (that of the system for such)
      kill      kills processes that write into one store, at random moments and at certain points,
                and checks each time that everything acknowledged is there
        --kills N                how often                        (20)
        --threads T              writers of each process          (4)
        --keys K                 keys of each writer              (200)
        --seed S                 what is written, and when killed (1)
        --dir D                  where the store is made, absent or empty; stays
      charts    draws the figures of a comparison, one SVG and one PNG a data set
        --csv FILE               what compare wrote
        --to DIR                 where the pictures go

      all but machine, kill, compare and charts; stores has the first two and the budget:
        --dir D                  the store; load needs one without entries, tables one that does
                                 not exist yet; both, write, bulk, commits and space use a temporary
                                 one, removed afterwards, without it
        --value-bytes V          length of each value             (128)
        --durability none|async|sync   (load none, commits sync)
        --memory-budget-mib M    off-heap cap                     (256)
        --inline-value-bytes-max B     values beside their key    (the store's default)
        --compression lz4|none   of values
        --space-amplification-max-percent P    log files by live bytes    (150)
        --key-block-compression none|lz4   of keys and the values beside them
        --verify-values yes|no   at each read                     (yes)
      """;

  private Bench() {}

  public static void main(String[] words) {
    System.exit(run(Arrays.asList(words)));
  }

  private static int run(List<String> words) {
    if (words.isEmpty()) {
      System.err.print(HELP);
      return USAGE;
    }
    if (words.contains("--help") || words.get(0).equals("help")) {
      System.out.print(HELP);
      return 0;
    }
    List<String> rest = words.subList(1, words.size());
    try {
      switch (words.get(0)) {
        case "write" -> WriteCommand.run(rest);
        case "read" -> ReadCommand.run(rest);
        case "open" -> OpenCommand.run(rest);
        case "load" -> LoadCommand.run(rest);
        case "bulk" -> BulkCommand.run(rest);
        case "get" -> GetCommand.run(rest);
        case "scan" -> ScanCommand.run(rest);
        case "scaling" -> ScalingCommand.run(rest);
        case "machine" -> MachineCommand.run(rest);
        case "commits" -> CommitsCommand.run(rest);
        case "tables" -> TablesCommand.run(rest);
        case "kill" -> KillCommand.run(rest);
        case "compare" -> CompareCommand.run(rest);
        case "stores" -> StoresCommand.run(rest);
        case "space" -> SpaceCommand.run(rest);
        case "charts" -> ChartsCommand.run(rest);
        default -> throw new UsageException("unknown command: " + words.get(0));
      }
      return 0;
    } catch (UsageException e) {
      System.err.println("kvsep bench: " + e.getMessage() + " (see kvsep bench --help)");
      return USAGE;
    } catch (FailedMeasurementException | KvException | UncheckedIOException e) {
      System.err.println("kvsep bench: " + e.getMessage());
      return FAILED;
    }
  }
}
