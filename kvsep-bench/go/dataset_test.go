package main

import (
	"encoding/csv"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The file is made by the Java class Dataset, which has a test of the same kind.
const vectors = "../src/main/resources/io/kvsep/bench/dataset-vectors.csv"

func TestSameEntriesAsInJava(t *testing.T) {
	file, err := os.Open(vectors)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if header := strings.Join(rows[0], ","); header !=
		"entries,valueBytes,ordinal,key,valueFirst16Hex,shuffled" {
		t.Fatalf("header %s", header)
	}
	if len(rows) < 20 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows[1:] {
		ordinal := number(t, row[2])
		d := dataset{entries: number(t, row[0])}
		for _, length := range strings.Split(row[1], "/") {
			d.lengths = append(d.lengths, int(number(t, length)))
		}
		key := d.newKey()
		putKey(ordinal, key)
		value := make([]byte, d.valueBytes(ordinal))
		d.putValue(ordinal, value)
		first := hex.EncodeToString(value[:min(16, len(value))])
		if string(key) != row[3] || first != row[4] || d.shuffled(ordinal) != number(t, row[5]) {
			t.Errorf("%v: key %s, value %s, shuffled %d", row, key, first, d.shuffled(ordinal))
		}
	}
}

func TestShuffledOrderVisitsEachOrdinalOnce(t *testing.T) {
	for _, count := range []int64{1, 2, 3, 1000, 1024, 65_537} {
		d := dataset{count, []int{8}}
		visited := make([]bool, count)
		for index := range count {
			ordinal := d.shuffled(index)
			if visited[ordinal] {
				t.Fatalf("%d entries: %d comes twice", count, ordinal)
			}
			visited[ordinal] = true
		}
	}
}

func TestChangedEndsAreNoticed(t *testing.T) {
	for _, length := range []int{7, 8, 21, 128} {
		d := dataset{1000, []int{length}}
		value := make([]byte, length)
		d.putValue(7, value)
		if err := d.checkEnds(7, value); err != nil {
			t.Error(err)
		}
		if d.checkEnds(8, value) == nil || d.checkEnds(7, value[1:]) == nil {
			t.Errorf("%d bytes: another value passes", length)
		}
		for _, i := range []int{0, length - 1} {
			value[i] ^= 1
			if d.checkEnds(7, value) == nil {
				t.Errorf("%d bytes: a change at %d passes", length, i)
			}
			value[i] ^= 1
		}
	}
}

func TestRawBytesOfLengthsInTurns(t *testing.T) {
	d := dataset{5, []int{10, 100}}
	if raw := d.rawBytes(5); raw != 5*keyBytes+3*10+2*100 {
		t.Errorf("raw bytes %d", raw)
	}
	if d.longestValue() != 100 || d.valueBytes(2) != 10 || d.valueBytes(3) != 100 {
		t.Error("even ordinals have the first length, odd ones the second")
	}
}

func TestAbsentKeyFollowsThatOfItsOrdinal(t *testing.T) {
	d := dataset{5, []int{64_000, 2_932_000}}
	key := d.newKey()
	putAbsentKey(742, key)
	if string(key) != "vsz=64000-k=000000074B" {
		t.Errorf("absent key %s", key)
	}
}

func number(t *testing.T, word string) int64 {
	t.Helper()
	number, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return number
}
