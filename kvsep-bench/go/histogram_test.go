package main

import (
	"math"
	"testing"
)

func TestBucketsCoverAllDurations(t *testing.T) {
	previous := -1
	for _, nanos := range []int64{0, 1, 31, 32, 33, 63, 64, 66, 1000, 1 << 40, math.MaxInt64} {
		b := bucket(nanos)
		if b <= previous {
			t.Errorf("bucket(%d) = %d, not above %d", nanos, b, previous)
		}
		if end := bucketEnd(b); end < nanos || float64(end-nanos) > float64(nanos)/histogramParts {
			t.Errorf("bucketEnd(%d) = %d for %d", b, end, nanos)
		}
		previous = b
	}
}

func TestPercentiles(t *testing.T) {
	var h histogram
	for i := int64(1); i <= 1000; i++ {
		h.add(i * 1000)
	}
	for share, want := range map[float64]float64{0.5: 500_000, 0.99: 990_000, 0.999: 999_000} {
		if got := float64(h.percentile(share)); got < want || got > want*(1+1.0/histogramParts) {
			t.Errorf("percentile(%v) = %v, want about %v", share, got, want)
		}
	}
	if h.percentile(1) != 1_000_000 {
		t.Errorf("percentile(1) = %d, want the longest", h.percentile(1))
	}
}

func TestHistogramsAddUp(t *testing.T) {
	var a, b histogram
	a.add(10)
	b.add(1 << 30)
	a.addAll(&b)
	if a.total != 2 || a.max != 1<<30 || a.percentile(0.5) != 10 {
		t.Errorf("total %d, max %d, median %d", a.total, a.max, a.percentile(0.5))
	}
	if new(histogram).percentile(0.5) != 0 {
		t.Error("an empty histogram has a median")
	}
}
