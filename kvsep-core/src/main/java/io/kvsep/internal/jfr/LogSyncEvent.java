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
 * The log was synced, without the time spent waiting for another sync to end. With one sync a
 * commit there may be thousands a second, so only slow ones are recorded unless the recording says
 * otherwise.
 */
@Name("io.kvsep.LogSync")
@Label("Log Sync")
@Category("kvsep")
@Description("The value log was made durable")
@Threshold("10 ms")
@StackTrace(false)
public final class LogSyncEvent extends Event {
  /** Never committed; says whether events of this kind are recorded. */
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
