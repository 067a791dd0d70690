package main

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

const (
	// badgerInlineMax: longer values go to the value log, shorter ones into the tables. It is what
	// kvsep does by default; Badger's own default, 1 MiB, rewrites values in every compaction.
	badgerInlineMax = 256
	// badgerDiscardRatio is what the documentation of RunValueLogGC recommends.
	badgerDiscardRatio = 0.5
	// badgerProcs is what Badger's documentation recommends for GOMAXPROCS, so that many reads wait
	// for the disk at a time.
	badgerProcs = 128
	// badgerPrefetch is how many values iterators read ahead by default, each in a goroutine.
	badgerPrefetch = 100
	badgerFlatten  = 2
)

var badgerEngine = engine{
	name:   "badger",
	module: "github.com/dgraph-io/badger/v4",
	settings: func(c *command) []string {
		return badgerSettingsOf(c).words()
	},
	open: openBadger,
}

// badgerSettings are those that depend on the run. Many goroutines and reading ahead pay only when
// values come from the disk: otherwise they cost more than the reads.
type badgerSettings struct {
	inlineMax  int64
	cacheMiB   int64
	vlogMiB    int64
	procs      int
	prefetch   int
	flatten    int
	compactEnd bool
}

func badgerSettingsOf(c *command) badgerSettings {
	procs, prefetch := runtime.NumCPU(), 0
	if c.exceedsMemory() {
		procs, prefetch = badgerProcs, badgerPrefetch
	}
	if c.data.longestValue() < badgerInlineMax {
		prefetch = 0
	}
	return badgerSettings{
		inlineMax: c.tuning.number("inline-max", badgerInlineMax),
		// Its documentation wants no cache without compression: it then costs more than it saves.
		cacheMiB:   c.tuning.number("cache-mib", 0),
		vlogMiB:    c.tuning.number("vlog-mib", 0),
		procs:      int(c.tuning.number("procs", int64(procs))),
		prefetch:   int(c.tuning.number("prefetch", int64(prefetch))),
		flatten:    int(c.tuning.number("flatten", badgerFlatten)),
		compactEnd: c.tuning.flag("compact-on-close", true),
	}
}

func (b badgerSettings) words() []string {
	return []string{
		fmt.Sprintf("value-threshold=%d", b.inlineMax), "compression=none",
		fmt.Sprintf("block-cache=%dMiB", b.cacheMiB), "cache=page-cache",
		fmt.Sprintf("prefetch=%d", b.prefetch), fmt.Sprintf("GOMAXPROCS=%d", b.procs),
		"versions=1", "detect-conflicts=no", "compact-L0-on-close", "batches=WriteBatch",
		"sync=SyncWrites", "get=one-transaction-a-thread",
		fmt.Sprintf("gc=RunValueLogGC(%v)", badgerDiscardRatio), "settle=Flatten+gc",
	}
}

type badgerStore struct {
	db       *badger.DB
	settings badgerSettings
}

func openBadger(c *command, d durability) (store, error) {
	settings := badgerSettingsOf(c)
	runtime.GOMAXPROCS(settings.procs)
	chosen := badger.DefaultOptions(c.dir).
		WithSyncWrites(d == durabilitySync).
		WithNumVersionsToKeep(1).
		WithDetectConflicts(false).
		WithCompression(options.None).
		WithBlockCacheSize(settings.cacheMiB << 20).
		WithValueThreshold(settings.inlineMax).
		WithCompactL0OnClose(settings.compactEnd).
		WithMetricsEnabled(false).
		WithLogger(nil)
	if settings.vlogMiB > 0 {
		chosen = chosen.WithValueLogFileSize(settings.vlogMiB << 20)
	}
	db, err := badger.Open(chosen)
	if err != nil {
		return nil, err
	}
	return &badgerStore{db, settings}, nil
}

// write is one transaction, or several where Badger says that one would be too big.
func (s *badgerStore) write(batch []entry) error {
	transactions := s.db.NewWriteBatch()
	defer transactions.Cancel()
	for _, e := range batch {
		if err := transactions.Set(e.key, e.value); err != nil {
			return err
		}
	}
	return transactions.Flush()
}

func (s *badgerStore) put(key, value []byte) error {
	return s.db.Update(func(tx *badger.Txn) error {
		return tx.Set(key, value)
	})
}

func (s *badgerStore) get(key, target []byte) ([]byte, error) {
	tx := s.db.NewTransaction(false)
	defer tx.Discard()
	return badgerGet(tx, key, target)
}

func (s *badgerStore) reader() (reader, error) {
	return &badgerReader{s.db.NewTransaction(false), s.settings.prefetch}, nil
}

func (s *badgerStore) collect() (bool, error) {
	err := s.db.RunValueLogGC(badgerDiscardRatio)
	if errors.Is(err, badger.ErrNoRewrite) || errors.Is(err, badger.ErrRejected) {
		return false, nil
	}
	return err == nil, err
}

func (s *badgerStore) settle() error {
	if s.settings.flatten > 0 {
		if err := s.db.Flatten(s.settings.flatten); err != nil {
			return err
		}
	}
	for {
		more, err := s.collect()
		if err != nil || !more {
			return err
		}
	}
}

func (s *badgerStore) sync() error {
	return s.db.Sync()
}

func (s *badgerStore) close() error {
	return s.db.Close()
}

type badgerReader struct {
	tx       *badger.Txn
	prefetch int
}

func (r *badgerReader) get(key, target []byte) ([]byte, error) {
	return badgerGet(r.tx, key, target)
}

func badgerGet(tx *badger.Txn, key, target []byte) ([]byte, error) {
	item, err := tx.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return item.ValueCopy(target)
}

func (r *badgerReader) view(key []byte, look func(value []byte) error) (bool, error) {
	item, err := r.tx.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, item.Value(look)
}

func (r *badgerReader) cursor(keysOnly bool) cursor {
	settings := badger.DefaultIteratorOptions
	settings.PrefetchValues = !keysOnly && r.prefetch > 0
	settings.PrefetchSize = r.prefetch
	return &badgerCursor{iterator: r.tx.NewIterator(settings)}
}

func (r *badgerReader) close() error {
	r.tx.Discard()
	return nil
}

type badgerCursor struct {
	iterator *badger.Iterator
	item     *badger.Item
}

func (c *badgerCursor) next() bool {
	if c.item == nil {
		c.iterator.Rewind()
	} else {
		c.iterator.Next()
	}
	if !c.iterator.Valid() {
		return false
	}
	c.item = c.iterator.Item()
	return true
}

func (c *badgerCursor) key(target []byte) []byte {
	return c.item.KeyCopy(target)
}

func (c *badgerCursor) value(target []byte) ([]byte, error) {
	return c.item.ValueCopy(target)
}

func (c *badgerCursor) close() {
	c.iterator.Close()
}
