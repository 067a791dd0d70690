package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// coldName is of a workload that runs alone, in a process of its own, on the store that the others have
// left.
const coldName = "cold"

const (
	syncThreads   = 16
	syncPause     = time.Second
	collectPause  = time.Second
	progressEvery = 1024
)

var (
	// readNames are those of the workloads that follow the load after each rest.
	readNames     = []string{"open", "get", "get_reused", "get1", "get_view", "miss", "iterate", "keys"}
	lateNames     = slices.Concat([]string{"single", "single_sync", "overwrite", "steady"}, mixNames())
	workloadNames = slices.Concat([]string{"load"}, readNames, lateNames, []string{coldName})
)

// run is one sequence of workloads on one store.
type run struct {
	command *command
	engine  engine
	out     *protocol
	data    dataset

	// workload is the one being done, for the message if it fails.
	workload string
	// rested is the last rest of the store.
	rested  rest
	store   store
	durable durability
	// added are the bytes of keys and values of entries that the load did not have.
	added atomic.Int64
	// writtenBefore is what the process had written before the last workload that wrote, written the
	// user's bytes of it.
	writtenBefore int64
	written       int64
	// inserted are the entries that mixes have inserted, by thread.
	inserted []int64
	// anonymousPeak is the most anonymous memory seen at the end of a workload.
	anonymousPeak int64
}

func newRun(c *command, e engine, out *protocol) *run {
	return &run{command: c, engine: e, out: out, data: c.data, workload: "load", rested: restNone}
}

func (r *run) all() error {
	if slices.Equal(r.command.workloads, []string{coldName}) {
		r.workload = coldName
		return r.cold()
	}
	r.out.engine(r.engine.name, r.engine.version(), r.engine.settings(r.command))
	err := r.steps()
	if r.store != nil {
		err = errors.Join(err, r.store.close())
	}
	if err != nil {
		return err
	}
	r.workload = "process"
	return r.process()
}

