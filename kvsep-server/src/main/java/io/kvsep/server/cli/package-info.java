/**
 * The command line {@code kvsep}: one class per command, shared parts (parsing arguments,
 * formatting keys, walking folders, progress), and the demo.
 *
 * <p>Uses only the public API of the core and keeps no state between runs. Commands run on the
 * caller's thread and use only the {@link io.kvsep.server.cli.Streams} passed to them, so tests run
 * commands in their own process.
 */
@NullMarked
package io.kvsep.server.cli;

import org.jspecify.annotations.NullMarked;
