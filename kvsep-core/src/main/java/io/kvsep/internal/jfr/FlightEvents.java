package io.kvsep.internal.jfr;

import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/**
 * Begins events. Each method returns null unless a recording wants the event; then nothing is
 * allocated, and the cost is that of reading a field or two. Whoever gets an event ends it, fills
 * it in and commits it if it should be.
 *
 * <p>A runtime image without the module {@code jdk.jfr} cannot even load the event classes, so they
 * are named here alone, behind a check. Other classes hold references to events, which does not
 * load anything. Nor are they loaded before somebody uses the recorder: the JVM then makes code for
 * each, which took a tenth of a second where nothing is ever recorded.
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
