package io.kvsep.bench.compare;

import io.kvsep.bench.FailedMeasurementException;
import java.nio.ByteBuffer;
import java.util.function.Function;

/** Looks at values without copying them. Not thread safe. */
final class ViewCheck implements Function<ByteBuffer, Boolean> {
  private final Entries entries;

  /** Of the entry whose value comes next. */
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
