package plan

import (
	"math"
	"slices"
	"time"

	"tlruntime/runtime/offsets"
)

// maxBytes bounds the sum of all buffers, so that no sum of sizes overflows.
const maxBytes = math.MaxInt64 / 4

// maxScratch bounds the temporary memory of one instruction.
const maxScratch = 1 << 40

// now is the clock. Tests replace it.
var now = time.Now

// place gives the buffers of the candidates their offsets, until the rest cannot be smaller, and returns the smallest.
func (b *builder) place() (best *candidate, err error) {
	passes := []int64{b.options.MaxSteps}
	if !b.options.Deadline.IsZero() && b.options.MaxSteps >= 0 {
		passes = []int64{-1, b.options.MaxSteps} // all have offsets before a search for one of them takes the time
	}
	for _, steps := range passes {
		o := *b.options
		if o.MaxSteps = steps; steps == 0 {
			o.Budget = 0
		}
		for _, x := range b.list {
			if best != nil && (x.peak >= best.plan.Frame.Bytes || b.options.Late()) {
				break
			}
			if err := allocate(x.plan, &o); err != nil {
				return nil, err
			}
			if best == nil || x.plan.Frame.Bytes < best.plan.Frame.Bytes {
				best = x
			}
		}
	}
	if b.options.MaxSteps != 0 || b.options.Budget == 0 {
		return best, nil
	}
	return b.placeFor(best)
}

// placeFor looks for better offsets of those that may be smaller than the best, for what is left of the budget.
func (b *builder) placeFor(best *candidate) (*candidate, error) {
	list := slices.DeleteFunc(slices.Clone(b.list), func(x *candidate) bool { return x.plan.Frame.Optimal })
	for k, x := range list {
		left := b.options.Deadline.Sub(now())
		waiting := 0
		for _, y := range list[k:] {
			if y.peak < best.plan.Frame.Bytes {
				waiting++
			}
		}
		if left <= 0 || waiting == 0 {
			break
		}
		o, again := *b.options, *x.plan
		o.Budget = max(1, left/time.Duration(waiting))
		again.Buffers = slices.Clone(x.plan.Buffers)
		if err := allocate(&again, &o); err != nil {
			return nil, err
		}
		was := &best.plan.Frame
		proves := x == best && again.Frame.Bytes == was.Bytes && again.Frame.LowerBound > was.LowerBound
		if again.Frame.Bytes < was.Bytes || proves {
			*x.plan, best = again, x
		}
	}
	return best, nil
}

// allocate gives every buffer that lies in the frame, or in the second space, its offset.
func allocate(p *ExecutionPlan, o *Options) error {
	placed, s, err := solve(p, o, o.placed)
	if err != nil {
		return err
	}
	for k, i := range placed {
		p.Buffers[i].Offset = s.Offsets[k]
	}
	p.Frame.Alignment = o.Alignment
	p.Frame.Bytes, p.Frame.LowerBound, p.Frame.Optimal = s.FrameBytes(), s.LowerBound(), s.Optimal
	placed, s, err = solve(p, o, func(k Kind) bool { return k == Outside })
	for k, i := range placed {
		p.Buffers[i].Outside = s.Offsets[k]
		p.Outside = s.FrameBytes()
	}
	return err
}

// solve places the buffers of some kinds, which it lists.
func solve(p *ExecutionPlan, o *Options, in func(Kind) bool) (placed []int, s *offsets.Solution, err error) {
	problem := offsets.Problem{}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if !in(b.Kind) {
			continue
		}
		placed = append(placed, i)
		problem.Buffers = append(problem.Buffers, offsets.Buffer{
			Name: b.Name, Bytes: o.rounded(b.Bytes), Alignment: o.Alignment,
			First: int64(b.First) + 1, End: int64(b.Last) + 2,
		})
	}
	if s, err = offsets.Solve(problem, o.within(o.search(len(placed)))); err != nil {
		return nil, nil, errorf("%w", err)
	}
	return placed, s, nil
}

// peak returns the highest number of bytes that buffers of some kinds have that are alive at once.
func peak(p *ExecutionPlan, o *Options, in func(Kind) bool) int64 {
	live := make([]int64, len(p.Instructions)+3)
	for i := range p.Buffers {
		if b := &p.Buffers[i]; in(b.Kind) {
			live[b.First+1] += o.rounded(b.Bytes)
			live[b.Last+2] -= o.rounded(b.Bytes)
		}
	}
	highest, sum := int64(0), int64(0)
	for _, d := range live {
		sum += d
		highest = max(highest, sum)
	}
	return highest
}

// sumOfBuffers returns what the frame would take if nothing were reused.
func sumOfBuffers(p *ExecutionPlan, o *Options) int64 {
	sum := int64(0)
	for i := range p.Buffers {
		if o.placed(p.Buffers[i].Kind) {
			sum += o.rounded(p.Buffers[i].Bytes)
		}
	}
	return sum
}
