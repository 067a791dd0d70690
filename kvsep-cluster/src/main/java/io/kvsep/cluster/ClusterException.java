package io.kvsep.cluster;

import org.jspecify.annotations.Nullable;

/**
 * The group did not answer in time: it has no leader, a majority cannot be reached, or this node
 * has stopped. A write may have been applied nevertheless, or be applied later, if {@link
 * #isOutcomeUnknown} says so; a read has no effect and may be repeated.
 */
public final class ClusterException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final boolean outcomeUnknown;

  ClusterException(String message, @Nullable Throwable cause, boolean outcomeUnknown) {
    super(message, cause);
    this.outcomeUnknown = outcomeUnknown;
  }

  /** {@return whether the call was a write that may take effect} */
  public boolean isOutcomeUnknown() {
    return outcomeUnknown;
  }
}
