package io.kvsep.server.http;

import io.kvsep.EntryInfo;
import java.security.SecureRandom;
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

  String of(EntryInfo entry) {
    return of(entry.version());
  }

  String of(long version) {
    return '"' + Long.toString(version) + end;
  }
}
