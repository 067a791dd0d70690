package io.kvsep.bench;

/** The store broke a promise: wrong or missing content, a wrong count, too much memory. */
final class FailedMeasurementException extends RuntimeException {
  private static final long serialVersionUID = 1;

  FailedMeasurementException(String message) {
    super(message);
  }
}
