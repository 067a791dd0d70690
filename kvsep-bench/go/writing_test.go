package main

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowStore writes nothing, and leaves out what the tests do not need of a store.
type slowStore struct {
	store
	// beforeWrite is called before each batch.
	beforeWrite func()
	collecting  func()
	syncing     func()
}

func (s *slowStore) write([]entry) error {
	s.beforeWrite()
	return nil
}

func (s *slowStore) collect() (bool, error) {
	s.collecting()
	return false, nil
}

func (s *slowStore) sync() error {
	s.syncing()
	return nil
}

func (s *slowStore) maintain() error { return nil }

func (s *slowStore) close() error { return nil }

// resultsOf runs a workload of one batch on a store and gives its results.
func resultsOf(t *testing.T, s *slowStore, d durability, workload func(*run) error) []string {
	t.Helper()
	c := &command{dir: t.TempDir(), data: dataset{10, []int{8}}, batch: 10, durability: d, seconds: time.Hour}
	opened := engine{open: func(*command, durability) (store, error) { return s, nil }}
	var output bytes.Buffer
	r := newRun(c, opened, &protocol{target: &output})
	if err := workload(r); err != nil {
		t.Fatal(err)
	}
	return strings.Split(output.String(), "\n")
}

// requireTimes: the ten entries took one second to write, and an hour more until settled.
func requireTimes(t *testing.T, lines []string, rate string) {
	t.Helper()
	if !slices.ContainsFunc(lines, func(line string) bool {
		return strings.HasSuffix(line, "metric="+rate+" value=10 unit=/s")
	}) || !slices.ContainsFunc(lines, func(line string) bool {
		return strings.HasSuffix(line, "metric=seconds value=3601 unit=s")
	}) {
		t.Errorf("%q", lines)
	}
}

func TestOverwritingEndsBeforeTheCollectionDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		collecting := make(chan struct{})
		s := &slowStore{
			beforeWrite: func() { <-collecting },
			collecting: sync.OnceFunc(func() {
				close(collecting)
				time.Sleep(time.Hour)
			}),
			syncing: func() {},
		}
		requireTimes(t, resultsOf(t, s, durabilityNone, (*run).overwrite), "rate")
	})
}

func TestWritingEndsBeforeTheLastSyncDoes(t *testing.T) {
	for rate, workload := range map[string]func(*run) error{
		"until_written": (*run).load, "rate": (*run).overwrite,
	} {
		synctest.Test(t, func(t *testing.T) {
			syncing := make(chan struct{})
			s := &slowStore{
				beforeWrite: func() { <-syncing },
				collecting:  func() {},
				syncing: sync.OnceFunc(func() {
					close(syncing)
					time.Sleep(time.Hour)
				}),
			}
			requireTimes(t, resultsOf(t, s, durabilityAsync, workload), rate)
		})
	}
}
