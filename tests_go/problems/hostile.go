package problems

import (
	"math/rand/v2"

	"tlruntime/runtime/offsets"
)

// Hostile are problems of n buffers, of shapes that make a planner slow that counts on usual ones.
func Hostile(n int) map[string]offsets.Problem {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	steps := int64(n)
	short := func(b *offsets.Buffer) { b.First = r.Int64N(steps); b.End = b.First + 1 + r.Int64N(100) }
	gaps := func(b *offsets.Buffer, count int64) {
		for k := range count {
			at := b.First + (k+1)*(b.End-b.First)/(count+1)
			b.Gaps = append(b.Gaps, offsets.Interval{First: at, End: at + max(1, (b.End-b.First)/(2*count+2))})
		}
	}
	all := map[string]func(i int, b *offsets.Buffer){
		"once":   func(int, *offsets.Buffer) {},
		"nested": func(i int, b *offsets.Buffer) { b.First, b.End = int64(i), 2*steps-int64(i) },
		"long lives": func(i int, b *offsets.Buffer) {
			if short(b); i%2 == 0 {
				b.First, b.End = r.Int64N(steps/10), steps*9/10+r.Int64N(steps/10)
			}
		},
		"far apart":  func(_ int, b *offsets.Buffer) { b.First = r.Int64N(1 << 60); b.End = b.First + 1 + r.Int64N(1<<50) },
		"alignments": func(_ int, b *offsets.Buffer) { short(b); b.Alignment = 1 << r.IntN(30) },
		"gaps":       func(_ int, b *offsets.Buffer) { short(b); b.End += 100; gaps(b, 5) },
		"much of a gap": func(i int, b *offsets.Buffer) {
			if short(b); i%1000 == 0 {
				b.First, b.End = 0, steps
				gaps(b, 300)
			}
		},
		"pins": func(i int, b *offsets.Buffer) {
			short(b)
			b.Bytes, b.Pinned, b.Offset = 64, true, int64(i)*48&^63
			b.First, b.End = int64(i), int64(i)+1
		},
		"some pins": func(i int, b *offsets.Buffer) {
			if short(b); i%2 == 0 {
				b.Bytes, b.Pinned, b.Offset = 64, true, int64(i)*64
			}
		},
		"a chain of aliases": func(i int, b *offsets.Buffer) {
			b.Bytes, b.First, b.End = steps+int64(i), int64(2*i), int64(2*i+1)
			if i < n-1 {
				b.Alias, b.Base, b.BaseOffset = true, i+1, 1
			}
		},
		"aliases with gaps": func(i int, b *offsets.Buffer) {
			short(b)
			b.Bytes, b.End = 1000, b.End+10
			if gaps(b, 1); i >= 100 {
				b.Alias, b.Base = true, i%100
			}
		},
	}
	made := map[string]offsets.Problem{}
	for name, shape := range all {
		p := offsets.Problem{Buffers: make([]offsets.Buffer, n)}
		for i := range p.Buffers {
			p.Buffers[i] = offsets.Buffer{Bytes: 1 + r.Int64N(1<<16), First: 0, End: 1}
			shape(i, &p.Buffers[i])
		}
		made[name] = p
	}
	for name, of := range map[string]string{"full spaces": "long lives", "full spaces with gaps": "gaps"} {
		p := offsets.Problem{Buffers: made[of].Buffers, Spaces: make([]offsets.Space, 512)}
		for k := range len(p.Spaces) - 1 { // the last has no limit
			p.Spaces[k].Capacity = 1 << 17
		}
		made[name] = p
	}
	choices := offsets.Problem{Buffers: append([]offsets.Buffer(nil), made["gaps"].Buffers...),
		Spaces: make([]offsets.Space, 512)}
	for i := range choices.Buffers {
		choices.Buffers[i].Spaces = []int{i % 512}
	}
	made["spaces apart"] = choices
	return made
}
