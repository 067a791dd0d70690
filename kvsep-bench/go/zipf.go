package main

import "math"

const (
	zipfTheta = 0.99
	// zipfExactMax are the terms of the sum that are added one by one; an integral stands for the rest.
	zipfExactMax = 1 << 16
)

// zipf is the Go twin of the Java class io.kvsep.bench.compare.Zipf: Zipf's law with the exponent of
// YCSB. Immutable.
type zipf struct {
	count int64
	sum   float64
	eta   float64
}

func newZipf(count int64) zipf {
	sum := zipfSum(count)
	eta := (1 - math.Pow(2/float64(count), 1-zipfTheta)) / (1 - zipfSum(2)/sum)
	return zipf{count, sum, eta}
}

func zipfSum(count int64) float64 {
	exact := min(count, zipfExactMax)
	sum := 0.0
	for rank := range exact {
		sum += math.Pow(float64(rank+1), -zipfTheta)
	}
	return sum + (math.Pow(float64(count)+0.5, 1-zipfTheta)-math.Pow(float64(exact)+0.5, 1-zipfTheta))/(1-zipfTheta)
}

// rank is the rank, from 0, for a number from 0 up to but not including 1.
func (z zipf) rank(uniform float64) int64 {
	scaled := uniform * z.sum
	if scaled < 1 {
		return 0
	}
	if scaled < 1+math.Pow(0.5, zipfTheta) {
		return min(1, z.count-1)
	}
	rank := int64(float64(z.count) * math.Pow(z.eta*uniform-z.eta+1, 1/(1-zipfTheta)))
	return min(rank, z.count-1)
}
