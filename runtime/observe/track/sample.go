package track

import (
	"math"
	"math/rand/v2"

	"tlruntime/runtime/object"
)

// Sampling by bytes. Every byte that is allocated is drawn with the same small
// probability, so that the bytes between two samples are distributed exponentially, and
// an allocation of n bytes is a sample with probability
//
//	p(n) = 1 - exp(-n / period)
//
// One sample stands for 1 / p(n) allocations of its size. This is how tcmalloc and the
// heap profile of Go sample (Ghemawat and Menage, "TCMalloc: Thread-Caching Malloc",
// 2007; golang/go src/runtime/malloc.go, nextSample).
//
// Draws of different size classes may be made apart: what the classes take together is
// distributed as one stream of bytes is (superposition of Poisson processes, Kingman,
// "Poisson Processes", 1993, 2.2). So a magazine counts objects down, which costs the
// fast path nothing but a jump on the sum that it forms anyway.

// Period returns the mean number of bytes between two samples; 0: nothing is recorded, 1:
// everything.
func Period() uint64 { return tracker.period.Load() }

// exponential draws from the exponential distribution with mean 1.
func exponential() float64 { return -math.Log(1 - rand.Float64()) }

// NextBytes draws how many bytes are passed over before the next sample.
func (recorder) NextBytes() uint64 {
	switch period := Period(); period {
	case 0:
		return object.Never
	case 1:
		return 0
	default:
		return uint64(min(exponential()*float64(period), object.Never))
	}
}

// NextObject draws which of the coming objects of so many bytes is the next sample: 1
// is the very next.
func (recorder) NextObject(size uint64) uint64 {
	switch period := Period(); period {
	case 0:
		return object.Never
	case 1:
		return 1
	default:
		return 1 + uint64(min(exponential()*float64(period)/float64(size), object.Never))
	}
}

// Weight returns how many allocations of n bytes one sample stands for.
func Weight(n uint64) float32 {
	period := Period()
	if period <= 1 || n == 0 {
		return 1
	}
	return float32(-1 / math.Expm1(-float64(n)/float64(period)))
}
