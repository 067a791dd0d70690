package main

import (
	"errors"
	"fmt"
	"slices"
)

const (
	// scanMax are the entries of the longest scan of a mix.
	scanMax = 100
	// insertsMax are the ordinals that mixes insert.
	insertsMax = 1 << 24
)

// choosing is how the entries of a mix are chosen.
type choosing int

const (
	uniform choosing = iota
	// zipfian is by Zipf's law, scattered over all keys.
	zipfian
	// latest is by Zipf's law, the entry last written the most.
	latest
)

// mixture is random operations on random entries. The shares are per cent, and the rest are gets.
type mixture struct {
	name                                string
	puts, inserts, scans, modifications int64
	choosing                            choosing
}

// mixes are that of compare, and the workloads A to F of the Yahoo Cloud Serving Benchmark, those that
// insert at the end.
var mixes = []mixture{
	{"mixed", 10, 0, 0, 0, uniform},
	{"ycsb_a", 50, 0, 0, 0, zipfian},
	{"ycsb_b", 5, 0, 0, 0, zipfian},
	{"ycsb_c", 0, 0, 0, 0, zipfian},
	{"ycsb_f", 0, 0, 0, 50, zipfian},
	{"ycsb_d", 0, 5, 0, 0, latest},
	{"ycsb_e", 0, 5, 95, 0, zipfian},
}

func mixNames() []string {
	var names []string
	for _, m := range mixes {
		names = append(names, m.name)
	}
	return names
}

// mix does a mix after a warm-up. Before the first, what fits memory is read once: a system may have
// given pages of the file cache away meanwhile.
func (r *run) mix(m mixture) error {
	if err := r.open(r.command.durability); err != nil {
		return err
	}
	first := slices.IndexFunc(mixes, func(other mixture) bool { return r.command.asks(other.name) })
	if mixes[first].name == m.name && !r.command.exceedsMemory() {
		if _, err := r.pass(false, r.data.entries); err != nil {
			return err
		}
	}
	return r.synced(func() error {
		if _, _, _, err := r.perform(r.mixing(m, true)); err != nil {
			return err
		}
		return r.measure(r.mixing(m, false))
	})
}

// mixing is timed as a whole: percentiles of a part of the reads and all of the writes would be those of neither.
func (r *run) mixing(m mixture, warming bool) work {
	return work{threads: r.command.threads, limit: r.command.seconds, block: 16, every: 1,
		operation: r.mixer(m, warming)}
}

// mixer is what one thread does in a mix.
type mixer struct {
	run    *run
	mix    mixture
	zipf   zipf
	thread int
	choice *random
	key    []byte
	value  []byte
}

func (r *run) mixer(m mixture, warming bool) func(*worker) (operation, error) {
	law := newZipf(r.data.entries)
	for len(r.inserted) < r.command.threads {
		r.inserted = append(r.inserted, 0)
	}
	return func(w *worker) (operation, error) {
		mine := &mixer{r, m, law, w.thread, r.choice(warming, w.thread), r.data.newKey(),
			make([]byte, r.data.longestValue())}
		return func(int64) error { return mine.next() }, nil
	}
}

func (m *mixer) next() error {
	choice := m.choice.below(100)
	inserts := m.mix.puts + m.mix.inserts
	scans := inserts + m.mix.scans
	switch {
	case choice < m.mix.puts:
		return m.run.put(m.chosen(), m.key, m.value)
	case choice < inserts:
		ordinal := m.insertedOrdinal(m.run.inserted[m.thread])
		m.run.inserted[m.thread]++
		return m.run.put(ordinal, m.key, m.value)
	case choice < scans:
		return m.scan(1 + m.choice.below(scanMax))
	}
	ordinal := m.chosen()
	err := m.get(ordinal)
	if err == nil && choice < scans+m.mix.modifications {
		err = m.run.put(ordinal, m.key, m.value)
	}
	return err
}

func (m *mixer) chosen() int64 {
	data := m.run.data
	if m.mix.choosing == uniform {
		return m.choice.below(data.entries)
	}
	rank := m.zipf.rank(m.choice.unit())
	if m.mix.choosing == zipfian {
		return data.shuffled(rank)
	}
	// The thread's own inserts from the last to the first, then those of the load.
	mine := m.run.inserted[m.thread]
	if rank < mine {
		return m.insertedOrdinal(mine - 1 - rank)
	}
	return data.shuffled(data.entries - 1 - (rank - mine))
}

// insertedOrdinal is what the thread inserts at an index; the threads take the order in turns.
func (m *mixer) insertedOrdinal(index int64) int64 {
	order := dataset{insertsMax, m.run.data.lengths}
	turn := index*int64(m.run.command.threads) + int64(m.thread)
	return m.run.unusedFrom() + order.shuffled(turn%insertsMax)
}

func (m *mixer) get(ordinal int64) error {
	putKey(ordinal, m.key)
	found, err := m.run.store.get(m.key, nil)
	if err != nil {
		return err
	}
	return m.run.data.checkEnds(ordinal, found)
}

func (m *mixer) scan(length int64) (err error) {
	from, err := m.run.store.reader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	start := m.chosen()
	putKey(start, m.key)
	entries := from.cursor(m.key, false)
	defer entries.close()
	var key, value []byte
	for ordinal := start; ordinal < min(m.run.data.entries, start+length); ordinal++ {
		if !entries.next() {
			return fmt.Errorf("entry %d is not there", ordinal)
		}
		key = entries.key(key)
		if key[keyBytes-1] != byte('0'+ordinal%10) {
			return fmt.Errorf("entry %d has the key %q", ordinal, key)
		}
		if value, err = entries.value(value); err != nil {
			return err
		}
		if err := m.run.checkLength(ordinal, value); err != nil {
			return err
		}
	}
	return nil
}
