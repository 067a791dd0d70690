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
