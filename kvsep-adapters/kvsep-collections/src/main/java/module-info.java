/** Typed maps and sets in a kvsep store. Start at {@link io.kvsep.collections.KvMap}. */
module io.kvsep.collections {
  requires transitive io.kvsep.core;
  requires transitive static org.jspecify;

  exports io.kvsep.collections;
}
