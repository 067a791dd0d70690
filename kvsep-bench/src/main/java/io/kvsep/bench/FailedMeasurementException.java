package io.kvsep.bench;

/** The store broke a promise: wrong or missing content, a wrong count, too much memory. */
public final class FailedMeasurementException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public FailedMeasurementException(String message) {
    super(message);
  }
}
