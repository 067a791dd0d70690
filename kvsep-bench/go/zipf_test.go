package main

import "testing"

// As in the Java program.
func TestRanksOfSomeNumbers(t *testing.T) {
	z := newZipf(3_000_000)
	for uniform, expected := range map[float64]int64{0.05: 0, 0.25: 28, 0.5: 1555, 0.99: 2592949} {
		if rank := z.rank(uniform); rank != expected {
			t.Errorf("%v has rank %d, not %d", uniform, rank, expected)
		}
	}
}

func TestFewRanksAreEnough(t *testing.T) {
	for count := int64(1); count <= 3; count++ {
		z := newZipf(count)
		for _, uniform := range []float64{0, 0.5, 0.999, 1 - 1e-16} {
			if rank := z.rank(uniform); rank < 0 || rank >= count {
				t.Errorf("of %d ranks, %v has %d", count, uniform, rank)
			}
		}
	}
}
