package io.kvsep.cluster;

/** Bytes that are not an entry of this version. */
final class MalformedEntryException extends Exception {
  private static final long serialVersionUID = 1L;

  MalformedEntryException(String message) {
    super(message);
  }
}
