package main

import "math/bits"

const (
	// Each power of two is cut into this many equal parts, so a percentile is off by at most 1/32.
	histogramPartBits = 5
	histogramParts    = 1 << histogramPartBits
)

// histogram counts durations in nanoseconds on a logarithmic scale. Not for several goroutines;
// each has one of its own and they are added up afterwards.
type histogram struct {
	counts [(64 - histogramPartBits + 1) * histogramParts]int64
	total  int64
	max    int64
}

func (h *histogram) add(nanos int64) {
	nanos = max(nanos, 0)
	h.counts[bucket(nanos)]++
	h.total++
	h.max = max(h.max, nanos)
}

func (h *histogram) addAll(other *histogram) {
	for i, count := range other.counts {
		h.counts[i] += count
	}
	h.total += other.total
	h.max = max(h.max, other.max)
}

// percentile is the duration that the given share of all durations does not exceed: the upper end
// of its bucket, but never more than the longest one seen. 0 without any.
func (h *histogram) percentile(share float64) int64 {
	rank := int64(share * float64(h.total))
	if float64(rank) < share*float64(h.total) {
		rank++
	}
	rank = max(rank, 1)
	seen := int64(0)
	for i, count := range h.counts {
		seen += count
		if count > 0 && seen >= rank {
			return min(bucketEnd(i), h.max)
		}
	}
	return 0
}

func bucket(nanos int64) int {
	if nanos < histogramParts {
		return int(nanos)
	}
	shift := bits.Len64(uint64(nanos)) - 1 - histogramPartBits
	return (shift+1)<<histogramPartBits + int(nanos>>shift) - histogramParts
}

// bucketEnd is the longest duration that falls into a bucket.
func bucketEnd(bucket int) int64 {
	if bucket < histogramParts {
		return int64(bucket)
	}
	shift := bucket>>histogramPartBits - 1
	part := int64(bucket&(histogramParts-1)) + histogramParts
	return (part+1)<<shift - 1
}
