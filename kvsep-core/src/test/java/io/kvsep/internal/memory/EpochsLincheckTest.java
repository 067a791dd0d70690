package io.kvsep.internal.memory;

import io.kvsep.testing.Lincheck;
import java.util.ArrayList;
import java.util.List;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A cell whose content is replaced and retired while others read it: no reader ever holds something
 * that was released, and when a drain returns, everything unlinked before it is released.
 */
@Tag("lincheck")
final class EpochsLincheckTest {
  @Test
  void nothingIsReleasedUnderAReaderInAnyInterleaving() {
    Lincheck.modelChecking().sequentialSpecification(PlainCell.class).check(Cell.class);
  }

  @Test
  void nothingIsReleasedUnderAReaderAtFullSpeed() {
    Lincheck.stress()
        .threads(3)
        .actorsPerThread(3)
        .sequentialSpecification(PlainCell.class)
        .check(Cell.class);
  }

  private static final class NoContext implements SlotContext {
    @Override
    public void free() {}
  }

  private static final class Content {
    final int number;
    volatile boolean released;

    Content(int number) {
      this.number = number;
    }

    void release() {
      if (released) {
        throw new IllegalStateException("released twice");
      }
      released = true;
    }

    int read() {
      if (released) {
        throw new IllegalStateException("released under a reader");
      }
      return number;
    }
  }

  /** The operations on an epoch-protected cell. */
  public static final class Cell {
    private final Epochs<NoContext> epochs = new Epochs<>(NoContext::new);
    private final List<Content> retired = new ArrayList<>();
    private volatile Content current = new Content(0);

    @Operation
    public int read() {
      EpochSlot<NoContext> slot = epochs.vacant();
      try {
        slot = epochs.enter(slot);
        Content content = current;
        content.read();
        return content.read();
      } finally {
        epochs.exit(slot);
      }
    }

    @Operation
    public int replace() {
      Content old;
      synchronized (this) {
        old = current;
        current = new Content(old.number + 1);
      }
      epochs.retire(old::release);
      synchronized (retired) {
        retired.add(old);
      }
      return old.number;
    }

    @Operation
    public void collect() {
      epochs.collect();
    }

    @Operation
    public void drain() {
      List<Content> before;
      synchronized (retired) {
        before = List.copyOf(retired);
      }
      epochs.drain();
      for (Content content : before) {
        if (!content.released) {
          throw new IllegalStateException("drained and not released");
        }
      }
    }
  }

  /** The same without concurrency. */
  public static final class PlainCell {
    private int number;

    public int read() {
      return number;
    }

    public int replace() {
      return number++;
    }

    public void collect() {}

    public void drain() {}
  }
}
