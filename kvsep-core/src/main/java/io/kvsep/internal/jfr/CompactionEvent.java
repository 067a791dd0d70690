package io.kvsep.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** Lasts from the first entry read until the new tables are installed. */
@Name("io.kvsep.Compaction")
@Label("Compaction")
@Category("kvsep")
@Description("Tables were merged into the next level")
@StackTrace(false)
public final class CompactionEvent extends Event {
  /** Never committed. */
  private static final CompactionEvent PROBE = new CompactionEvent();

  @Label("Store")
  @Description("Directory of the store")
  public String store = "";

  @Label("Input Level")
  public int inputLevel;

  @Label("Output Level")
  public int outputLevel;

  @Label("Input Tables")
  @Description("Tables that were replaced, of both levels")
  public int inputTables;

  @Label("Input Bytes")
  @DataAmount
  public long inputBytes;

  @Label("Output Tables")
  public int outputTables;

  @Label("Output Bytes")
  @DataAmount
  public long outputBytes;

  @Label("Moved")
  @Description("Whether the tables went down as they are, without being read")
  public boolean moved;

  private CompactionEvent() {}

  static @Nullable CompactionEvent beginIfRecorded() {
    if (!PROBE.isEnabled()) {
      return null;
    }
    CompactionEvent event = new CompactionEvent();
    event.begin();
    return event;
  }
}
