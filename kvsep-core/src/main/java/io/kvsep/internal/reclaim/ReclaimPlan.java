package io.kvsep.internal.reclaim;

import java.util.Map;
import java.util.Set;

/**
 * Files to rewrite into one.
 *
 * @param files the victims
 * @param segments the segments whose records are in the victims, each with its number of referenced
 *     records
 */
public record ReclaimPlan(Set<Long> files, Map<Long, Long> segments, long victimBytes) {
  public ReclaimPlan {
    files = Set.copyOf(files);
    segments = Map.copyOf(segments);
  }
}
