package plan

import (
	"math/bits"
	"time"

	"tlruntime/runtime/offsets"
)

// Options say what Build may do. The zero value does all it can to make the frame
// small, and leaves inputs and outputs in the caller's memory.
type Options struct {
	NoViews   bool // operators that only rearrange copy, instead of sharing their argument's buffer
	NoInPlace bool // no result takes over the buffer of an argument
	NoConcat  bool // Concat and Split copy, instead of sharing one buffer with their parts
	NoReorder bool // nodes stay in the order in which the graph has them

	PlaceInputs  bool // the computation's inputs have a place in the frame: who runs the plan copies them in
	PlaceOutputs bool // the computation's outputs have a place in the frame: who runs the plan copies them out

	// the plan has the constants of the graph, not copies of them: nobody may change either
	ShareConstants bool

	Alignment int64 // of the frame and of every buffer in it, in bytes; a power of two; 0 means 64

	// how long a plan may take: the work that is done without a budget comes first, and is cut short by it; the rest of
	// the time is for better offsets, of all frames that are tried together; 0: no limit but MaxSteps
	Budget time.Duration
	// when a plan has to be there, the best that was found; the zero time: never. It cuts work short like Budget, and
	// adds none
	Deadline time.Time
	// how many steps to look for better offsets; 0: as many as Budget allows, without one DefaultMaxSteps, fewer
	// for more than 100 buffers; negative: none
	MaxSteps int64
	Seed     uint64 // of the search for offsets
	// how many states the search for an order may visit; 0: order.DefaultStates, negative: none
	OrderSteps int

	// Scratch returns how many bytes of temporary memory an instruction needs, 0
	// for none; nil: none does. It is called several times for an instruction,
	// must give the same answer each time, and must not change its argument.
	Scratch func(*Instruction) int64

	bodies map[int][]Body // by node, planned, without their places
	alone  map[int]bool   // nodes whose result takes no argument's place
}

// DefaultMaxSteps bounds the search for the offsets of up to 100 buffers when
// Options does not.
const DefaultMaxSteps = 20000

const defaultAlignment = 64

// normal returns the options with the zero values replaced.
func (o Options) normal() (Options, error) {
	if o.Alignment == 0 {
		o.Alignment = defaultAlignment
	}
	if o.Alignment < 0 || bits.OnesCount64(uint64(o.Alignment)) != 1 {
		return o, errorf("Options.Alignment is %d; it must be a power of two", o.Alignment)
	}
	return o, nil
}

// search returns how long to look for offsets of so many buffers.
func (o *Options) search(buffers int) offsets.Options {
	s := offsets.Options{Seed: o.Seed, MaxSteps: o.MaxSteps, Budget: o.Budget}
	switch {
	case o.MaxSteps < 0:
		s.MaxSteps, s.Budget = 0, 0
	case o.MaxSteps == 0 && o.Budget == 0:
		s.MaxSteps = max(DefaultMaxSteps*100/int64(max(buffers, 100)), 100)
	}
	return s
}

// EndAfter makes the deadline so much time from now, unless it is earlier already; 0: it stays.
func (o *Options) EndAfter(budget time.Duration) {
	if end := now().Add(budget); budget > 0 && (o.Deadline.IsZero() || end.Before(o.Deadline)) {
		o.Deadline = end
	}
}

// Late reports whether the deadline has passed.
func (o *Options) Late() bool { return !o.Deadline.IsZero() && !now().Before(o.Deadline) }

// within ends a search for offsets with the deadline.
func (o *Options) within(s offsets.Options) offsets.Options {
	if o.Deadline.IsZero() {
		return s
	}
	if left := max(1, o.Deadline.Sub(now())); s.MaxSteps > 0 || s.Budget > left {
		s.Budget = left
	}
	return s
}

// portion is an equal part of a budget, if there is one.
func portion(budget time.Duration, parts int) time.Duration {
	if budget == 0 || parts == 0 {
		return 0
	}
	return max(1, budget/time.Duration(parts))
}

// placed reports whether buffers of this kind lie in the frame.
func (o *Options) placed(k Kind) bool {
	switch k {
	case Input:
		return o.PlaceInputs
	case Output:
		return o.PlaceOutputs
	}
	return k == Activation
}

// rounded returns bytes rounded up to the alignment.
func (o *Options) rounded(bytes int64) int64 {
	return (bytes + o.Alignment - 1) &^ (o.Alignment - 1)
}
