package io.kvsep.testing;

import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * One unsynced write or truncate of a file. Immutable.
 *
 * <p>A write tears at multiples of 512 bytes in the file. Bytes beside the written range are never
 * harmed, not even those in the same sector: every file system and disk in use keeps to that, and
 * no log could be appended to otherwise.
 */
final class Change {
  private static final int SECTOR_BYTES = 512;

  /** Of longer writes not every subset of the sectors is tried. */
  private static final int SUBSET_SECTORS_MAX = 4;

  /** Where a write starts, or the new length. */
  private final int offset;

  /** Null for a truncate. */
  private final byte @Nullable [] written;

  private Change(int offset, byte @Nullable [] written) {
    this.offset = offset;
    this.written = written;
  }

  static Change write(int offset, byte[] written) {
    return new Change(offset, written);
  }

  static Change truncate(int length) {
    return new Change(length, null);
  }

  int verdictCount() {
    return written == null ? 2 : 3;
  }

  void apply(Content content) {
    if (written == null) {
      content.truncate(offset);
    } else {
      content.write(offset, written, 0, written.length);
    }
  }

  /**
   * In how many ways it may end: not at all, wholly, and torn in every way that differs by sectors.
   * A write of up to four sectors leaves any of them out; a longer one what follows or precedes
   * some sector, or a single one. What is left out is as it was before, or noise behind some
   * sector; the length is the old one, that of what was written, or the new one.
   */
  int outcomeCount() {
    if (written == null) {
      return 2;
    }
    int sectors = sectorCount(written);
    return 1 + sectors + holeCount(sectors) + sectors;
  }

  /** Ends in one of these ways; 0 is not at all, 1 wholly. */
  void applyOutcome(Content content, int outcome) {
    if (outcome == 1) {
      apply(content);
    }
    if (outcome <= 1 || written == null) {
      return;
    }
    int sectors = sectorCount(written);
    int which = outcome - 1;
    if (which < sectors) {
      content.write(offset, written, 0, sectorEnd(written, which - 1) - offset);
      return;
    }
    which -= sectors;
    content.extend(offset + written.length);
    boolean noise = which >= holeCount(sectors);
    int prefix = which - holeCount(sectors);
    Random random = new Random(offset);
    int start = offset;
    for (int sector = 0; sector < sectors; sector++) {
      int end = sectorEnd(written, sector);
      if (noise ? sector < prefix : !isHole(which, sector, sectors)) {
        content.write(start, written, start - offset, end - start);
      } else if (noise) {
        byte[] bytes = new byte[end - start];
        random.nextBytes(bytes);
        content.write(start, bytes, 0, bytes.length);
      }
      start = end;
    }
  }

  private static int holeCount(int sectors) {
    return sectors <= SUBSET_SECTORS_MAX ? (1 << sectors) - 1 : 3 * sectors - 3;
  }

  /** Whether a sector is missing in the n-th way of leaving sectors out. */
  private static boolean isHole(int which, int sector, int sectors) {
    if (sectors <= SUBSET_SECTORS_MAX) {
      return (which >> sector & 1) == 0;
    }
    if (which < sectors) {
      return sector >= which;
    }
    if (which < 2 * sectors - 1) {
      return sector <= which - sectors;
    }
    return sector == which - (2 * sectors - 1) + 1;
  }

  void apply(Content content, Verdict verdict, Random random) {
    switch (verdict) {
      case KEPT -> apply(content);
      case DROPPED -> {}
      case TORN -> {
        if (written == null) {
          apply(content);
        } else {
          tear(content, written, random);
        }
      }
    }
  }

  private void tear(Content content, byte[] bytes, Random random) {
    switch (random.nextInt(4)) {
      case 0 -> tearAfter(content, bytes, random);
      // The length is a matter of the inode, and can be there before any data.
      case 1 -> content.extend(offset + bytes.length);
      case 2 -> tearApart(content, bytes, random, false);
      default -> tearApart(content, bytes, random, true);
    }
  }

  /** Some sectors at the front, and perhaps the length, but nothing of the rest. */
  private void tearAfter(Content content, byte[] bytes, Random random) {
    int sectorsKept = random.nextInt(sectorCount(bytes));
    if (sectorsKept > 0) {
      content.write(offset, bytes, 0, sectorEnd(bytes, sectorsKept - 1) - offset);
    }
    if (random.nextBoolean()) {
      content.extend(offset + bytes.length);
    }
  }

  /** Each sector for itself. */
  private void tearApart(Content content, byte[] bytes, Random random, boolean garbage) {
    content.extend(offset + bytes.length);
    int start = offset;
    for (int sector = 0; sector < sectorCount(bytes); sector++) {
      int end = sectorEnd(bytes, sector);
      switch (random.nextInt(garbage ? 3 : 2)) {
        case 0 -> content.write(start, bytes, start - offset, end - start);
        case 1 -> {}
        default -> {
          byte[] noise = new byte[end - start];
          random.nextBytes(noise);
          content.write(start, noise, 0, noise.length);
        }
      }
      start = end;
    }
  }

  private int sectorCount(byte[] bytes) {
    return (offset + bytes.length - 1) / SECTOR_BYTES - offset / SECTOR_BYTES + 1;
  }

  /** Where, in the file, the n-th sector that the write touches ends, or the write itself. */
  private int sectorEnd(byte[] bytes, int sector) {
    long end = (offset / SECTOR_BYTES + sector + 1L) * SECTOR_BYTES;
    return (int) Math.min(end, (long) offset + bytes.length);
  }
}
