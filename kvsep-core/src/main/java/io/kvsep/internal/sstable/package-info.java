/**
 * Immutable sorted tables: their format, {@link io.kvsep.internal.sstable.TableWriter}, {@link
 * io.kvsep.internal.sstable.TableReader} and the cache of open readers. Layers above decide which
 * tables exist and when they are unmapped. Writers and iterators are for one thread at a time,
 * readers for any number. Format: docs/formats/table.md.
 */
@NullMarked
package io.kvsep.internal.sstable;

import org.jspecify.annotations.NullMarked;
