package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

type durability string

const (
	durabilityNone  durability = "none"
	durabilityAsync durability = "async"
	durabilitySync  durability = "sync"
)

// rest is what a store gets between writing and reads, each on top of those before it.
type rest string

const (
	// restNone: it is closed and opened.
	restNone rest = "none"
	// restSettled: the engine's own call of maintenance.
	restSettled rest = "settled"
	// restIdle: engines with background work are left alone; these here do not report it.
	restIdle rest = "idle"
)

var allRests = []rest{restNone, restSettled, restIdle}

// suffix is behind the names of workloads that follow it.
func (r rest) suffix() string {
	if r == restNone {
		return ""
	}
	return "-" + string(r)
}

// command is what one child process is told to do.
type command struct {
	engine     string
	dir        string
	data       dataset
	batch      int
	cacheBytes int64
	durability durability
	scanMax    int64
	gets       int64
	misses     int64
	threads    int
	seconds    time.Duration
	seed       int64
	workloads  []string
	rests      []rest
	tuning     tuning
}

// settings are what is set for every row of an engine, the tuning, and the durability.
func (c *command) settings(always ...string) []string {
	return append(append(always, c.tuning.words()...), "durability="+string(c.durability))
}

func (c *command) asks(workload string) bool {
	return slices.Contains(c.workloads, workload)
}

// exceedsMemory tells whether much of the data must come from the disk again and again.
func (c *command) exceedsMemory() bool {
	memory, err := memoryBytes()
	return err == nil && 2*c.data.rawBytes(c.data.entries) > memory
}

func parseCommand(words []string, errors io.Writer) (*command, error) {
	c := &command{}
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(errors)
	flags.StringVar(&c.engine, "engine", "", "badger or bbolt")
	flags.StringVar(&c.dir, "dir", "", "an empty directory for the store")
	flags.Int64Var(&c.data.entries, "entries", 0, "entries to load")
	lengths := flags.String("value-bytes", "", "length of the values, or two with a slash between")
	flags.IntVar(&c.batch, "batch", 1000, "entries of a batch")
	cacheMiB := flags.Int64("cache-mib", 256, "cache of the engine, where it has one")
	durable := flags.String("durability", "none", "none, async or sync")
	flags.Int64Var(&c.scanMax, "scan-max", 2_000_000, "entries of a pass")
	flags.Int64Var(&c.gets, "gets", 1_000_000, "random reads")
	flags.Int64Var(&c.misses, "misses", 1_000_000, "random reads of absent keys")
	flags.IntVar(&c.threads, "threads", 2, "reading threads")
	seconds := flags.Float64("seconds", 5, "how long a workload may take that has no end")
	flags.Int64Var(&c.seed, "seed", 1, "what is random follows from it")
	workloads := flags.String("workloads", "", "names, separated by commas")
	rests := flags.String("rest", "none", "none, settled and idle, separated by commas")
	tuned := flags.String("tune", "", "settings of the engine, name=number,name=number")
	if err := flags.Parse(words); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("expected an option, found: %s", flags.Arg(0))
	}
	c.cacheBytes = *cacheMiB << 20
	c.durability = durability(*durable)
	c.seconds = time.Duration(*seconds * float64(time.Second))
	c.workloads = strings.Split(*workloads, ",")
	for _, word := range strings.Split(*rests, ",") {
		c.rests = append(c.rests, rest(word))
	}
	slices.SortFunc(c.rests, func(a, b rest) int { return slices.Index(allRests, a) - slices.Index(allRests, b) })
	var err error
	if c.tuning, err = parseTuning(*tuned); err != nil {
		return nil, err
	}
	for _, word := range strings.Split(*lengths, "/") {
		length, err := strconv.Atoi(word)
		if err != nil || length < 0 {
			return nil, fmt.Errorf("--value-bytes is no length: %s", *lengths)
		}
		c.data.lengths = append(c.data.lengths, length)
	}
	return c, c.check()
}

func (c *command) check() error {
	switch c.durability {
	case durabilityNone, durabilityAsync, durabilitySync:
	default:
		return fmt.Errorf("--durability must be none, async or sync: %s", c.durability)
	}
	for _, r := range c.rests {
		if !slices.Contains(allRests, r) {
			return fmt.Errorf("--rest must be of none, settled and idle: %s", r)
		}
	}
	for _, workload := range c.workloads {
		if !slices.Contains(workloadNames, workload) {
			return fmt.Errorf("unknown workload: %q", workload)
		}
	}
	if c.dir == "" {
		return errors.New("--dir is missing")
	}
	if c.data.entries < 1 || c.batch < 1 || c.threads < 1 || c.scanMax < 1 || c.seconds <= 0 {
		return errors.New("entries, batch, scan-max, threads and seconds must be above 0")
	}
	if c.gets < 1 || c.misses < 1 || c.cacheBytes < 0 {
		return errors.New("gets and misses must be above 0, cache-mib not below")
	}
	return nil
}
