// Package plan turns a checked computation graph into an execution plan: a list
// of instructions in strict order, each with the buffers it reads and writes, and
// a place for every buffer in one frame.
//
//	plan.go, operator.go, options.go          what a plan is, the operators that are added, what may be chosen
//	build.go, check.go, program.go            a graph that was checked, on its way to a plan
//	layout.go, meaning.go, rearrange.go       which values share memory, by what their elements are
//	inplace.go, wishes.go, chain.go           results over arguments; values that lie where a view of them wants it
//	lifetime.go, nest.go, overlap.go          first and last steps; storage in storage; views that do not meet
//	frame.go, instructions.go                 the places of the buffers, and the instructions
//	refine.go, reorder.go, draft.go           other layouts, other orders, variants of a graph
//	bodies.go, ports.go                       branches and loops
//	arena.go, ways.go                         several computations in one arena
//	sizing.go, symbolic.go, fit.go, again.go  sizes that are known at run time
//	simulate.go                               a plan, run on tags instead of elements
//	validate.go, validate_arena.go            the validator
package plan

import (
	"tlruntime/compiler/graph"
	"tlruntime/compiler/view"
)

// ExecutionPlan is what a computation does and where its tensors lie. It owns all
// it holds, unless Options.ShareConstants. A plan does not change after Build returns it and may be read by any
// number of goroutines.
type ExecutionPlan struct {
	Name         string
	Instructions []Instruction
	Buffers      []Buffer
	Inputs       []Operand // of the computation, in the order in which the graph declares them
	Outputs      []Operand
	Symbols      map[string]int64 // what each symbol of the graph's shapes was bound to
	Frame        Frame
	Outside      int64     // bytes of the second space, in which buffers of Kind Outside lie; 0: there is none
	Derived      []Derived // values without an instruction of their own
	Symbolic     *Symbolic // sizes and places as functions of the symbols; nil: they are not known
}

// Derived is a value that no instruction computes as a whole: a view of one value,
// or a concatenation whose parts were written where they belong.
type Derived struct {
	Value string
	From  []string // where its elements come from
}

// Instruction is one operator at work. Operands keep the order of the operator's
// arguments. A node whose result is only a view of its argument has none.
type Instruction struct {
	Node    string // name of the node it came from
	Op      string // operator, in the normal form of package graph
	Attrs   graph.Attrs
	Inputs  []Operand // Buffer -1: the argument was left out
	Outputs []Operand // Buffer -1: nobody asked for this result
	Scratch *Operand  // temporary memory, bytes without a meaning before and after; nil for none
	Bodies  []Body    // of an operator that runs graphs
}

// Operand is a tensor in a buffer: which, and how its elements lie in it.
type Operand struct {
	Name   string // of the graph's value
	Buffer int    // index into ExecutionPlan.Buffers
	View   view.View
}

// Kind tells whose memory a buffer is.
type Kind uint8

// The kinds of buffers.
const (
	Activation Kind = iota // in the frame
	Input                  // the caller's, read only; in the frame when Options.PlaceInputs is set
	Output                 // the caller's; written
	Constant               // the caller's or the module's, read only
	State                  // in an Arena, where it keeps its content between calls; read and written
	Outside                // in the second space: values that were moved out of the frame
)

// Buffer is memory that operands lie in.
type Buffer struct {
	Name  string // of the value it was made for
	Kind  Kind
	DType graph.DType
	Shape []int64 // of that value; its elements fill the buffer row by row
	Bytes int64

	// First and Last are the first and the last instruction that touches the
	// buffer. A buffer that is alive before the first instruction has First -1,
	// one that is alive after the last has Last len(Instructions).
	First, Last int

	Offset   int64         // in the frame, in bytes; -1 when it is not there
	Outside  int64         // for Kind Outside: where it lies in the second space, in bytes
	Constant *graph.Tensor // content, for Kind Constant
	Values   []string      // all values of the graph that lie in it: views, results in place, parts
}

// Frame is where the buffers of a plan lie.
type Frame struct {
	Bytes      int64 // of the whole frame
	Alignment  int64 // of the frame and of every offset
	LowerBound int64 // no placement of these buffers is smaller
	Optimal    bool  // proved: no placement is smaller
	NaiveBytes int64 // what a buffer for each value would take, without any reuse
	Order      Order
}

// Order tells how the order of the instructions was found.
type Order struct {
	GivenPeak int64 // highest number of live bytes in the graph's own order
	Peak      int64 // the same in this plan's
	Proved    bool  // no order has a lower peak
}
