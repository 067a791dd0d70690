package io.kvsep;

/**
 * Reads and writes one keyspace; see {@link KvStore#in}. Thread safe. Costs nothing to create and
 * needs no closing. Once the keyspace is dropped, every call throws {@link IllegalStateException}.
 */
public interface KvView extends KvReader, KvWriter {}
