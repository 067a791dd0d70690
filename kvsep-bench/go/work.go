package main

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// operation does one unit of work; each index comes once, over all threads.
type operation func(index int64) error

// work is done by several threads until count operations are done or the time is up. Without a count
// it ends with the time, without a limit with the count.
type work struct {
	threads int
	count   int64
	limit   time.Duration
	// block is how many operations a thread takes at a time; it looks at the clock in between.
	block int64
	// every so many operations are timed; none if 0.
	every     int64
	operation func(*worker) (operation, error)
}

// worker is one thread of a work.
type worker struct {
	thread    int
	latencies histogram
	// atEnd is called, if there, when the thread's work is done.
	atEnd func() error
}

// timed does something and notes how long it took if it is wanted.
func (w *worker) timed(wanted bool, do func() error) error {
	if !wanted {
		return do()
	}
	start := time.Now()
	err := do()
	w.latencies.add(int64(time.Since(start)))
	return err
}

// measure does work and reports its rate and latencies.
func (r *run) measure(w work) error {
	done, taken, latencies, err := r.perform(w)
	if err != nil {
		return err
	}
	r.rate("rate", done, taken)
	r.latencies(latencies)
	r.result("seconds", taken.Seconds(), "s")
	return nil
}

// perform does work and says how many operations were done in which time.
func (r *run) perform(w work) (int64, time.Duration, *histogram, error) {
	var next, done atomic.Int64
	var failed atomic.Bool
	workers := make([]worker, w.threads)
	problems := make([]error, w.threads)
	start := time.Now()
	var threads sync.WaitGroup
	for i := range workers {
		workers[i].thread = i
		threads.Go(func() {
			problems[i] = r.share(w, &workers[i], start, &next, &done, &failed)
			if problems[i] != nil {
				failed.Store(true)
			}
		})
	}
	threads.Wait()
	taken := time.Since(start)
	latencies := &histogram{}
	for i := range workers {
		latencies.addAll(&workers[i].latencies)
	}
	return done.Load(), taken, latencies, errors.Join(problems...)
}

// share is what one thread does of a work.
func (r *run) share(w work, own *worker, start time.Time, next, done *atomic.Int64,
	failed *atomic.Bool) (err error) {
	do, err := w.operation(own)
	if own.atEnd != nil {
		defer func() { err = errors.Join(err, own.atEnd()) }()
	}
	if err != nil {
		return err
	}
	mine := int64(0)
	for !failed.Load() {
		passed := time.Since(start)
		first := next.Add(w.block) - w.block
		late := w.limit > 0 && passed >= w.limit && mine > 0
		if late || w.count > 0 && first >= w.count {
			return nil
		}
		r.stepOf(w, first, passed)
		end := first + w.block
		if w.count > 0 {
			end = min(end, w.count)
		}
		for index := first; index < end; index++ {
			timed := w.every > 0 && index%w.every == 0
			if err := own.timed(timed, func() error { return do(index) }); err != nil {
				return err
			}
		}
		mine += end - first
		done.Add(end - first)
	}
	return nil
}

// stepOf tells how far a work is: by operations or by time, whichever is further.
func (r *run) stepOf(w work, done int64, passed time.Duration) {
	byCount := float64(done) / float64(w.count)
	if w.limit > 0 && (w.count == 0 || float64(passed)/float64(w.limit) > byCount) {
		r.out.step(r.workload, passed.Milliseconds(), w.limit.Milliseconds())
		return
	}
	r.out.step(r.workload, done, w.count)
}
