package remat_test

import (
	"container/heap"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

// state is which values lie in the frame and which in the second space, and what it cost to get there.
type state struct {
	frame, outside int
	cost           float64
}

type states []state

func (q states) Len() int           { return len(q) }
func (q states) Less(i, j int) bool { return q[i].cost < q[j].cost }
func (q states) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *states) Push(x any)        { *q = append(*q, x.(state)) }
func (q *states) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// search is for the lowest cost at which outputs can be computed.
type search struct {
	bytes, needs []int64 // by node
	costs        []float64
	outputs      int
	capacity     int64
	transfer     float64 // of one value, out or in; infinite: there is no second space
}

func newSearch(c *graph.Checked, capacity int64, transfer float64) *search {
	s := &search{capacity: capacity, transfer: transfer}
	for i := range c.Nodes {
		need := int64(0)
		for _, v := range c.Nodes[i].Inputs {
			if p := c.Values[v].Producer; p >= 0 {
				need |= 1 << p
			}
		}
		s.needs = append(s.needs, need)
		s.bytes = append(s.bytes, c.Values[c.Nodes[i].Outputs[0]].Bytes())
		s.costs = append(s.costs, remat.Estimate(c, &c.Nodes[i]))
	}
	for _, v := range c.Outputs {
		s.outputs |= 1 << c.Values[v].Producer
		s.bytes[c.Values[v].Producer] = 0
	}
	return s
}

func (s *search) fits(frame int) bool {
	sum := int64(0)
	for i, bytes := range s.bytes {
		if frame>>i&1 == 1 {
			sum += bytes
		}
	}
	return sum <= s.capacity
}

// exact goes through the sets of values that are alive (Dijkstra, 1959): every order, every value computed, moved out
// and moved in any number of times. Infinite: nothing fits.
func (s *search) exact() float64 {
	best := map[[2]int]float64{}
	open := &states{{}}
	for open.Len() > 0 {
		at := heap.Pop(open).(state)
		if at.frame&s.outputs == s.outputs {
			return at.cost
		}
		if settled, ok := best[[2]int{at.frame, at.outside}]; ok && settled <= at.cost {
			continue
		}
		best[[2]int{at.frame, at.outside}] = at.cost
		for i := range s.bytes {
			bit := 1 << i
			if at.frame&bit != 0 {
				heap.Push(open, state{at.frame &^ bit, at.outside, at.cost})
				if at.outside&bit == 0 && !math.IsInf(s.transfer, 1) {
					heap.Push(open, state{at.frame, at.outside | bit, at.cost + s.transfer})
				}
				continue
			}
			if !s.fits(at.frame | bit) {
				continue
			}
			if s.needs[i]&^int64(at.frame) == 0 {
				heap.Push(open, state{at.frame | bit, at.outside, at.cost + s.costs[i]})
			}
			if at.outside&bit != 0 {
				heap.Push(open, state{at.frame | bit, at.outside, at.cost + s.transfer})
			}
		}
	}
	return math.Inf(1)
}

// beside compares with the exact answer on small graphs, without views and results in place: no answer is cheaper, few
// are dearer, few are missing.
func beside(t *testing.T, longest int, outside func(*rapid.T) *remat.Outside) {
	o := plan.Options{NoViews: true, NoInPlace: true, NoConcat: true}
	possible, found, equal, ratio := 0, 0, 0, 0.0
	rapid.Check(t, func(r *rapid.T) {
		c := thereAndBack(r, longest)
		given, err := plan.Build(c, o)
		require.NoError(r, err)
		capacity := given.Frame.Bytes - 1024*rapid.Int64Range(1, 3).Draw(r, "less")
		if capacity < 0 {
			r.Skip()
		}
		second, transfer := outside(r), math.Inf(1)
		if second != nil {
			transfer = 1024 / second.Bandwidth
		}
		least := newSearch(c, capacity, transfer).exact()
		got, err := remat.Fit(c, remat.Options{Plan: o, Capacity: capacity, Outside: second})
		var full *remat.CapacityError
		if err != nil {
			require.ErrorAs(r, err, &full)
		}
		if math.IsInf(least, 1) {
			require.NotNil(r, full)
			return
		}
		possible++
		if full != nil {
			require.LessOrEqual(r, full.LowerBound, capacity, "there is a plan")
			return
		}
		found++
		same(r, c, got)
		require.GreaterOrEqual(r, got.Cost, least*(1-1e-9))
		ratio += got.Cost / least
		if got.Cost <= least*(1+1e-9) {
			equal++
		}
	})
	t.Logf("possible %d, found %d, at the lowest cost %d, mean ratio %.4f", possible, found, equal, ratio/float64(found))
	assert.GreaterOrEqual(t, 10*found, 9*possible)
	assert.Less(t, ratio/float64(found), 1.05)
}

func TestBesideTheExactAnswer(t *testing.T) {
	beside(t, 7, func(*rapid.T) *remat.Outside { return nil })
}

// The second space is as fast as computing a value, some times slower, or some times faster.
func TestMovesBesideTheExactAnswer(t *testing.T) {
	beside(t, 4, func(r *rapid.T) *remat.Outside {
		return &remat.Outside{Bandwidth: rapid.SampledFrom([]float64{1e9, 4e9, 20e9, 100e9}).Draw(r, "bandwidth")}
	})
}
