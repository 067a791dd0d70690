package io.kvsep.internal.read;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.OtherThread;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** An error that surfaces as a claim returns leaves nothing claimed, and keeps other claims. */
final class LateClaimTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);

  /** Hears of a page as it has claimed. */
  private static final class Late extends BoundedCursor {
    private int claims;

    Late() {
      super(ALL);
    }

    @Override
    protected long newClaim() {
      return 7;
    }

    @Override
    protected void claim(long claim) {
      assertEquals(7, claim);
      claims++;
      throw new InternalError("an unreadable page, as a test wants it");
    }

    @Override
    protected void unclaim(long claim) {
      assertEquals(7, claim);
      claims--;
    }

    @Override
    protected boolean begin(boolean onward) {
      throw new AssertionError();
    }

    @Override
    protected boolean step(boolean onward) {
      throw new AssertionError();
    }

    @Override
    protected boolean jump(byte[] userKey, boolean onward) {
      throw new AssertionError();
    }

    @Override
    public byte[] key() {
      throw new AssertionError();
    }

    @Override
    public ByteBuffer keyView() {
      throw new AssertionError();
    }

    @Override
    public byte[] value() {
      throw new AssertionError();
    }

    @Override
    public ByteBuffer valueView() {
      throw new AssertionError();
    }

    @Override
    public int valueLength() {
      throw new AssertionError();
    }

    @Override
    public long expiresAtMillis() {
      throw new AssertionError();
    }

    @Override
    public void close() {
      throw new AssertionError();
    }
  }

  @Test
  void eachMoveGivesBackWhatItClaimed() {
    Late cursor = new Late();
    byte[] key = {1};
    for (Executable move :
        List.<Executable>of(
            cursor::next,
            cursor::previous,
            () -> cursor.seek(key),
            () -> cursor.seekFloor(key),
            () -> cursor.toEnd(/* first= */ true),
            cursor::isValid)) {
      assertThrows(InternalError.class, move);
      assertEquals(0, cursor.claims);
    }
  }

  @Test
  void whatWasNotClaimedIsNotGivenBack() throws Exception {
    try (StorageEngine engine = Engines.open(new CrashableStorage(), new ManualScheduler(1, 1))) {
      engine.writes().put(0, "key".getBytes(UTF_8), new byte[1], 0);
      SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST);
      assertTrue(cursor.next());

      long claim = cursor.newClaim();
      cursor.unclaim(claim);
      cursor.claim(claim);
      assertThrows(IllegalStateException.class, cursor::next);
      // In another thread, which has looked before this one claimed.
      cursor.unclaim(claim);
      long mine = cursor.newClaim();
      long slower = OtherThread.call(cursor::newClaim);
      cursor.claim(mine);
      OtherThread.call(
          () -> {
            assertThrows(IllegalStateException.class, () -> cursor.claim(slower));
            cursor.unclaim(slower);
            return true;
          });
      assertThrows(IllegalStateException.class, cursor::newClaim);
      cursor.unclaim(mine);
      assertTrue(cursor.isValid());
      cursor.close();
      assertThrows(StoreClosedException.class, cursor::newClaim);
    }
  }
}
