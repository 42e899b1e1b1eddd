package order

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawProblem draws nodes that read buffers of earlier ones and write their own,
// some in the place of an argument, some into a buffer that several write.
func drawProblem(t *rapid.T, most int) Problem {
	var p Problem
	bytes := rapid.Int64Range(0, 5)
	for range rapid.IntRange(0, 2).Draw(t, "inputs") {
		p.Buffers = append(p.Buffers, Buffer{Bytes: bytes.Draw(t, "bytes"), Before: true})
	}
	writers := make([][]int, len(p.Buffers))
	for i := range rapid.IntRange(1, most).Draw(t, "nodes") {
		n := Node{Scratch: rapid.SampledFrom([]int64{0, 0, 0, 2}).Draw(t, "scratch")}
		for b := range p.Buffers {
			if rapid.IntRange(0, 3).Draw(t, "read") == 0 {
				n.Touches = append(n.Touches, b)
				n.After = append(n.After, writers[b]...)
			}
		}
		if shared := rapid.IntRange(0, 9).Draw(t, "shared"); shared < len(p.Buffers) && !p.Buffers[shared].Before &&
			!slices.Contains(n.Touches, shared) {
			n.Touches = append(n.Touches, shared)
		} else {
			p.Buffers = append(p.Buffers,
				Buffer{Bytes: bytes.Draw(t, "bytes"), After: rapid.IntRange(0, 5).Draw(t, "kept") == 0})
			writers = append(writers, nil)
			n.Touches = append(n.Touches, len(p.Buffers)-1)
		}
		own := n.Touches[len(n.Touches)-1]
		writers[own] = append(writers[own], i)
		for _, b := range n.Touches[:len(n.Touches)-1] {
			if len(writers[own]) == 1 && p.Buffers[b].Bytes == p.Buffers[own].Bytes &&
				rapid.Bool().Draw(t, "exchange") {
				n.Exchanges = append(n.Exchanges, Exchange{b, own})
			}
		}
		p.Nodes = append(p.Nodes, n)
	}
	for i := range p.Nodes {
		p.Nodes[i].Exchanges = slices.DeleteFunc(p.Nodes[i].Exchanges, func(x Exchange) bool {
			return len(writers[x.To]) > 1
		})
	}
	return p
}

// peakOf says what Peak means, buffer by buffer.
func peakOf(p Problem, order []int) int64 {
	first, last := make([]int, len(p.Buffers)), make([]int, len(p.Buffers))
	for b := range p.Buffers {
		first[b], last[b] = len(order), -1
		for at, n := range order {
			if slices.Contains(p.Nodes[n].Touches, b) {
				first[b], last[b] = min(first[b], at), at
			}
		}
		if p.Buffers[b].Before {
			first[b] = -1
		}
		if p.Buffers[b].After {
			last[b] = len(order)
		}
	}
	peak := int64(0)
	for at := -1; at <= len(order); at++ {
		sum := int64(0)
		for b := range p.Buffers {
			if first[b] <= at && at <= last[b] || first[b] == at && at == -1 {
				sum += p.Buffers[b].Bytes
			}
		}
		if at >= 0 && at < len(order) {
			n := &p.Nodes[order[at]]
			saved := int64(0)
			for _, x := range n.Exchanges {
				if first[x.To] == at && last[x.From] == at {
					saved = max(saved, p.Buffers[x.From].Bytes)
				}
			}
			sum += n.Scratch - saved
		}
		peak = max(peak, sum)
	}
	return peak
}

// lowestOf tries all orders.
func lowestOf(p Problem, order []int) int64 {
	if len(order) == len(p.Nodes) {
		return peakOf(p, order)
	}
	lowest := int64(1) << 62
	for n := range p.Nodes {
		if slices.Contains(order, n) || slices.ContainsFunc(p.Nodes[n].After, func(b int) bool {
			return !slices.Contains(order, b)
		}) {
			continue
		}
		lowest = min(lowest, lowestOf(p, append(slices.Clone(order), n)))
	}
	return lowest
}

func TestAgainstAllOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 7)
		r, err := Search(p, Options{})
		require.NoError(t, err)
		require.True(t, r.Proved)
		require.Equal(t, lowestOf(p, nil), r.Peak)
		require.Equal(t, r.Peak, peakOf(p, r.Order))
	})
}

func TestWithoutProof(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 40)
		r, err := Search(p, Options{States: rapid.IntRange(-1, 3).Draw(t, "states")})
		require.NoError(t, err)
		require.LessOrEqual(t, r.Peak, r.GivenPeak)
		require.Equal(t, r.Peak, peakOf(p, r.Order))
		full, err := Search(p, Options{States: 2000})
		require.NoError(t, err)
		if r.Proved {
			require.LessOrEqual(t, r.Peak, full.Peak)
		}
		same, err := Search(p, Options{States: 2000})
		require.NoError(t, err)
		require.Equal(t, full, same)
	})
}

