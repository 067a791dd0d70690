/**
 * The command line {@code kvsep}: one class per command, what they share (reading arguments,
 * showing keys, walking folders, progress), and the demonstration.
 *
 * <p>Uses only the public API of the core; owns no state beyond one run. Every command runs on the
 * caller's thread and speaks through the {@link io.kvsep.server.Streams} it was given, so that
 * tests run commands in their own process.
 */
@NullMarked
package io.kvsep.server;

import org.jspecify.annotations.NullMarked;
