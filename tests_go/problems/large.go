package problems

import (
	"math"
	"math/rand/v2"

	"tlruntime/runtime/offsets"
)

// Large are the shapes of large problems, by name.
var Large = map[string]func(seed uint64, buffers int) offsets.Problem{
	"training":   Training,
	"stack":      Stack,
	"alive 50":   func(seed uint64, n int) offsets.Problem { return Alive(seed, n, 50, 1<<20) },
	"alive 3000": func(seed uint64, n int) offsets.Problem { return Alive(seed, n, 3000, 1<<20) },
	"equal":      Equal,
	"layers":     Layers,
	"wide":       func(seed uint64, n int) offsets.Problem { return Wide(n).Problem(seed) },
}

// Training makes training steps: layer by layer forward, each with a result that the layer's backward pass reads, and
// backward, with gradients and temporaries that live for a few operators. One fortieth lives throughout.
func Training(seed uint64, buffers int) offsets.Problem {
	r := rand.New(rand.NewPCG(seed, uint64(buffers)))
	p := offsets.Problem{}
	layers := max(1, buffers/5)
	add := func(bytes, first, end int64) {
		p.Buffers = append(p.Buffers, offsets.Buffer{Bytes: bytes, First: first, End: end})
	}
	last := int64(4 * layers)
	for k := range int64(layers) {
		forward, backward := 2*k, last-2*k
		bytes := int64(256) << r.IntN(10) * (1 + r.Int64N(7))
		add(bytes, forward, backward+1)
		add(bytes/2+64, forward, forward+1+r.Int64N(3))
		add(bytes*2, backward-1, backward+2)
		add(bytes, backward, backward+1+r.Int64N(4))
		if r.IntN(8) == 0 {
			add(bytes/4+1, 0, last+2)
		} else {
			add(bytes+512*r.Int64N(3), forward+1, backward)
		}
	}
	return p
}

// Stack makes lifetimes that lie inside each other, as those of calls do, with sizes that are uniform in their
// logarithm.
func Stack(seed uint64, buffers int) offsets.Problem {
	r := rand.New(rand.NewPCG(seed, uint64(buffers)))
	p := offsets.Problem{Buffers: make([]offsets.Buffer, 0, buffers)}
	open, now := []int{}, int64(0)
	for len(p.Buffers) < buffers {
		if len(open) > 0 && r.Float64() < float64(len(open))/400 {
			p.Buffers[open[len(open)-1]].End = now
			open = open[:len(open)-1]
		} else {
			open = append(open, len(p.Buffers))
			p.Buffers = append(p.Buffers, offsets.Buffer{Bytes: logUniform(r, 64, 1<<20), First: now})
		}
		now++
	}
	for _, i := range open {
		p.Buffers[i].End = now
	}
	return p
}

// Alive makes a problem in which so many are alive at once all the time: when one ends, another begins. Sizes are
// uniform.
func Alive(seed uint64, buffers, alive int, most int64) offsets.Problem {
	r := rand.New(rand.NewPCG(seed, uint64(buffers)))
	p := offsets.Problem{Buffers: make([]offsets.Buffer, buffers)}
	now := make([]int, 0, alive)
	for i := range p.Buffers {
		step := int64(max(0, i-alive+1))
		b := &p.Buffers[i]
		*b = offsets.Buffer{Bytes: 1 + r.Int64N(most), First: step, End: step + 1}
		if len(now) < alive {
			now = append(now, i)
			continue
		}
		k := r.IntN(alive)
		p.Buffers[now[k]].End = step
		now[k] = i
	}
	for _, i := range now {
		p.Buffers[i].End = int64(buffers + 1)
	}
	return p
}

// Equal makes buffers of four sizes, the multiples of the smallest.
func Equal(seed uint64, buffers int) offsets.Problem {
	r := rand.New(rand.NewPCG(seed, uint64(buffers)))
	p := Shape{Buffers: buffers, MinBytes: 1, MaxBytes: 1, MeanLife: 40, PerStep: 2}.Problem(seed)
	for i := range p.Buffers {
		p.Buffers[i].Bytes = 4096 * (1 + r.Int64N(4))
	}
	return p
}

// Layers makes operators that each read some results of the one before and of a few long ago, with widths that change
// from layer to layer: many of a size, which is the case in which placing by breadth is good.
func Layers(seed uint64, buffers int) offsets.Problem {
	r := rand.New(rand.NewPCG(seed, uint64(buffers)))
	p := offsets.Problem{Buffers: make([]offsets.Buffer, 0, buffers)}
	for step := int64(0); len(p.Buffers) < buffers; step++ {
		width := 1 + r.IntN(12)
		bytes := logUniform(r, 1<<10, 1<<22)
		for range min(width, buffers-len(p.Buffers)) {
			life := int64(2)
			if r.IntN(10) == 0 {
				life += r.Int64N(200)
			}
			p.Buffers = append(p.Buffers, offsets.Buffer{Bytes: bytes >> r.IntN(3), First: step, End: step + life})
		}
	}
	return p
}

func logUniform(r *rand.Rand, low, high float64) int64 {
	return int64(low * math.Pow(high/low, r.Float64()))
}

// Slots makes a problem in which about so many are alive at once all the time: each of so many slots holds one buffer
// after the other, with sizes and lives that are drawn, the lives with a mean of so many steps.
func Slots(seed uint64, buffers, alive int, mean float64, size, life func(*rand.Rand) int64) offsets.Problem {
	r := rand.New(rand.NewPCG(seed, uint64(buffers)))
	p := offsets.Problem{}
	last := int64(mean * float64(buffers) / float64(alive))
	for range alive {
		for now := -r.Int64N(int64(mean)); now < last; {
			b := offsets.Buffer{Bytes: size(r), First: now, End: now + life(r)}
			p.Buffers = append(p.Buffers, b)
			now = b.End
		}
	}
	return p
}

// Sizes and Lives draw for Slots, by name. Lives have a mean of 100 steps.
var (
	Sizes = map[string]func(*rand.Rand) int64{
		"uniform":       func(r *rand.Rand) int64 { return 1 + r.Int64N(1<<20) },
		"powers of two": func(r *rand.Rand) int64 { return int64(64) << r.IntN(19) },
		"log-uniform":   func(r *rand.Rand) int64 { return logUniform(r, 64, 16<<20) },
		"few huge": func(r *rand.Rand) int64 {
			if r.IntN(50) == 0 {
				return 4<<20 + r.Int64N(12<<20)
			}
			return 1 + r.Int64N(1<<18)
		},
	}
	Lives = map[string]func(*rand.Rand) int64{
		"exponential": func(r *rand.Rand) int64 { return 1 + int64(100*r.ExpFloat64()) },
		"uniform":     func(r *rand.Rand) int64 { return 1 + r.Int64N(200) },
		"two kinds": func(r *rand.Rand) int64 {
			if r.IntN(10) == 0 {
				return 1 + int64(800*r.ExpFloat64())
			}
			return 1 + int64(20*r.ExpFloat64())
		},
	}
)
