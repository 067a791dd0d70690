package main

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

const (
	// badgerDiscardRatio is what the documentation of RunValueLogGC recommends.
	badgerDiscardRatio = 0.5
	badgerFlatten      = 2
)

var badgerEngine = engine{
	name:   "badger",
	module: "github.com/dgraph-io/badger/v4",
	settings: func(c *command) []string {
		return c.settings(fmt.Sprintf("block_cache_mib=%d", c.cacheBytes>>20))
	},
	open: openBadger,
}

type badgerStore struct {
	db       *badger.DB
	prefetch int
}

func openBadger(c *command, d durability) (store, error) {
	chosen := badger.DefaultOptions(c.dir).
		WithSyncWrites(d == durabilitySync).
		WithBlockCacheSize(c.cacheBytes).
		WithLogger(nil)
	c.tuning.number("badger.block_cache_mib", func(n int64) { chosen.BlockCacheSize = n << 20 })
	c.tuning.number("badger.compact_on_close", func(n int64) { chosen.CompactL0OnClose = n != 0 })
	c.tuning.number("badger.compression", func(n int64) { chosen.Compression = options.CompressionType(n) })
	c.tuning.number("badger.detect_conflicts", func(n int64) { chosen.DetectConflicts = n != 0 })
	c.tuning.number("badger.metrics", func(n int64) { chosen.MetricsEnabled = n != 0 })
	c.tuning.number("badger.value_threshold", func(n int64) { chosen.ValueThreshold = n })
	c.tuning.number("badger.vlog_mib", func(n int64) { chosen.ValueLogFileSize = n << 20 })
	c.tuning.number("badger.procs", func(n int64) { runtime.GOMAXPROCS(int(n)) })
	prefetch := badger.DefaultIteratorOptions.PrefetchSize
	c.tuning.number("badger.prefetch", func(n int64) { prefetch = int(n) })
	db, err := badger.Open(chosen)
	if err != nil {
		return nil, err
	}
	return &badgerStore{db, prefetch}, nil
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
	return &badgerReader{s.db.NewTransaction(false), s.prefetch}, nil
}

func (s *badgerStore) collect() (bool, error) {
	err := s.db.RunValueLogGC(badgerDiscardRatio)
	if errors.Is(err, badger.ErrNoRewrite) || errors.Is(err, badger.ErrRejected) {
		return false, nil
	}
	return err == nil, err
}

func (s *badgerStore) maintain() error {
	if err := s.db.Flatten(badgerFlatten); err != nil {
		return err
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

func (r *badgerReader) cursor(from []byte, keysOnly bool) cursor {
	settings := badger.DefaultIteratorOptions
	settings.PrefetchValues = !keysOnly && r.prefetch > 0
	settings.PrefetchSize = r.prefetch
	return &badgerCursor{iterator: r.tx.NewIterator(settings), from: from}
}

func (r *badgerReader) close() error {
	r.tx.Discard()
	return nil
}

type badgerCursor struct {
	iterator *badger.Iterator
	from     []byte
	item     *badger.Item
}

func (c *badgerCursor) next() bool {
	if c.item == nil {
		// From the first one on without a key.
		c.iterator.Seek(c.from)
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
