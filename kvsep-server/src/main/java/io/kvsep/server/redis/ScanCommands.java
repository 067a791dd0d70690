package io.kvsep.server.redis;

import io.kvsep.KvCursor;
import io.kvsep.ScanOptions;
import io.kvsep.server.redis.Command.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** Commands that iterate over the keys of a database. */
final class ScanCommands {
  private static final int SCAN_COUNT = 10;

  /** COUNT is a hint; a longer scan would delay other clients. */
  private static final int SCAN_COUNT_MAX = 10_000;

  /** Bytes of keys plus the cost of matching them, after which a call ends. */
  private static final int SCAN_BYTES_MAX = 1 << 20;

  /** Upper bound of the heap bytes of a key in a list, in addition to its content. */
  private static final int KEY_HEAP_BYTES = 48;

  private ScanCommands() {}

  static List<Command> all() {
    return List.of(
        Command.of("scan", -2, Kind.READ, ScanCommands::scan, "Walks over the keys, part by part"),
        Command.of("keys", 2, Kind.LONG_READ, ScanCommands::keys, "Gives all keys of a pattern"),
        Command.of(
            "dbsize", 1, Kind.LONG_READ, ScanCommands::size, "Counts the keys of a database"),
        Command.of("randomkey", 1, Kind.LONG_READ, ScanCommands::randomKey, "Gives some key"));
  }

  private static void scan(Call call) {
    long cursor = cursor(call.text(1));
    byte[] pattern = {'*'};
    long count = SCAN_COUNT;
    boolean anyType = true;
    for (int i = 2; i < call.count(); i += 2) {
      if (i + 1 == call.count()) {
        throw CommandError.syntax();
      }
      switch (call.word(i)) {
        case "MATCH" -> pattern = call.bytes(i + 1);
        case "COUNT" -> count = call.integer(i + 1);
        case "TYPE" -> anyType = call.word(i + 1).equals("STRING");
        default -> throw CommandError.syntax();
      }
    }
    if (count < 1) {
      throw CommandError.syntax();
    }
    ScanCursors.@Nullable Place place = cursor == 0 ? null : call.server.cursors().find(cursor);
    if (cursor != 0 && (place == null || place.database() != call.session.database)) {
      throw new CommandError("ERR invalid cursor: not of this database, or no longer kept");
    }
    List<byte[]> found = new ArrayList<>();
    byte[] next = null;
    if (anyType) {
      byte[] from = place == null ? null : place.key();
      next = walk(call, new Glob(pattern), from, (int) Math.min(count, SCAN_COUNT_MAX), found);
    }
    long following =
        next == null
            ? 0
            : call.server.cursors().add(new ScanCursors.Place(call.session.database, next, cursor));
    call.out.array(2);
    call.out.bulk(Long.toUnsignedString(following));
    array(call, found);
  }

  /**
   * Scans up to {@code count} keys from {@code from} on, at least one unless the client has gone.
   * Returns the first key not scanned, null at the end.
   */
  private static byte @Nullable [] walk(
      Call call, Glob glob, byte @Nullable [] from, int count, List<byte[]> found) {
    byte[] prefix = glob.prefix();
    if (prefix.length > Keys.BYTES_MAX) {
      return null;
    }
    ScanOptions options = ScanOptions.prefix(prefix).keysOnly();
    long bytes = 0;
    try (KvCursor cursor = call.entries().cursor(options)) {
      boolean valid = from == null ? cursor.next() : cursor.seek(from);
      for (int i = 0; valid && i < count && bytes < SCAN_BYTES_MAX && !call.session.gone; i++) {
        byte[] key = cursor.key();
        bytes += glob.cost(key);
        if (glob.matches(key)) {
          found.add(key);
        }
        valid = cursor.next();
      }
      return valid ? cursor.key() : null;
    }
  }

  private static long cursor(String text) {
    try {
      return Long.parseUnsignedLong(text);
    } catch (NumberFormatException e) {
      throw new CommandError("ERR invalid cursor");
    }
  }

  private static void keys(Call call) {
    try (RequestBudget.Share share = call.server.budget().share()) {
      array(call, matching(call, new Glob(call.bytes(1)), share));
    }
  }

  private static List<byte[]> matching(Call call, Glob glob, RequestBudget.Share share) {
    List<byte[]> found = new ArrayList<>();
    byte[] prefix = glob.prefix();
    if (prefix.length > Keys.BYTES_MAX) {
      return found;
    }
    long bytes = 0;
    try (KvCursor cursor = call.entries().cursor(ScanOptions.prefix(prefix).keysOnly())) {
      while (!call.session.gone && cursor.next()) {
        byte[] key = cursor.key();
        if (glob.matches(key)) {
          bytes += key.length + 8L;
          call.out.checkRoom(bytes);
          share.take(key.length + KEY_HEAP_BYTES);
          found.add(key);
        }
      }
    }
    return found;
  }

  private static void array(Call call, List<byte[]> keys) {
    call.out.array(keys.size());
    for (byte[] key : keys) {
      call.out.bulk(key);
    }
  }

  private static void size(Call call) {
    long count = 0;
    try (KvCursor cursor = call.entries().cursor(ScanOptions.all().keysOnly())) {
      while (!call.session.gone && cursor.next()) {
        count++;
      }
    }
    call.out.integer(count);
  }

  private static void randomKey(Call call) {
    KeySurvey survey = call.server.surveys().recent(call.session.database);
    try (KvCursor cursor = call.entries().cursor(ScanOptions.all().keysOnly())) {
      call.out.bulkOrNull(survey.draw(cursor, ThreadLocalRandom.current()));
    }
  }
}
