/**
 * Immutable sorted tables: their format, {@link io.kvsep.internal.sstable.TableWriter}, {@link
 * io.kvsep.internal.sstable.TableReader}, and the cache of open readers. Which tables exist, and
 * when their mappings may go, is decided above. Writers and iterators are for one thread at a time,
 * readers for any number. The format is described in docs/formats/table.md and, beside the code, in
 * {@link io.kvsep.internal.sstable.TableFormat}.
 */
@NullMarked
package io.kvsep.internal.sstable;

import org.jspecify.annotations.NullMarked;
