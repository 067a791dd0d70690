/**
 * The LevelDB interface of Java programs, {@code org.iq80.leveldb}, on kvsep stores. Start at
 * {@link io.kvsep.leveldb.KvsepDBFactory}.
 */
@NullMarked
package io.kvsep.leveldb;

import org.jspecify.annotations.NullMarked;
