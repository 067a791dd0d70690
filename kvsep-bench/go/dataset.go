package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
)

const (
	keyBytes      = 22
	ordinalDigits = 10
	golden        = 0x9e3779b97f4a7c15
	wordBytes     = 8
)

// dataset is the Go twin of the Java class io.kvsep.bench.Dataset: entries that follow from their
// ordinal, with 22-byte keys and values that do not compress. Immutable.
type dataset struct {
	entries int64
	// lengths are the value lengths, which the ordinals take in turns.
	lengths []int
}

func (d dataset) valueBytes(ordinal int64) int {
	return d.lengths[ordinal%int64(len(d.lengths))]
}

// rawBytes are the bytes of the keys and values of the first count ordinals.
func (d dataset) rawBytes(count int64) int64 {
	turns := int64(len(d.lengths))
	total := count * keyBytes
	for i, length := range d.lengths {
		total += (count + turns - 1 - int64(i)) / turns * int64(length)
	}
	return total
}

func (d dataset) longestValue() int {
	longest := 0
	for _, length := range d.lengths {
		longest = max(longest, length)
	}
	return longest
}

// newKey is a key with everything but the ordinal in place.
func (d dataset) newKey() []byte {
	key := fmt.Appendf(nil, "vsz=%05d-k=%010d", d.lengths[0]%100_000, 0)
	return key[:keyBytes:keyBytes]
}

// putKey turns a key of newKey into that of an ordinal.
func putKey(ordinal int64, key []byte) {
	rest := ordinal
	for i := keyBytes - 1; i >= keyBytes-ordinalDigits; i-- {
		key[i] = byte('0' + rest%10)
		rest /= 10
	}
}

// putAbsentKey makes a key of the same length right behind that of ordinal, which no entry has.
func putAbsentKey(ordinal int64, key []byte) {
	putKey(ordinal, key)
	key[keyBytes-1] += 16
}

// putValue fills value, whose length is that of the ordinal's value.
func (d dataset) putValue(ordinal int64, value []byte) {
	state := d.seed(ordinal)
	offset := 0
	for ; offset+wordBytes <= len(value); offset += wordBytes {
		binary.LittleEndian.PutUint64(value[offset:], mix(state))
		state += golden
	}
	last := mix(state)
	for ; offset < len(value); offset++ {
		value[offset] = byte(last)
		last >>= 8
	}
}

// checkEnds tells whether value has the length and the first and last 8 bytes that belong to the
// ordinal.
func (d dataset) checkEnds(ordinal int64, value []byte) error {
	length := d.valueBytes(ordinal)
	if len(value) != length {
		return fmt.Errorf("entry %d: %d value bytes, not %d", ordinal, len(value), length)
	}
	if length%wordBytes != 0 {
		return d.checkAll(ordinal, value)
	}
	if length == 0 {
		return nil
	}
	state := d.seed(ordinal)
	last := state + golden*uint64(length/wordBytes-1)
	if binary.LittleEndian.Uint64(value) != mix(state) ||
		binary.LittleEndian.Uint64(value[length-wordBytes:]) != mix(last) {
		return fmt.Errorf("entry %d: not the bytes that were written", ordinal)
	}
	return nil
}

func (d dataset) checkAll(ordinal int64, value []byte) error {
	expected := make([]byte, d.valueBytes(ordinal))
	d.putValue(ordinal, expected)
	if !bytes.Equal(value, expected) {
		return fmt.Errorf("entry %d: not the bytes that were written", ordinal)
	}
	return nil
}

// shuffled is the ordinal that comes at index in a shuffled order; each comes once.
func (d dataset) shuffled(index int64) int64 {
	width := max(2, bits.Len64(uint64(d.entries-1)))
	mask := uint64(1)<<width - 1
	ordinal := uint64(index)
	for {
		// Each step is a bijection of the numbers of so many bits; those beyond the end go round
		// again.
		for range 3 {
			ordinal = (ordinal*golden + uint64(width)) & mask
			ordinal ^= ordinal >> (width / 2)
		}
		if ordinal < uint64(d.entries) {
			return int64(ordinal)
		}
	}
}

func (d dataset) seed(ordinal int64) uint64 {
	return mix(uint64(ordinal)*golden + uint64(d.valueBytes(ordinal)))
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// random is a sequence of numbers that follows from its seed.
type random struct {
	state uint64
}

// newRandom gives each stream of one seed a sequence of its own.
func newRandom(seed int64, stream uint64) *random {
	return &random{mix(uint64(seed)*golden + stream)}
}

func (r *random) next() uint64 {
	r.state += golden
	return mix(r.state)
}

// unit is a number from 0 up to but not including 1.
func (r *random) unit() float64 {
	return float64(r.next()>>11) / (1 << 53)
}

// below is a number from 0 up to but not including bound.
func (r *random) below(bound int64) int64 {
	high, _ := bits.Mul64(r.next(), uint64(bound))
	return int64(high)
}