func TestWhatIsNoProblem(t *testing.T) {
	for _, p := range []Problem{
		{Nodes: []Node{{After: []int{0}}}},
		{Nodes: []Node{{Touches: []int{0}}}},
		{Nodes: []Node{{Touches: []int{0, 0}}}, Buffers: []Buffer{{}}},
		{Nodes: []Node{{Scratch: -1}}},
		{Buffers: []Buffer{{Bytes: -1}}},
		{Nodes: []Node{{Touches: []int{0}, Exchanges: []Exchange{{0, 1}}}}, Buffers: []Buffer{{}, {}}},
	} {
		_, err := Search(p, Options{})
		assert.Error(t, err, "%+v", p)
	}
}

// wattsStrogatz returns a cell as RandWire draws them (Xie et al., Exploring
// randomly wired neural networks, ICCV 2019): a ring of n nodes with k neighbours
// each, every edge rewired with probability q, directed from the lower number to
// the higher. All tensors have one size; nodes without a predecessor read the
// input, a last node reads all that nobody read.
func wattsStrogatz(n, k int, q float64, seed uint64) Problem {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	edges := map[[2]int]bool{}
	add := func(a, b int) { edges[[2]int{min(a, b), max(a, b)}] = true }
	for a := range n {
		for d := 1; d <= k/2; d++ {
			b := (a + d) % n
			for random.Float64() < q {
				if c := random.IntN(n); c != a && !edges[[2]int{min(a, c), max(a, c)}] {
					b = c
					break
				}
			}
			add(a, b)
		}
	}
	const bytes = 64 * 64 * 64
	p := Problem{Buffers: []Buffer{{Bytes: bytes, Before: true}}}
	read := make([]bool, n)
	for b := range n {
		node := Node{}
		for a := range b {
			if edges[[2]int{a, b}] {
				node.After, node.Touches = append(node.After, a), append(node.Touches, a+1)
				read[a] = true
			}
		}
		if len(node.After) == 0 {
			node.Touches = append(node.Touches, 0)
		}
		p.Buffers = append(p.Buffers, Buffer{Bytes: bytes})
		node.Touches = append(node.Touches, b+1)
		p.Nodes = append(p.Nodes, node)
	}
	last := Node{Touches: []int{n + 1}}
	for a, was := range read {
		if !was {
			last.After, last.Touches = append(last.After, a), append(last.Touches, a+1)
		}
	}
	p.Buffers = append(p.Buffers, Buffer{Bytes: bytes, After: true})
	p.Nodes = append(p.Nodes, last)
	return p
}

// TestRandomlyWired prints what docs/planner.md reports of randomly wired cells.
func TestRandomlyWired(t *testing.T) {
	for _, n := range []int{16, 32} {
		var most time.Duration
		sum, states := 0.0, 0
		const seeds = 10
		for seed := range uint64(seeds) {
			begin := time.Now()
			r, err := Search(wattsStrogatz(n, 4, 0.75, seed), Options{})
			most = max(most, time.Since(begin))
			require.NoError(t, err)
			require.True(t, r.Proved, "seed %d", seed)
			sum += float64(r.GivenPeak) / float64(r.Peak)
			states = max(states, r.States)
		}
		fmt.Printf("WS(%d,4,0.75): given / lowest %.3f on average, at most %d states and %v\n", n, sum/seeds, states,
			most.Round(time.Millisecond))
	}
}

// The deadline ends the search wherever it is, with an order that can be run and a claim that holds.
func TestADeadlineEndsWithAnOrder(t *testing.T) {
	defer func() { now = time.Now }()
	p := wattsStrogatz(28, 4, 0.75, 3)
	whole, err := Search(p, Options{})
	require.NoError(t, err)
	end, last := time.Now().Add(time.Hour), Result{}
	for _, looks := range []int{0, 1, 2, 5, 20, 100, 1000, 1 << 30} {
		calls := 0
		now = func() time.Time {
			if calls++; calls > looks {
				return end
			}
			return end.Add(-1)
		}
		r, err := Search(p, Options{Deadline: end})
		require.NoError(t, err)
		assert.Equal(t, r.Peak, peakOf(p, r.Order))
		assert.GreaterOrEqual(t, r.Peak, whole.Peak)
		assert.LessOrEqual(t, calls, looks+1, "it looks no more")
		last = r
	}
	assert.Equal(t, whole, last)
}

func BenchmarkRandomlyWired(b *testing.B) {
	for _, n := range []int{16, 32} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := wattsStrogatz(n, 4, 0.75, 1)
			for b.Loop() {
				if r, err := Search(p, Options{}); err != nil || !r.Proved {
					b.Fatal(r, err)
				}
			}
		})
	}
}
