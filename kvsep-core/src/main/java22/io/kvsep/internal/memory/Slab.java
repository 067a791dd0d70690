package io.kvsep.internal.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * Memory of one arena, cut into pieces of one size. Closing an arena takes a handshake with all
 * threads, about 100 microseconds, so only long regions have one of their own.
 *
 * <p>Sizes have four steps between powers of two, so a piece is at most a quarter longer than asked
 * for. A slab without used pieces is closed if another slab has room; the first slab of a size
 * never is and belongs to the garbage collector.
 *
 * <p>Thread safe. Releasing a piece allocates nothing.
 */
final class Slab {
  private static final int PIECE_BYTES_MIN = 64;
  private static final int PIECE_BYTES_MAX = 128 << 10;
  private static final int SLAB_BYTES_MIN = 64 << 10;
  private static final int PIECES_MIN = 4;
  private static final int SMALLEST_SHIFT = 3;
  private static final long ALIGNMENT = 16;

  private static final Size[] SIZES = sizes();

  /** Null for a slab of one piece, which is closed with it. */
  private final @Nullable Size size;

  private final Arena arena;
  private final MemorySegment memory;
  private final boolean permanent;

  // Guarded by size.
  private final BitSet used = new BitSet();
  private int usedCount;
  private @Nullable Slab before;
  private @Nullable Slab behind;

  private Slab(@Nullable Size size, Arena arena, long bytes, boolean permanent) {
    this.size = size;
    this.arena = arena;
    this.permanent = permanent;
    this.memory = arena.allocate(bytes, ALIGNMENT);
    if (size != null) {
      used.set(size.pieces);
      used.clear(size.pieces);
    }
  }

  /** The slabs of one piece size that have room, as a list without objects of its own. */
  private static final class Size {
    final int bytes;
    final int pieces;
    @Nullable Slab first;
    boolean begun;

    Size(int bytes) {
      this.bytes = bytes;
      this.pieces = Math.max(PIECES_MIN, SLAB_BYTES_MIN / bytes);
    }

    /** An uncleared piece of {@code length} bytes, and the slab it is in. */
    synchronized Piece take(long length) {
      Slab slab = first;
      if (slab == null) {
        Arena arena = begun ? Arena.ofShared() : Arena.ofAuto();
        slab = new Slab(this, arena, (long) pieces * bytes, !begun);
        begun = true;
        link(slab);
      }
      int index = slab.used.nextClearBit(0);
      Piece piece = new Piece(slab, slab.memory.asSlice((long) index * bytes, length));
      slab.used.set(index);
      if (++slab.usedCount == pieces) {
        unlink(slab);
      }
      return piece;
    }

    /** Returns whether the slab is to be closed. */
    synchronized boolean give(Slab slab, MemorySegment piece) {
      int index = (int) ((piece.address() - slab.memory.address()) / bytes);
      slab.used.clear(index);
      if (slab.usedCount-- == pieces) {
        link(slab);
      }
      boolean isAlone = slab.before == null && slab.behind == null;
      if (slab.usedCount > 0 || slab.permanent || isAlone) {
        return false;
      }
      unlink(slab);
      return true;
    }

    private void link(Slab slab) {
      Slab next = first;
      slab.behind = next;
      if (next != null) {
        next.before = slab;
      }
      first = slab;
    }

    private void unlink(Slab slab) {
      Slab next = slab.behind;
      Slab previous = slab.before;
      if (next != null) {
        next.before = previous;
      }
      if (previous != null) {
        previous.behind = next;
      } else {
        first = next;
      }
      slab.before = null;
      slab.behind = null;
    }
  }

  /** Memory and where to {@link #give} it back. */
  record Piece(Slab slab, MemorySegment memory) {}

  private static Size[] sizes() {
    Size[] sizes = new Size[indexOf(PIECE_BYTES_MAX) + 1];
    for (int i = 0; i < sizes.length; i++) {
      sizes[i] = new Size((5 + i % 4) << (SMALLEST_SHIFT + i / 4));
    }
    return sizes;
  }

  /** Index of the smallest size that holds so many bytes. */
  private static int indexOf(long length) {
    long last = Math.max(length, PIECE_BYTES_MIN) - 1;
    int shift = 61 - Long.numberOfLeadingZeros(last);
    return 4 * (shift - SMALLEST_SHIFT) + (int) (last >>> shift) - 4;
  }

  /** Allocates memory of any content. */
  static Piece take(long length) {
    if (length <= PIECE_BYTES_MAX) {
      return SIZES[indexOf(length)].take(length);
    }
    Slab slab = new Slab(/* size= */ null, Arena.ofShared(), length, /* permanent= */ false);
    return new Piece(slab, slab.memory);
  }

  /** Whether its memory was never used before, and so is zero. */
  boolean isNew() {
    return size == null;
  }

  /** Takes back a piece. */
  void give(MemorySegment piece) {
    if (size == null || size.give(this, piece)) {
      arena.close();
    }
  }
}
