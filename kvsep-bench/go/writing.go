package main

import (
	"errors"
	"time"
)

const (
	overwriteBatch = 100
	// batchBytesMax ends a batch before it has all its entries.
	batchBytesMax = 32 << 20
	// syncOrdinals is a number of new keys that no disk syncs in the time of a workload.
	syncOrdinals = 1 << 20
	// patience is how many times the time of other workloads those with a fixed number of writes may
	// take: a slow engine then has written less.
	patience = 12
)

// written is what a workload wrote in batches.
type written struct {
	entries   int64
	raw       int64
	latencies histogram
}

// batches writes entries until there are count of them or, if there is a limit, the time is up. A
// batch ends with size entries, or with the one that makes it long. Its time includes making it.
func (r *run) batches(count int64, size int, limit time.Duration,
	ordinal func(index int64) int64) (*written, error) {
	done := &written{}
	longest := int64(keyBytes + r.data.longestValue())
	arrays := make([]byte, min(int64(size)*longest, batchBytesMax+longest))
	emptyKey := r.data.newKey()
	batch := make([]entry, 0, size)
	used := 0
	take := func(length int) []byte {
		taken := arrays[used : used+length : used+length]
		used += length
		return taken
	}
	start := time.Now()
	batchStart := start
	for i := range count {
		o := ordinal(i)
		e := entry{take(keyBytes), take(r.data.valueBytes(o))}
		copy(e.key, emptyKey)
		putKey(o, e.key)
		r.data.putValue(o, e.value)
		batch = append(batch, e)
		if len(batch) < size && used < batchBytesMax && i+1 < count {
			continue
		}
		if err := r.store.write(batch); err != nil {
			return nil, err
		}
		now := time.Now()
		done.latencies.add(int64(now.Sub(batchStart)))
		done.entries += int64(len(batch))
		done.raw += int64(used)
		r.stepOf(work{count: count, limit: limit}, i+1, now.Sub(start))
		if limit > 0 && now.Sub(start) >= limit {
			break
		}
		batch = batch[:0]
		used = 0
		batchStart = now
	}
	return done, nil
}

// batched syncs and closes after writing in batches, and reports what was written; rate is the name of
// the figure without what follows.
func (r *run) batched(rate string, done *written, start time.Time, writing time.Duration) error {
	if err := errors.Join(r.store.sync(), r.close()); err != nil {
		return err
	}
	closed := time.Since(start)
	r.rate(rate, done.entries, writing)
	r.rate("until_closed", done.entries, closed)
	r.latencies(&done.latencies)
	r.result("seconds", closed.Seconds(), "s")
	r.written = done.raw
	if err := writeOut(r.command.dir); err != nil {
		return err
	}
	return r.size()
}

func (r *run) load() (err error) {
	if r.writtenBefore, err = writtenBytes(); err != nil {
		return err
	}
	if err := r.open(r.command.durability); err != nil {
		return err
	}
	start := time.Now()
	var done *written
	var writing time.Duration
	err = r.synced(func() (err error) {
		done, err = r.batches(r.data.entries, r.command.batch, 0, r.data.shuffled)
		// Before a sync that is under way is waited for.
		writing = time.Since(start)
		return err
	})
	if err != nil {
		return err
	}
	return r.batched("until_written", done, start, writing)
}

func (r *run) warmUpSingles() int64 {
	return max(1, r.data.entries/10)
}

func (r *run) measuredSingles() int64 {
	return max(1, r.data.entries/2)
}

// single puts new keys one by one; the first of them only to warm up.
func (r *run) single() error {
	if err := r.open(durabilityAsync); err != nil {
		return err
	}
	warmUp := r.warmUpSingles()
	order := dataset{warmUp + r.measuredSingles(), r.data.lengths}
	puts := work{threads: 1, limit: patience * r.command.seconds, block: 16, every: 1}
	return r.synced(func() error {
		puts.count, puts.operation = warmUp, r.putNew(r.data.entries, order, 0)
		if _, _, _, err := r.perform(puts); err != nil {
			return err
		}
		puts.count, puts.operation = r.measuredSingles(), r.putNew(r.data.entries, order, warmUp)
		return r.measure(puts)
	})
}

// singleSync puts new keys on many threads, each durable before the next.
func (r *run) singleSync() error {
	if err := r.open(durabilitySync); err != nil {
		return err
	}
	order := dataset{syncOrdinals, r.data.lengths}
	return r.measure(work{threads: syncThreads, count: syncOrdinals, limit: r.command.seconds,
		block: 1, every: 1, operation: r.putNew(r.data.entries+r.warmUpSingles()+r.measuredSingles(), order, 0)})
}

// unusedFrom is the first ordinal that neither single nor singleSync puts.
func (r *run) unusedFrom() int64 {
	return r.data.entries + r.warmUpSingles() + r.measuredSingles() + syncOrdinals
}

// putNew puts the entries of an order from one of them on; ordinals start at first.
func (r *run) putNew(first int64, order dataset, from int64) func(*worker) (operation, error) {
	return func(*worker) (operation, error) {
		key := r.data.newKey()
		value := make([]byte, r.data.longestValue())
		return func(index int64) error {
			ordinal := first + order.shuffled(from+index)
			r.added.Add(keyBytes + int64(r.data.valueBytes(ordinal)))
			return r.put(ordinal, key, value)
		}, nil
	}
}

// put writes one entry; key and value are arrays that may be written to.
func (r *run) put(ordinal int64, key, value []byte) error {
	putKey(ordinal, key)
	value = value[:r.data.valueBytes(ordinal)]
	r.data.putValue(ordinal, value)
	return r.store.put(key, value)
}

// overwrite writes random entries again, as many as there are, while the store gives space back; the
// rests follow.
func (r *run) overwrite() (err error) {
	if err := r.open(r.command.durability); err != nil {
		return err
	}
	if err := writeOut(r.command.dir); err != nil {
		return err
	}
	if r.writtenBefore, err = writtenBytes(); err != nil {
		return err
	}
	choice := r.choice(false, 0)
	start := time.Now()
	var done *written
	var writing time.Duration
	write := func() (err error) {
		done, err = r.batches(r.data.entries, overwriteBatch, patience*r.command.seconds,
			func(int64) int64 { return choice.below(r.data.entries) })
		// Before a collection or sync that is under way is waited for.
		writing = time.Since(start)
		return err
	}
	err = r.synced(func() error { return r.beside(collectPause, r.collectAll, write) })
	if err != nil {
		return err
	}
	if err := r.batched("rate", done, start, writing); err != nil {
		return err
	}
	for _, each := range r.command.rests {
		if err := r.rest(each, "overwrite"); err != nil {
			return err
		}
	}
	r.rested = restNone
	return nil
}

func (r *run) collectAll() error {
	for {
		more, err := r.store.collect()
		if err != nil || !more {
			return err
		}
	}
}
