package main

import (
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

var boltBucket = []byte("entries")

var boltEngine = engine{
	name:     "bbolt",
	module:   "go.etcd.io/bbolt",
	settings: boltSettings,
	open:     openBolt,
}

func boltSettings(c *command) []string {
	if c.durability == durabilitySync {
		return c.settings("puts=Batch")
	}
	// Without a sync of each transaction; the file grows without one, too.
	return c.settings("no_sync", "no_grow_sync")
}

// boltStore is one bucket of a bbolt file. It has no log: what is not synced is in the file system's
// cache, and a power failure may damage the file.
type boltStore struct {
	db *bbolt.DB
}

func openBolt(c *command, d durability) (store, error) {
	chosen := *bbolt.DefaultOptions
	chosen.NoSync = d != durabilitySync
	// A synced file that grows unsynced is not safe on ext4, as the documentation says.
	chosen.NoGrowSync = chosen.NoSync
	c.tuning.number("bbolt.freelist_map", func(n int64) {
		if n != 0 {
			chosen.FreelistType = bbolt.FreelistMapType
		}
	})
	c.tuning.number("bbolt.freelist_sync", func(n int64) { chosen.NoFreelistSync = n == 0 })
	// More than any store of a run, so that the file is mapped once: growing the map waits for all
	// readers. It takes address space, not memory.
	c.tuning.number("bbolt.mmap_gib", func(n int64) { chosen.InitialMmapSize = int(n << 30) })
	c.tuning.number("bbolt.statistics", func(n int64) { chosen.NoStatistics = n == 0 })
	db, err := bbolt.Open(filepath.Join(c.dir, "bbolt.db"), 0o644, &chosen)
	if err != nil {
		return nil, err
	}
	// A put that shares a transaction waits for the batch to be full, or for the delay.
	c.tuning.number("bbolt.batch", func(n int64) { db.MaxBatchSize = int(n) })
	c.tuning.number("bbolt.batch_delay_us", func(n int64) { db.MaxBatchDelay = time.Duration(n) * time.Microsecond })
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(boltBucket)
		return err
	})
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return &boltStore{db}, nil
}

func (s *boltStore) write(batch []entry) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(boltBucket)
		for _, e := range batch {
			if err := bucket.Put(e.key, e.value); err != nil {
				return err
			}
		}
		return nil
	})
}

// put is a transaction of its own unless it has to be synced: then it shares one with other threads.
func (s *boltStore) put(key, value []byte) error {
	put := func(tx *bbolt.Tx) error {
		return tx.Bucket(boltBucket).Put(key, value)
	}
	if s.db.NoSync {
		return s.db.Update(put)
	}
	return s.db.Batch(put)
}

func (s *boltStore) get(key, target []byte) ([]byte, error) {
	var value []byte
	err := s.db.View(func(tx *bbolt.Tx) error {
		if found := tx.Bucket(boltBucket).Get(key); found != nil {
			value = append(target[:0], found...)
		}
		return nil
	})
	return value, err
}

func (s *boltStore) reader() (reader, error) {
	tx, err := s.db.Begin(false)
	if err != nil {
		return nil, err
	}
	return &boltReader{tx, tx.Bucket(boltBucket)}, nil
}

// collect has nothing to do: free pages are used again by later transactions, but the file never
// shrinks.
func (s *boltStore) collect() (bool, error) {
	return false, nil
}

// maintain has nothing to do: bbolt compacts only a copy of a closed file.
func (s *boltStore) maintain() error {
	return nil
}

func (s *boltStore) sync() error {
	return s.db.Sync()
}

func (s *boltStore) close() error {
	return s.db.Close()
}

type boltReader struct {
	tx     *bbolt.Tx
	bucket *bbolt.Bucket
}

func (r *boltReader) get(key, target []byte) ([]byte, error) {
	value := r.bucket.Get(key)
	if value == nil {
		return nil, nil
	}
	return append(target[:0], value...), nil
}

func (r *boltReader) view(key []byte, look func(value []byte) error) (bool, error) {
	value := r.bucket.Get(key)
	if value == nil {
		return false, nil
	}
	return true, look(value)
}

func (r *boltReader) cursor(from []byte, _ bool) cursor {
	return &boltCursor{cursor: r.bucket.Cursor(), from: from}
}

func (r *boltReader) close() error {
	return r.tx.Rollback()
}

type boltCursor struct {
	cursor       *bbolt.Cursor
	from         []byte
	started      bool
	currentKey   []byte
	currentValue []byte
}

func (c *boltCursor) next() bool {
	switch {
	case c.started:
		c.currentKey, c.currentValue = c.cursor.Next()
	case c.from == nil:
		c.currentKey, c.currentValue = c.cursor.First()
	default:
		c.currentKey, c.currentValue = c.cursor.Seek(c.from)
	}
	c.started = true
	return c.currentKey != nil
}

func (c *boltCursor) key(target []byte) []byte {
	return append(target[:0], c.currentKey...)
}

func (c *boltCursor) value(target []byte) ([]byte, error) {
	return append(target[:0], c.currentValue...), nil
}

func (c *boltCursor) close() {}
