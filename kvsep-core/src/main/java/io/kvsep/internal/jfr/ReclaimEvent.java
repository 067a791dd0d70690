package io.kvsep.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** Lasts from the first record read until the new file is installed. */
@Name("io.kvsep.Reclaim")
@Label("Reclaim")
@Category("kvsep")
@Description("Files of the value log were rewritten without their garbage")
@StackTrace(false)
public final class ReclaimEvent extends Event {
  /** Never committed. */
  private static final ReclaimEvent PROBE = new ReclaimEvent();

  @Label("Store")
  @Description("Directory of the store")
  public String store = "";

  @Label("Victims")
  @Description("Files that were replaced")
  public int victims;

  @Label("Bytes Read")
  @Description("Records that were copied")
  @DataAmount
  public long bytesRead;

  @Label("Bytes Written")
  @Description("Length of the new file")
  @DataAmount
  public long bytesWritten;

  @Label("Bytes Freed")
  @Description("By how much the victims together are longer than the new file")
  @DataAmount
  public long bytesFreed;

  private ReclaimEvent() {}

  static @Nullable ReclaimEvent beginIfRecorded() {
    if (!PROBE.isEnabled()) {
      return null;
    }
    ReclaimEvent event = new ReclaimEvent();
    event.begin();
    return event;
  }
}
