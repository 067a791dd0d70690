package io.kvsep.internal.write;

import io.kvsep.internal.concurrent.Ticker;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.jfr.FlightEvents;
import io.kvsep.internal.jfr.WriteStallEvent;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.view.ReadState;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Counts and records write stalls, which do not overlap. Any thread may read the sums. */
public final class WriteStalls {
  enum Cause {
    MEMTABLES_FULL("memtables full"),
    MEMTABLES_SLOWDOWN("memtable slow-down"),
    LEVEL_ZERO_FULL("level 0 full"),
    LEVEL_ZERO_SLOWDOWN("level 0 slow-down"),
    GARBAGE_SLOWDOWN("garbage slow-down");

    private final String text;

    Cause(String text) {
      this.text = text;
    }
  }

  private final CurrentReadState currentState;
  private final Ticker ticker;
  private final String store;
  private final AtomicLong count = new AtomicLong();
  private final AtomicLong nanos = new AtomicLong();

  // The stall in progress.
  private long startNanos;
  private @Nullable WriteStallEvent event;

  WriteStalls(EngineConfig config, CurrentReadState currentState) {
    this.currentState = currentState;
    this.ticker = config.ticker();
    this.store = config.storage().location();
  }

  void begin() {
    startNanos = ticker.nanos();
    WriteStallEvent begun = FlightEvents.beginWriteStall();
    if (begun != null) {
      ReadState readState = currentState.get();
      begun.memtables = readState.memtables.size();
      begun.levelZeroTables = readState.version.tables(0).length;
    }
    event = begun;
  }

  /**
   * @param delayNanos intended delay of a slow-down; 0 if writers waited for space
   */
  void end(Cause cause, long delayNanos) {
    count.incrementAndGet();
    nanos.addAndGet(ticker.nanos() - startNanos);
    WriteStallEvent ended = event;
    event = null;
    if (ended == null) {
      return;
    }
    ended.end();
    if (ended.shouldCommit()) {
      ended.store = store;
      ended.cause = cause.text;
      ended.delayNanos = delayNanos;
      ended.commit();
    }
  }

  public long count() {
    return count.get();
  }

  public long nanos() {
    return nanos.get();
  }
}
