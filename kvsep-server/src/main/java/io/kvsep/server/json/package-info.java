/**
 * JSON that the command line and the HTTP server write alike, and bytes shown as text.
 *
 * <p>Used by both, and knows neither of them.
 */
@NullMarked
package io.kvsep.server.json;

import org.jspecify.annotations.NullMarked;
