// Package offsets places buffers whose lifetimes are known at offsets in as
// little memory as possible: dynamic storage allocation, offline. Two buffers
// that are alive at the same time never share a byte; the largest offset + size
// of a space is its frame, and that is what is minimised.
//
// The package computes numbers. It owns no memory, starts no goroutine, and
// imports nothing of the runtime.
//
// Solve is a portfolio, cheapest first, that ends as soon as a frame equals its
// lower bound:
//
//   - placement by sweeps, by several orders and by skyline;
//   - mending of what sticks out, by guided ejection search;
//   - the same search of all items below a falling limit, in turns with
//   - branch and bound over canonical placements with restarts, which finds frames
//     that no order found, and proves that none is smaller. Without Options it has
//     a small fixed number of nodes.
//
// For one problem, seed and number of steps the answer is the same on every
// machine; only Options.Budget, being time, is not.
package offsets

import (
	"fmt"
	"time"
)

// Interval is the half-open range of steps [First, End).
type Interval struct {
	First int64 `json:"first"`
	End   int64 `json:"end"`
}

// Buffer is one request. Its zero value with Bytes and a lifetime is complete.
type Buffer struct {
	// Bytes is its size; 0 is valid and conflicts with nothing.
	Bytes int64 `json:"bytes"`
	// Alignment of its offset: a power of two, 0 means 1.
	Alignment int64 `json:"alignment,omitempty"`
	// First and End: it is alive in the steps [First, End), at least one.
	First int64 `json:"first"`
	End   int64 `json:"end"`
	// Gaps lie inside [First, End), in any order. Inside one the contents are not
	// needed, so others may use the bytes; afterwards the buffer is back at the
	// same offset.
	Gaps []Interval `json:"gaps,omitempty"`
	// Alias says that this buffer lies inside the buffer with index Base, at
	// BaseOffset bytes from its start. It may itself be the base of others. The
	// base stays alive as long as any of its aliases, the steps between them
	// included, except where somebody's gap covers steps in which none is alive.
	Alias      bool  `json:"alias,omitempty"`
	Pinned     bool  `json:"pinned,omitempty"`
	Base       int   `json:"base,omitempty"`
	BaseOffset int64 `json:"baseOffset,omitempty"`
	// Offset is where a Pinned buffer must lie, in the first of its Spaces.
	Offset int64 `json:"offset,omitempty"`
	// Spaces are the indices of the spaces that it may lie in, the preferred one
	// first; none means any, in their order. An alias lies where its base does
	// and names none.
	Spaces []int `json:"spaces,omitempty"`
	// Name is for messages alone.
	Name string `json:"name,omitempty"`
}

// Space is memory that has offsets of its own.
type Space struct {
	// Capacity in bytes that its frame may not pass; 0 is unlimited.
	Capacity int64 `json:"capacity,omitempty"`
	// Alignment of all that may lie in it, beside the buffers' own: a power of two, 0 means 1.
	Alignment int64 `json:"alignment,omitempty"`
	// Name is for messages alone.
	Name string `json:"name,omitempty"`
}

// Problem is what Solve places. It is only read.
type Problem struct {
	Buffers []Buffer `json:"buffers"`
	// Spaces that there are; none means one that is unlimited.
	Spaces []Space `json:"spaces,omitempty"`
}

// Options bound the search. With neither steps nor time a fixed amount of work is
// done. A search with either does that work first, and then goes on: more steps never
// give a larger frame, and neither does more time.
type Options struct {
	// Seed of every random choice.
	Seed uint64 `json:"seed,omitempty"`
	// MaxSteps ends the search after so many steps, as Solution.Steps counts them; 0
	// leaves the end to Budget.
	MaxSteps int64 `json:"maxSteps,omitempty"`
	// Budget ends the search after so much time; 0 leaves the end to MaxSteps.
	// An answer that time cut short may differ from run to run.
	Budget time.Duration `json:"budget,omitempty"`
	// Target ends the search at a frame of so many bytes or fewer; 0 goes on to the
	// lower bound. Without steps and time the search takes up to a million steps to reach
	// it. The capacity of a single space is reached likewise before anything else, if no
	// smaller target is given. It is for problems of one space.
	Target int64 `json:"target,omitempty"`
	// Start has for each buffer where it lay in a placement of a problem that is much like this one, -1 where nobody
	// knows; nil: nobody knows of any. When it fits, it is found at once. The answer is no worse for it, but where it
	// reaches Target the search ends there. For problems of one space; with several it is not looked at.
	Start []int64 `json:"start,omitempty"`
	// Clock is what Budget is measured by; nil: the time of day. That of the thread's processor is for callers that
	// stay on their thread.
	Clock func() time.Time `json:"-"`
	// Progress is called after each improvement, and otherwise about every 10 ms. When it
	// returns true the search ends with the best placement so far; while there is none,
	// with that of the cheapest pass.
	Progress func(Progress) (stop bool) `json:"-"`
	// Without leaves parts of the search out, to measure what each is good for.
	Without Part `json:"-"`
}

// SpaceResult is what one space needs.
type SpaceResult struct {
	// Bytes of the frame: the largest offset + size in this space.
	Bytes int64 `json:"bytes"`
	// LowerBound is what no placement of the same buffers in this space can
	// undercut.
	LowerBound int64 `json:"lowerBound"`
}

// Solution has one offset and one space for every buffer, in their order.
type Solution struct {
	Offsets []int64 `json:"offsets"`
	Space   []int   `json:"space"`
	// Frames has one result for every space.
	Frames []SpaceResult `json:"frames"`
	// Optimal says that the frames are proved to be minimal, and every buffer
	// lies in the space that it prefers.
	Optimal bool `json:"optimal"`
	// Steps that the search took: a node of the tree is one, and so are 64 buffers
	// placed by an order.
	Steps int64 `json:"steps"`
	// Method names what found the answer, for reports.
	Method string `json:"method"`
}

// FrameBytes is the sum of the frames of all spaces.
func (s *Solution) FrameBytes() int64 {
	sum := int64(0)
	for _, f := range s.Frames {
		sum += f.Bytes
	}
	return sum
}

// LowerBound is the sum of the lower bounds of all spaces. It is one of the frame where there is one space: of several
// it bounds the buffers that each has been given.
func (s *Solution) LowerBound() int64 {
	sum := int64(0)
	for _, f := range s.Frames {
		sum += f.LowerBound
	}
	return sum
}

// InputError is a problem that means nothing.
type InputError struct {
	// Buffer is the index of the buffer at fault, -1 when it is a space.
	Buffer int
	// Name of the buffer or the space.
	Name string
	// Reason says what was found and what to do.
	Reason string
}

func (e *InputError) Error() string {
	if e.Buffer < 0 {
		return "offsets: " + e.Reason
	}
	return fmt.Sprintf("offsets: buffer %d%s: %s", e.Buffer, quoted(e.Name), e.Reason)
}

// LimitError is a buffer that found no place in any of its spaces.
type LimitError struct {
	// Buffer is the index of the buffer, Name its name.
	Buffer int
	Name   string
	// Bytes is its size, aliases merged.
	Bytes int64
	// Space is the index of the last space that was tried, Capacity its capacity.
	Space    int
	Capacity int64
	// Needed is the smallest frame that was found for that space with the buffer.
	Needed int64
	// Proved says that no placement at all fits; otherwise none was found, and
	// more steps might find one.
	Proved bool
	reason string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("offsets: buffer %d%s: %s", e.Buffer, quoted(e.Name), e.reason)
}

// quoted is a name in the middle of a message.
func quoted(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", name)
}
