//go:build full

package main

import (
	"maps"
	"slices"
	"unsafe"

	"tlruntime/compiler/plan"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// symbols lists those of the graph's shapes by name, with the numbers that the plan is for.
func (e *execution) symbols() []plan.Symbol {
	if e.plan.Symbolic != nil {
		return e.plan.Symbolic.Symbols
	}
	var list []plan.Symbol
	for _, name := range slices.Sorted(maps.Keys(e.plan.Symbols)) {
		list = append(list, plan.Symbol{Name: name, From: e.plan.Symbols[name], To: e.plan.Symbols[name]})
	}
	return list
}

func executionSymbol(o *object.Context, h uintptr, symbol int64, out uintptr) status.Status {
	return executions.with(o, h, func(e *execution) status.Status {
		list := e.symbols()
		if symbol < 0 || symbol >= int64(len(list)) {
			return outside(o, "symbol", symbol, len(list))
		}
		return fillStruct(o, out, "tl_execution_symbol", func() tl_execution_symbol {
			s := &list[symbol]
			return tl_execution_symbol{Name: e.text(s.Name), First: s.From, Last: s.To}
		})
	})
}

// placesOut are the addresses of what tl_execution_get_places fills in.
type placesOut struct{ frame, offsets, bytes, n uintptr }

func executionPlaces(o *object.Context, h uintptr, numbers addressList, out placesOut) status.Status {
	e := executions.find(o, h)
	if e == nil {
		return status.InvalidArgument
	}
	if st := e.checkPlaces(o, numbers, out); st != status.OK {
		return st
	}
	list := make([]int64, numbers.n)
	for i := range list {
		list[i] = load[int64](numbers.at + uintptr(i)*8)
	}
	frame, offsets, err := e.plan.Places(list)
	if err != nil {
		return invalid(o, err)
	}
	sizes, err := e.plan.BufferSizes(list)
	if err != nil {
		return invalid(o, err)
	}
	if out.frame != 0 {
		store(out.frame, uintptr(frame))
	}
	for i := range offsets {
		if out.offsets != 0 {
			store(out.offsets+uintptr(i)*8, offsets[i])
		}
		if out.bytes != 0 {
			store(out.bytes+uintptr(i)*unsafe.Sizeof(out.bytes), uintptr(sizes[i]))
		}
	}
	return status.OK
}

// checkPlaces refuses arrays of other lengths, and what is no address.
func (e *execution) checkPlaces(o *object.Context, numbers addressList, out placesOut) status.Status {
	buffers := uintptr(len(e.plan.Buffers))
	switch {
	case e.plan.Symbolic == nil:
		return fail(o, status.InvalidArgument, "the plan is for one number of each symbol; plan with "+
			"TL_GRAPH_FLAG_SYMBOLIC for all up to a bound")
	case numbers.n != uintptr(len(e.plan.Symbols)):
		return fail(o, status.InvalidArgument, "%d numbers were passed; there are %d symbols", numbers.n,
			len(e.plan.Symbols))
	case numbers.n > 0 && !usable(numbers.at):
		return fail(o, status.InvalidArgument, "an array of %d numbers is needed; %#x is none", numbers.n, numbers.at)
	case (out.offsets != 0 || out.bytes != 0) && out.n != buffers:
		return fail(o, status.InvalidArgument, "there is room for %d buffers; there are %d", out.n, buffers)
	}
	for _, at := range []uintptr{out.frame, out.offsets, out.bytes} {
		if !optional(at) {
			return fail(o, status.InvalidArgument, "%#x is no address to fill in; NULL is for what is not wanted", at)
		}
	}
	return status.OK
}
