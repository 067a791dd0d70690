package io.kvsep.internal.load;

import io.kvsep.internal.version.VersionEdit;

/** What a bulk load requires, and what it changes besides its entries, at the same moment. */
public interface LoadCondition {
  /** Throws if the load can no longer be installed. No write or change of keyspaces runs. */
  void check();

  /**
   * Adds changes to the edit that installs the load.
   *
   * @param sequence highest sequence number of the load
   */
  default void addTo(VersionEdit edit, long sequence) {}

  /** Called once the edit is installed, before readers see the entries. */
  default void installed() {}
}
