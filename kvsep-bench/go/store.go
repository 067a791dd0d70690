package main

import (
	"fmt"
	"runtime/debug"
)

// engine is one of the compared stores: how it is opened and with which settings.
type engine struct {
	name     string
	module   string
	settings func(c *command) []string
	open     func(c *command, d durability) (store, error)
}

var engines = []engine{badgerEngine, boltEngine}

func engineOf(name string) (engine, error) {
	for _, e := range engines {
		if e.name == name {
			return e, nil
		}
	}
	return engine{}, fmt.Errorf("unknown engine: %q", name)
}

// version is that of the module this program was built with.
func (e engine) version() string {
	if info, known := debug.ReadBuildInfo(); known {
		for _, module := range info.Deps {
			if module.Path == e.module {
				return module.Version[1:]
			}
		}
	}
	return "unknown"
}

// store is an open engine. put, get and reader are safe for several goroutines.
type store interface {
	// write returns when a batch is written, as durable as the store was opened to be. It is one
	// transaction if the engine can have one of that size.
	write(batch []entry) error
	put(key, value []byte) error
	// get copies the newest value into target, grown if need be; nil if there is none.
	get(key, target []byte) ([]byte, error)
	// reader is what the store holds now, for one goroutine.
	reader() (reader, error)
	// collect gives space back once; whether there is more to do.
	collect() (bool, error)
	// maintain does all that the engine offers to bring its files into their best form while it is
	// open, and returns when it is done.
	maintain() error
	// sync makes everything durable that was written so far.
	sync() error
	close() error
}

type entry struct {
	key   []byte
	value []byte
}

// reader is a snapshot of a store. Not for several goroutines.
type reader interface {
	// get copies the value into target, grown if need be; nil if there is none.
	get(key, target []byte) ([]byte, error)
	// view calls look with the value where the engine has it, valid during the call; false if there
	// is none.
	view(key []byte, look func(value []byte) error) (bool, error)
	// cursor is in front of the first entry, or of the first from a key on.
	cursor(from []byte, keysOnly bool) cursor
	close() error
}

type cursor interface {
	next() bool
	// key and value copy into target, grown if need be.
	key(target []byte) []byte
	value(target []byte) ([]byte, error)
	close()
}
