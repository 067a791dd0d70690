package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// readsOfATimed: looking at the clock costs as much as a good part of a read.
	readsOfATimed = 8
	readBlock     = 256
	passesMin     = 3
	coldTime      = time.Second
)

var programStart = time.Now()

// reading is one way to read an entry.
type reading func(r *run, from reader, ordinal int64, a *arrays) error

// arrays are what a reading thread copies keys and values into.
type arrays struct {
	key   []byte
	value []byte
}

// fresh gets a value in an array of its own.
func fresh(r *run, from reader, ordinal int64, a *arrays) error {
	a.value = nil
	return reusing(r, from, ordinal, a)
}

// reusing copies each value into the array of the one before.
func reusing(r *run, from reader, ordinal int64, a *arrays) error {
	putKey(ordinal, a.key)
	value, err := from.get(a.key, a.value)
	if err != nil {
		return err
	}
	a.value = value
	return r.data.checkEnds(ordinal, value)
}

func viewing(r *run, from reader, ordinal int64, a *arrays) error {
	putKey(ordinal, a.key)
	found, err := from.view(a.key, func(value []byte) error {
		return r.data.checkEnds(ordinal, value)
	})
	if err == nil && !found {
		return fmt.Errorf("entry %d is not there", ordinal)
	}
	return err
}

func missing(_ *run, from reader, ordinal int64, a *arrays) error {
	putAbsentKey(ordinal, a.key)
	value, err := from.get(a.key, a.value)
	if err == nil && value != nil {
		return fmt.Errorf("the key %q was never written, but is there", a.key)
	}
	return err
}

// read reads random entries, at first unmeasured.
func (r *run) read(threads int, each reading) error {
	if err := r.open(r.command.durability); err != nil {
		return err
	}
	count := r.command.gets
	if strings.HasPrefix(r.workload, "miss") {
		count = r.command.misses
	}
	warming := work{threads: threads, count: max(1, count),
		limit: r.command.seconds, block: readBlock,
		operation: r.readRandom(each, true)}
	if _, _, _, err := r.perform(warming); err != nil {
		return err
	}
	return r.measure(work{threads: threads, count: count, limit: r.command.seconds,
		block: readBlock, every: readsOfATimed, operation: r.readRandom(each, false)})
}

// cold opens the store, gets one entry, and more until a second after the start of the program.
func (r *run) cold() error {
	opening := time.Now()
	if err := r.open(r.command.durability); err != nil {
		return err
	}
	r.result("open", time.Since(opening).Seconds(), "s")
	from, err := r.store.reader()
	if err != nil {
		return err
	}
	choice := r.choice(false, 0)
	a := &arrays{key: r.data.newKey()}
	gets := &histogram{}
	for now := time.Now(); now.Sub(programStart) < coldTime || gets.total == 0; {
		start := now
		if err := fresh(r, from, choice.below(r.data.entries), a); err != nil {
			return err
		}
		now = time.Now()
		if gets.total == 0 {
			r.result("first_get", now.Sub(programStart).Seconds(), "s")
		}
		gets.add(int64(now.Sub(start)))
	}
	r.rate("rate", gets.total, time.Since(programStart))
	r.latencies(gets)
	return errors.Join(from.close(), r.close())
}

// readRandom reads random entries of one snapshot a thread.
func (r *run) readRandom(each reading, warming bool) func(*worker) (operation, error) {
	return func(w *worker) (operation, error) {
		from, err := r.store.reader()
		if err != nil {
			return nil, err
		}
		w.atEnd = from.close
		choice := r.choice(warming, w.thread)
		a := &arrays{key: r.data.newKey()}
		return func(int64) error {
			return each(r, from, choice.below(r.data.entries), a)
		}, nil
	}
}

// iterate goes through the entries in order, several times, and reports the median pass.
func (r *run) iterate(keysOnly bool) error {
	if err := r.open(r.command.durability); err != nil {
		return err
	}
	expected := min(r.command.scanMax, r.data.entries)
	start := time.Now()
	var passes []time.Duration
	for len(passes) < passesMin || time.Since(start) < r.command.seconds {
		passStart := time.Now()
		seen, err := r.pass(keysOnly, expected)
		if err != nil {
			return err
		}
		if seen != expected {
			return fmt.Errorf("%d entries, not %d", seen, expected)
		}
		passes = append(passes, time.Since(passStart))
	}
	slices.Sort(passes)
	r.rate("rate", expected, passes[len(passes)/2])
	r.result("seconds", time.Since(start).Seconds(), "s")
	return nil
}

// pass copies keys, and values unless it is about keys only, until there are no more or enough.
func (r *run) pass(keysOnly bool, enough int64) (seen int64, err error) {
	from, err := r.store.reader()
	if err != nil {
		return 0, err
	}
	defer func() {
		if closeErr := from.close(); err == nil {
			err = closeErr
		}
	}()
	entries := from.cursor(nil, keysOnly)
	defer entries.close()
	var key, value []byte
	for seen < enough && entries.next() {
		key = entries.key(key)
		if key[keyBytes-1] != byte('0'+seen%10) {
			return seen, fmt.Errorf("entry %d has the key %q", seen, key)
		}
		if !keysOnly {
			if value, err = entries.value(value); err != nil {
				return seen, err
			}
			if err := r.checkLength(seen, value); err != nil {
				return seen, err
			}
		}
		seen++
		if seen%progressEvery == 0 {
			r.out.step(r.workload, seen, enough)
		}
	}
	return seen, nil
}

// checkLength also looks at the last byte, so that the whole value must be in memory.
func (r *run) checkLength(ordinal int64, value []byte) error {
	length := r.data.valueBytes(ordinal)
	if len(value) != length {
		return fmt.Errorf("entry %d: %d value bytes, not %d", ordinal, len(value), length)
	}
	if length == 0 || length%wordBytes != 0 {
		return nil
	}
	lastWord := mix(r.data.seed(ordinal) + golden*uint64(length/wordBytes-1))
	if value[length-1] != byte(lastWord>>56) {
		return fmt.Errorf("entry %d: not the bytes that were written", ordinal)
	}
	return nil
}
