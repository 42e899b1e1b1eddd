package plans

import (
	"errors"
	"runtime"
	"slices"
	"time"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
	"tlruntime/runtime/status"
)

// Solve places the buffers, beginning where they lay, or where the caller supposes them. What was found before stays
// when it fails.
func Solve(h Handle, o offsets.Options) *Error {
	return with(h, func(p *plan) *Error {
		if err := p.room(uint64(len(p.problem.Buffers)), 0, bytesToPlace); err != nil {
			return err
		}
		o.Start = p.start()
		solution, err := offsets.Solve(p.problem, o)
		if err != nil {
			return p.failure(err)
		}
		p.solution, p.last, p.hints = solution, solution.Offsets, nil
		return nil
	})
}

// SolveByProcessor is Solve with a budget of time that the processor works for this thread: on a busy machine a search
// gets as much done as on an idle one.
func SolveByProcessor(h Handle, o offsets.Options) *Error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	o.Clock = threadTime
	return Solve(h, o)
}

// start has where each buffer lay or is supposed to lie, -1 where neither is known; nil: nothing is known.
func (p *plan) start() []int64 {
	if len(p.last)+len(p.hints) == 0 {
		return nil
	}
	list := slices.Clone(p.last)
	for len(list) < len(p.problem.Buffers) {
		list = append(list, -1)
	}
	for buffer, offset := range p.hints {
		list[buffer] = offset
	}
	return list
}

// Budget is the time of a search in milliseconds, at most a day.
func Budget(milliseconds int64) time.Duration {
	return time.Duration(min(milliseconds, 24*60*60*1000)) * time.Millisecond
}

func (p *plan) failure(err error) *Error {
	var limit *offsets.LimitError
	if errors.As(err, &limit) {
		p.infeasible = limit.Proved
		return refuse(status.Limit, "%v", err)
	}
	return refuse(status.InvalidArgument, "%v", err)
}

// Validate checks the solution with code that shares nothing with what found it.
func Validate(h Handle) *Error {
	return solved(h, func(p *plan) *Error {
		if err := check.Solution(p.problem, p.solution); err != nil {
			return refuse(status.Internal, "the solution is wrong, which is a defect of this library: %v", err)
		}
		return nil
	})
}

// solved is with for what needs a solution.
func solved(h Handle, body func(*plan) *Error) *Error {
	return with(h, func(p *plan) *Error {
		if p.solution == nil {
			return refuse(status.InvalidArgument, "the plan has no solution, or was changed since; call tl_plan_solve")
		}
		return body(p)
	})
}

// Infeasible says whether Solve proved that the spaces cannot hold the buffers.
func Infeasible(h Handle) (proved bool, failed *Error) {
	failed = with(h, func(p *plan) *Error {
		proved = p.infeasible
		return nil
	})
	return proved, failed
}

// Result is what a solution says as a whole.
type Result struct {
	FrameBytes, LowerBound int64 // sums over all spaces
	Optimal                bool
}

// Summary returns the figures of the solution.
func Summary(h Handle) (r Result, failed *Error) {
	failed = solved(h, func(p *plan) *Error {
		r = Result{p.solution.FrameBytes(), p.solution.LowerBound(), p.solution.Optimal}
		return nil
	})
	return r, failed
}

// SpaceBytes returns the frame of one space.
func SpaceBytes(h Handle, space int64) (bytes int64, failed *Error) {
	failed = solved(h, func(p *plan) *Error {
		if space < 0 || space >= int64(len(p.solution.Frames)) {
			return refuse(status.InvalidArgument, "there is no space %d; the plan has %d", space,
				len(p.solution.Frames))
		}
		bytes = p.solution.Frames[space].Bytes
		return nil
	})
	return bytes, failed
}

// Place is where a buffer lies.
type Place struct {
	Offset int64
	Space  int64
}

// PlaceOf returns where one buffer lies.
func PlaceOf(h Handle, buffer int64) (place Place, failed *Error) {
	failed = solved(h, func(p *plan) *Error {
		if _, err := p.buffer(buffer); err != nil {
			return err
		}
		place = Place{p.solution.Offsets[buffer], int64(p.solution.Space[buffer])}
		return nil
	})
	return place, failed
}

// Places gives visit the places of buffers 0 to n-1, which have to be all.
func Places(h Handle, n uint64, visit func(i uint64, p Place)) *Error {
	return solved(h, func(p *plan) *Error {
		if n != uint64(len(p.problem.Buffers)) {
			return refuse(status.InvalidArgument, "an array for %d buffers was passed; the plan has %d", n,
				len(p.problem.Buffers))
		}
		for i := range n {
			visit(i, Place{p.solution.Offsets[i], int64(p.solution.Space[i])})
		}
		return nil
	})
}

// Count returns how many buffers a plan has.
func Count(h Handle) (n int64, failed *Error) {
	failed = with(h, func(p *plan) *Error {
		n = int64(len(p.problem.Buffers))
		return nil
	})
	return n, failed
}
