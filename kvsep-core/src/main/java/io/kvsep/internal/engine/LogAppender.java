package io.kvsep.internal.engine;

import io.kvsep.error.StorageException;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.Frame;
import io.kvsep.internal.vlog.LogWriter;
import io.kvsep.internal.vlog.Segment;
import java.io.IOException;

/**
 * The log as the commit leader uses it: a {@link LogWriter} that starts new segments by itself. A
 * segment is durable and in the manifest before the first frame goes into it, so the manifest alone
 * says which segments exist.
 */
final class LogAppender {
  private static final long LIVE_BYTES_PER_SEGMENT_BYTE = 8;

  /** Each new segment costs three syncs. */
  private static final long SEGMENT_BYTES_MIN = 32 << 20;

  private final LogWriter writer;
  private final VersionSet versions;
  private final LiveView live;
  private final FailureState failure;
  private final long segmentBytesMax;

  LogAppender(
      LogWriter writer,
      VersionSet versions,
      LiveView live,
      FailureState failure,
      long segmentBytesMax) {
    this.live = live;
    this.writer = writer;
    this.versions = versions;
    this.failure = failure;
    this.segmentBytesMax = segmentBytesMax;
  }

  /**
   * Gets ready for a group of {@code bytes}, in a new segment if it does not fit the active one.
   */
  void prepare(long bytes) throws IOException {
    if (writer.needsNewSegment(bytes, segmentBytes())) {
      startSegment();
    }
    writer.begin();
  }

  /**
   * Short segments as long as little is live: a file can be rewritten only once the log is through
   * with it, and is in the way as a whole until then.
   */
  private long segmentBytes() {
    long part = live.get().version.liveBytes() / LIVE_BYTES_PER_SEGMENT_BYTE;
    return Math.min(segmentBytesMax, Math.max(SEGMENT_BYTES_MIN, part));
  }

  void append(Frame frame, long firstSequence, boolean alone) throws IOException {
    writer.append(frame, firstSequence, alone);
  }

  void publish() throws IOException {
    writer.publish();
  }

  /** Forgets the group. Where its remains may come back, that is a failure of the store. */
  void abort() {
    try {
      writer.abort();
    } catch (IOException e) {
      throw failure.fail(e);
    }
  }

  /** Makes everything published durable. A failure is the store's. */
  void sync() {
    try {
      writer.sync();
    } catch (IOException e) {
      throw failure.fail(e);
    }
  }

  /** Seals the active segment if it ends with remains that could not be cut off. */
  void leaveRemains() {
    if (writer.isAbandoned()) {
      roll();
    }
  }

  /** Goes on in a new segment whatever the length of the active one. */
  void roll() {
    try {
      startSegment();
    } catch (IOException e) {
      throw new StorageException("cannot begin a segment", e);
    }
  }

  private void startSegment() throws IOException {
    Segment sealed = writer.active();
    Segment created = writer.createSegment(versions.newSegmentId());
    boolean inManifest = false;
    try {
      syncCreated(created);
      VersionEdit edit = new VersionEdit().addSegment(created.id());
      if (sealed != null) {
        edit.sealSegment(sealed.id(), sealed.publishedEnd());
      }
      applySealing(edit);
      inManifest = true;
    } finally {
      if (!inManifest) {
        created.free();
      }
    }
    writer.switchTo(created);
    // What is written from now on lies in this segment: a cursor has to hold a version that has it.
    live.installVersion(null);
  }

  /** Puts an edit in force that seals the active segment. */
  void applySealing(VersionEdit edit) {
    boolean applied = false;
    try {
      failure.guard(() -> versions.apply(edit));
      applied = true;
    } finally {
      if (!applied) {
        // The edit may stand on the device all the same, and with it the seal.
        writer.abandonActive();
      }
    }
  }

  private void syncCreated(Segment created) {
    try {
      writer.syncCreated(created);
    } catch (IOException e) {
      throw failure.fail(e);
    }
  }
}
