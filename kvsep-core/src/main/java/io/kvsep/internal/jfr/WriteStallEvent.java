package io.kvsep.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/** Recorded on the thread of the group leader. */
@Name("io.kvsep.WriteStall")
@Label("Write Stall")
@Category("kvsep")
@Description("Writers were held back because background work did not keep up")
public final class WriteStallEvent extends Event {
  /** Never committed. */
  private static final WriteStallEvent PROBE = new WriteStallEvent();

  @Label("Store")
  @Description("Directory of the store")
  public String store = "";

  @Label("Cause")
  @Description("Memtables or level 0 being full, the slow-down before that, or garbage")
  public String cause = "";

  @Label("Memtables")
  @Description("Memtables when it began, the active one included")
  public int memtables;

  @Label("Level 0 Tables")
  @Description("Tables of level 0 when it began")
  public int levelZeroTables;

  @Label("Delay")
  @Description("What a slow-down was to take; 0 when writers waited for room")
  @Timespan(Timespan.NANOSECONDS)
  public long delayNanos;

  private WriteStallEvent() {}

  static @Nullable WriteStallEvent beginIfRecorded() {
    if (!PROBE.isEnabled()) {
      return null;
    }
    WriteStallEvent event = new WriteStallEvent();
    event.begin();
    return event;
  }
}
