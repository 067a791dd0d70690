package io.kvsep.server.redis;

/** Limits of keys. */
final class Keys {
  static final int BYTES_MAX = 65_535;

  private Keys() {}

  /** Refuses keys that Redis accepts and the store does not. */
  static void check(byte[] key) {
    if (key.length == 0) {
      throw new CommandError("ERR a key must not be empty in this store");
    }
    if (key.length > BYTES_MAX) {
      throw new CommandError(
          "ERR a key must not be longer than " + BYTES_MAX + " bytes, has " + key.length);
    }
  }
}
