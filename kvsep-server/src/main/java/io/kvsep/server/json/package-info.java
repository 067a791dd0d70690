/**
 * JSON shared by the command line and the HTTP server, and bytes shown as text. Depends on neither
 * of them.
 */
@NullMarked
package io.kvsep.server.json;

import org.jspecify.annotations.NullMarked;
