package io.kvsep.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;
import org.jspecify.annotations.Nullable;

/**
 * A sync of the log, without the wait for another sync. There may be thousands per second, so by
 * default only slow ones are recorded.
 */
@Name("io.kvsep.LogSync")
@Label("Log Sync")
@Category("kvsep")
@Description("The value log was made durable")
@Threshold("10 ms")
@StackTrace(false)
public final class LogSyncEvent extends Event {
  /** Never committed. */
  private static final LogSyncEvent PROBE = new LogSyncEvent();

  @Label("Store")
  @Description("Directory of the store")
  public String store = "";

  @Label("Segments")
  @Description("Segments that were synced")
  public int segments;

  @Label("Bytes")
  @Description("Log bytes that became durable")
  @DataAmount
  public long bytes;

  private LogSyncEvent() {}

  static @Nullable LogSyncEvent beginIfRecorded() {
    if (!PROBE.isEnabled()) {
      return null;
    }
    LogSyncEvent event = new LogSyncEvent();
    event.begin();
    return event;
  }
}
