package io.kvsep.bench.compare;

import io.kvsep.bench.FailedMeasurementException;
import java.nio.ByteBuffer;
import java.util.function.Function;

/** Checks values without copying them. Not thread safe. */
final class ViewCheck implements Function<ByteBuffer, Boolean> {
  private final Entries entries;

  /** Entry of the next value. */
  long ordinal;

  ViewCheck(Entries entries) {
    this.entries = entries;
  }

  @Override
  public Boolean apply(ByteBuffer view) {
    if (!entries.matches(ordinal, view)) {
      throw new FailedMeasurementException("entry " + ordinal + " is wrong");
    }
    return Boolean.TRUE;
  }
}
