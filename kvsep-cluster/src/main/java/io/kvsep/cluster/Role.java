package io.kvsep.cluster;

/** The role of a node in its group. */
public enum Role {
  /** Orders the writes of the group. */
  LEADER,
  /** Follows a leader. */
  FOLLOWER,
  /** Tries to become the leader. */
  CANDIDATE,
  /** Neither votes nor leads: has not joined yet, or has stopped. */
  OUTSIDE
}
