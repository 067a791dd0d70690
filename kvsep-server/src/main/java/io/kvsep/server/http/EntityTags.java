package io.kvsep.server.http;

import io.kvsep.EntryInfo;
import java.security.SecureRandom;
import java.util.Base64;

/**
 * How the version of an entry is written: {@code "VERSION-MARK"}, in quotes, as headers have it.
 *
 * <p>As long as a store is open no version is given twice. Afterwards one may be: to what is
 * written after a crash that took something back, and in a checkpoint, a copy, a restored or
 * repaired store, which count on from where they are. So the mark is drawn anew whenever a store is
 * served, and a tag of any other time or store matches nothing.
 */
final class EntityTags {
  /** More than anybody could meet by chance; without a rest in base64. */
  private static final int MARK_BYTES = 9;

  private final String end;

  private EntityTags(String mark) {
    this.end = '-' + mark + '"';
  }

  /** For one store, from when it is served until it is closed. */
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
