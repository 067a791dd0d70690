package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const steadyStep = 10 * time.Second

// steadiness is what was seen while entries were overwritten, for each ten seconds.
type steadiness struct {
	run       *run
	zipf      zipf
	start     time.Time
	step      time.Duration
	written   []int64
	reads     []histogram
	diskBytes []int64
}

// steady overwrites at full speed for a while, by Zipf's law, beside a thread that reads by the same
// law.
func (r *run) steady() (err error) {
	if err := r.open(r.command.durability); err != nil {
		return err
	}
	if err := writeOut(r.command.dir); err != nil {
		return err
	}
	if r.writtenBefore, err = writtenBytes(); err != nil {
		return err
	}
	steps := max(1, int(r.command.seconds/steadyStep))
	s := &steadiness{run: r, zipf: newZipf(r.data.entries), start: time.Now(),
		step: r.command.seconds / time.Duration(steps), written: make([]int64, steps),
		reads: make([]histogram, steps)}
	var done *written
	var writing time.Duration
	write := func() (err error) {
		done, err = s.write()
		writing = time.Since(s.start)
		return err
	}
	sampled := func() error { return r.beside(s.step, s.sampleDisk, write) }
	err = r.synced(func() error { return r.beside(collectPause, r.collectAll, sampled) })
	if err != nil {
		return err
	}
	// The last sample may not have been due yet.
	for len(s.diskBytes) < steps {
		if err := s.sampleDisk(); err != nil {
			return err
		}
	}
	s.report(writing)
	return r.batched("rate", done, s.start, writing)
}

// now is the step of the moment.
func (s *steadiness) now() int {
	return min(len(s.written)-1, int(time.Since(s.start)/s.step))
}

func (s *steadiness) write() (*written, error) {
	var ended atomic.Bool
	var reading sync.WaitGroup
	var readingErr error
	reading.Go(func() { readingErr = s.read(&ended) })
	choice := s.run.choice(false, 0)
	done, err := s.run.batches(math.MaxInt64, overwriteBatch, s.run.command.seconds, func(int64) int64 {
		s.written[s.now()]++
		return s.run.data.shuffled(s.zipf.rank(choice.unit()))
	})
	ended.Store(true)
	reading.Wait()
	return done, errors.Join(err, readingErr)
}

func (s *steadiness) read(ended *atomic.Bool) error {
	data := s.run.data
	choice := s.run.choice(false, 1)
	key := data.newKey()
	for {
		ordinal := data.shuffled(s.zipf.rank(choice.unit()))
		putKey(ordinal, key)
		start := time.Now()
		value, err := s.run.store.get(key, nil)
		s.reads[s.now()].add(int64(time.Since(start)))
		if err == nil {
			err = data.checkEnds(ordinal, value)
		}
		if err != nil || ended.Load() {
			return err
		}
	}
}

func (s *steadiness) sampleDisk() error {
	bytes, err := allocatedBytes(s.run.command.dir)
	s.diskBytes = append(s.diskBytes, bytes)
	return err
}

func (s *steadiness) report(taken time.Duration) {
	r := s.run
	live := float64(r.data.rawBytes(r.data.entries) + r.added.Load())
	r.rate("rate_slowest", slices.Min(s.written), s.step)
	r.rate("rate_last", s.written[len(s.written)-1], s.step)
	all := &histogram{}
	slowest := int64(0)
	for i := range s.reads {
		all.addAll(&s.reads[i])
		slowest = max(slowest, s.reads[i].percentile(0.999))
	}
	r.rate("read_rate", all.total, taken)
	r.result("read_p99.9", float64(all.percentile(0.999))/1e3, "us")
	r.result("read_p99.9_slowest", float64(slowest)/1e3, "us")
	r.result("disk_by_raw_most", float64(slices.Max(s.diskBytes))/live, "x")
	for i, count := range s.written {
		// A whole number of seconds, except in tests.
		at := fmt.Sprintf("@%d", max(1, int((time.Duration(i+1)*s.step).Seconds())))
		r.rate("rate"+at, count, s.step)
		r.result("read_p99.9"+at, float64(s.reads[i].percentile(0.999))/1e3, "us")
		r.result("disk_by_raw"+at, float64(s.diskBytes[i])/live, "x")
	}
}
