package main

import (
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

const (
	// boltMapBytes is more than any store of a run, so that the file is mapped once: growing the map
	// waits for all readers. It takes address space, not memory.
	boltMapBytes = 1 << 38
	// boltBatchDelayMicros is how long a put waits for others before the batch is written without them. All
	// syncing threads wait for the same transaction, so the batch is full before that as a rule.
	boltBatchDelayMicros = 1000
)

var boltBucket = []byte("entries")

var boltEngine = engine{
	name:     "bbolt",
	module:   "go.etcd.io/bbolt",
	settings: boltSettings,
	open:     openBolt,
}

func boltSettings(*command) []string {
	return []string{
		"freelist=hashmap", "no-freelist-sync", "no-grow-sync-unless-synced",
		"initial-mmap=256GiB", "fill-percent=0.5", "cache=page-cache", "none-and-async=NoSync",
		"sync=Batch-of-16", "batches=Update", "get=one-transaction-a-thread", "settle=Sync",
	}
}

// boltStore is one bucket of a bbolt file. It has no log: what is not synced is in the file system's
// cache, and a power failure may damage the file.
type boltStore struct {
	db *bbolt.DB
}

func openBolt(c *command, d durability) (store, error) {
	synced := d == durabilitySync
	db, err := bbolt.Open(filepath.Join(c.dir, "bbolt.db"), 0o644, &bbolt.Options{
		NoSync: !synced,
		// Without it a synced file that grows is not safe on ext4, as its documentation says.
		NoGrowSync:      !synced,
		NoFreelistSync:  c.tuning.flag("no-freelist-sync", true),
		NoStatistics:    true,
		FreelistType:    bbolt.FreelistMapType,
		InitialMmapSize: boltMapBytes,
	})
	if err != nil {
		return nil, err
	}
	db.MaxBatchSize = int(c.tuning.number("batch-size", syncThreads))
	db.MaxBatchDelay = time.Duration(c.tuning.number("batch-delay-micros", boltBatchDelayMicros)) * time.Microsecond
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

func (s *boltStore) settle() error {
	return s.db.Sync()
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

func (r *boltReader) cursor(bool) cursor {
	return &boltCursor{cursor: r.bucket.Cursor()}
}

func (r *boltReader) close() error {
	return r.tx.Rollback()
}

type boltCursor struct {
	cursor       *bbolt.Cursor
	started      bool
	currentKey   []byte
	currentValue []byte
}

func (c *boltCursor) next() bool {
	if c.started {
		c.currentKey, c.currentValue = c.cursor.Next()
	} else {
		c.started = true
		c.currentKey, c.currentValue = c.cursor.First()
	}
	return c.currentKey != nil
}

func (c *boltCursor) key(target []byte) []byte {
	return append(target[:0], c.currentKey...)
}

func (c *boltCursor) value(target []byte) ([]byte, error) {
	return append(target[:0], c.currentValue...), nil
}

func (c *boltCursor) close() {}
