package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.EntryInfo;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Base64;

/**
 * Writes the version of an entry as an entity tag: {@code "VERSION-MARK"}, with quotes.
 *
 * <p>Versions are unique only while a store is open: a crash may lose some, which are then used
 * again, and checkpoints, copies, restored and repaired stores continue counting. So a random mark
 * is drawn whenever a store is served; tags of other stores or earlier runs match nothing.
 */
final class EntityTags {
  /** Long enough to be unique; a multiple of 3, so base64 has no padding. */
  private static final int MARK_BYTES = 9;

  private final String end;

  private EntityTags(String mark) {
    this.end = '-' + mark + '"';
  }

  /** Makes the tags of one store, from the start of serving until it is closed. */
  static EntityTags drawn() {
    byte[] mark = new byte[MARK_BYTES];
    new SecureRandom().nextBytes(mark);
    return new EntityTags(Base64.getUrlEncoder().encodeToString(mark));
  }

  /**
   * Makes the tags of a cluster, the same on all nodes: versions are made of values there, so a tag
   * matches the value that it was made for on any node at any time.
   */
  static EntityTags of(String cluster) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(cluster.getBytes(UTF_8));
      return new EntityTags(
          Base64.getUrlEncoder().encodeToString(Arrays.copyOf(digest, MARK_BYTES)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  String of(EntryInfo entry) {
    return of(entry.version());
  }

  String of(long version) {
    return '"' + Long.toString(version) + end;
  }
}
