package io.kvsep;

/**
 * Reading and writing in one keyspace; see {@link KvStore#in}. Thread safe; costs nothing to make
 * and needs no closing. Once the keyspace is dropped every call throws {@link
 * IllegalStateException}.
 */
public interface KvView extends KvReader, KvWriter {}
