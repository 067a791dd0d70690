package io.kvsep.internal.jfr;

import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/**
 * Begins events. Unless a recording wants the event, a method returns null at the cost of one or
 * two field reads. The caller ends the event, fills it in and commits it if {@code shouldCommit}.
 *
 * <p>A runtime image without the module {@code jdk.jfr} cannot load the event classes. So only this
 * class uses them, after a check; a reference to an event loads nothing. Nor are they loaded before
 * the recorder is used: generating their code took a tenth of a second.
 */
public final class FlightEvents {
  private static final boolean PRESENT = isPresent();

  private FlightEvents() {}

  public static @Nullable FlushEvent beginFlush() {
    return isInUse() ? FlushEvent.beginIfRecorded() : null;
  }

  public static @Nullable CompactionEvent beginCompaction() {
    return isInUse() ? CompactionEvent.beginIfRecorded() : null;
  }

  public static @Nullable ReclaimEvent beginReclaim() {
    return isInUse() ? ReclaimEvent.beginIfRecorded() : null;
  }

  public static @Nullable WriteStallEvent beginWriteStall() {
    return isInUse() ? WriteStallEvent.beginIfRecorded() : null;
  }

  public static @Nullable LogSyncEvent beginLogSync() {
    return isInUse() ? LogSyncEvent.beginIfRecorded() : null;
  }

  private static boolean isInUse() {
    return PRESENT && FlightRecorder.isInitialized();
  }

  private static boolean isPresent() {
    try {
      Class.forName("jdk.jfr.Event", false, FlightEvents.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }
}
