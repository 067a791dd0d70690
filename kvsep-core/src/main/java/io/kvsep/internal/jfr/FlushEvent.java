package io.kvsep.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** Lasts from the first entry read until the table is installed. */
@Name("io.kvsep.Flush")
@Label("Flush")
@Category("kvsep")
@Description("A memtable was written out as a table")
@StackTrace(false)
public final class FlushEvent extends Event {
  /** Never committed. */
  private static final FlushEvent PROBE = new FlushEvent();

  @Label("Store")
  @Description("Directory of the store")
  public String store = "";

  @Label("Entries")
  @Description("Entries of the memtable, all versions counted")
  public long entries;

  @Label("Memtable Bytes")
  @Description("Memory the entries took")
  @DataAmount
  public long memtableBytes;

  @Label("Table Bytes")
  @Description("Length of the table; 0 when no entry was worth keeping")
  @DataAmount
  public long tableBytes;

  private FlushEvent() {}

  static @Nullable FlushEvent beginIfRecorded() {
    if (!PROBE.isEnabled()) {
      return null;
    }
    FlushEvent event = new FlushEvent();
    event.begin();
    return event;
  }
}
