package io.kvsep.server.cli;

import java.io.Closeable;

/** Entries of a database of another engine, in key order. */
interface ForeignEntries extends EntryFile, Closeable {}