func (r *run) steps() error {
	if err := os.MkdirAll(r.command.dir, 0o755); err != nil {
		return err
	}
	steps := map[string]func() error{
		"load":        r.load,
		"open":        r.measureOpen,
		"get":         func() error { return r.read(r.command.threads, fresh) },
		"get_reused":  func() error { return r.read(r.command.threads, reusing) },
		"get1":        func() error { return r.read(1, fresh) },
		"get_view":    func() error { return r.read(r.command.threads, viewing) },
		"miss":        func() error { return r.read(r.command.threads, missing) },
		"iterate":     func() error { return r.iterate(false) },
		"keys":        func() error { return r.iterate(true) },
		"single":      r.single,
		"single_sync": r.singleSync,
		"overwrite":   r.overwrite,
		"steady":      r.steady,
	}
	for _, m := range mixes {
		steps[m.name] = func() error { return r.mix(m) }
	}
	step := func(name string) error {
		r.workload = name + r.rested.suffix()
		return errors.Join(steps[name](), r.noteMemory())
	}
	if err := step("load"); err != nil {
		return err
	}
	for _, each := range r.command.rests {
		if err := r.rest(each, "load"); err != nil {
			return err
		}
		for _, name := range readNames {
			if r.command.asks(name) {
				if err := step(name); err != nil {
					return err
				}
			}
		}
	}
	r.rested = restNone
	for _, name := range lateNames {
		if r.command.asks(name) {
			if err := step(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// rest gives the store a rest after a workload that wrote, and closes it.
func (r *run) rest(each rest, after string) error {
	r.rested = each
	if each == restNone {
		return r.close()
	}
	r.workload = after + each.suffix()
	if err := r.open(r.command.durability); err != nil {
		return err
	}
	before, err := writtenBytes()
	if err != nil {
		return err
	}
	start := time.Now()
	if each == restSettled {
		if err := r.maintain(); err != nil {
			return err
		}
	}
	if err := errors.Join(r.store.sync(), r.close()); err != nil {
		return err
	}
	r.result("seconds", time.Since(start).Seconds(), "s")
	if err := writeOut(r.command.dir); err != nil {
		return err
	}
	now, err := writtenBytes()
	if err != nil {
		return err
	}
	r.result("written_bytes", float64(now-before), "B")
	return r.size()
}

// open makes sure that the store is open with a durability.
func (r *run) open(d durability) error {
	if r.store != nil && r.durable == d {
		return nil
	}
	if err := r.close(); err != nil {
		return err
	}
	opened, err := r.engine.open(r.command, d)
	if err != nil {
		return err
	}
	r.store = opened
	r.durable = d
	return nil
}

func (r *run) close() error {
	if r.store == nil {
		return nil
	}
	closing := r.store
	r.store = nil
	return closing.close()
}

func (r *run) measureOpen() error {
	if err := r.close(); err != nil {
		return err
	}
	start := time.Now()
	if err := r.open(r.command.durability); err != nil {
		return err
	}
	r.result("seconds", time.Since(start).Seconds(), "s")
	return nil
}

// choice is what one thread chooses by. No other workload has the same numbers, and no warm-up those of what it
// warms up for: else reads would find what was just read.
func (r *run) choice(warming bool, thread int) *random {
	name := strings.TrimSuffix(r.workload, r.rested.suffix())
	number := slices.Index(workloadNames, name) + len(workloadNames)*slices.Index(allRests, r.rested)
	stream := uint64(2 * number)
	if warming {
		stream++
	}
	return newRandom(r.command.seed, stream<<16+uint64(thread))
}

func (r *run) result(metric string, value float64, unit string) {
	r.out.result(r.workload, metric, value, unit)
}

// rate reports how many operations were done in what time.
func (r *run) rate(metric string, operations int64, taken time.Duration) {
	r.result(metric, float64(operations)/max(taken, 1).Seconds(), "/s")
}

func (r *run) latencies(h *histogram) {
	if h.total == 0 {
		return
	}
	r.result("p50", float64(h.percentile(0.5))/1e3, "us")
	r.result("p99", float64(h.percentile(0.99))/1e3, "us")
	r.result("p99.9", float64(h.percentile(0.999))/1e3, "us")
	r.result("longest", float64(h.max)/1e3, "us")
}

// size reports what the store takes on the disk, and what was written since the last workload that
// wrote began, for the user's bytes of that.
func (r *run) size() error {
	disk, err := allocatedBytes(r.command.dir)
	if err != nil {
		return err
	}
	now, err := writtenBytes()
	if err != nil {
		return err
	}
	r.result("disk_bytes", float64(disk), "B")
	r.result("disk_by_raw", float64(disk)/float64(r.data.rawBytes(r.data.entries)+r.added.Load()), "x")
	r.result("written_by_raw", float64(now-r.writtenBefore)/float64(max(1, r.written)), "x")
	return nil
}

func (r *run) noteMemory() error {
	anonymous, err := statusBytes("RssAnon")
	r.anonymousPeak = max(r.anonymousPeak, anonymous)
	return err
}

func (r *run) process() error {
	peak, err := statusBytes("VmHWM")
	if err != nil {
		return err
	}
	cpu, err := cpuSeconds()
	if err != nil {
		return err
	}
	r.result("peak_memory", float64(peak), "B")
	r.result("anonymous_memory", float64(r.anonymousPeak), "B")
	r.result("cpu", cpu, "s")
	return nil
}

// maintain says now and then that the program is still there.
func (r *run) maintain() error {
	return r.beside(progressPause, func() error {
		r.out.step(r.workload, 1, 1)
		return nil
	}, r.store.maintain)
}

// synced does work while the store is synced once a second, if that is the durability it was opened
// with.
func (r *run) synced(work func() error) error {
	if r.durable != durabilityAsync {
		return work()
	}
	return r.beside(syncPause, r.store.sync, work)
}

// beside does work, and another thing again and again with a pause in between until it is done.
func (r *run) beside(pause time.Duration, repeated, work func() error) error {
	done := make(chan struct{})
	var background sync.WaitGroup
	var repeatedErr error
	background.Go(func() {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for repeatedErr == nil {
			select {
			case <-done:
				return
			case <-ticker.C:
				repeatedErr = repeated()
			}
		}
	})
	err := work()
	close(done)
	background.Wait()
	return errors.Join(err, repeatedErr)
}
