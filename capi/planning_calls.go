package main

/*
#include "../cshim/entry_stack.h"

static int32_t tlc_plan_progress(uintptr_t f, const void* progress, uintptr_t ctx)
{
	return (int32_t)tlc_call_program(f, (uintptr_t)progress, ctx, 0, 0);
}
*/
import "C"

import (
	"math"
	"unsafe"

	"tlruntime/runtime/object"
	"tlruntime/runtime/offsets"
	"tlruntime/runtime/plans"
	"tlruntime/runtime/status"
)

// planOutcome records why a call of package planner failed.
func planOutcome(o *object.Context, err *plans.Error) status.Status {
	if err == nil {
		return status.OK
	}
	return o.Failf(err.Status, "%s", err.Text)
}

func indexOr(o *object.Context, index int64, err *plans.Error) int64 {
	if planOutcome(o, err) != status.OK {
		return -1
	}
	return index
}

func createPlan(o *object.Context, out uintptr) status.Status {
	if !usable(out) {
		return fail(o, status.InvalidArgument, "there is no out_plan to fill in")
	}
	h, err := plans.Create()
	store(out, uintptr(h))
	return planOutcome(o, err)
}

func addBuffers(o *object.Context, plan, n uintptr, request func(uint64) plans.Request) int64 {
	first, err := plans.Add(plans.Handle(plan), uint64(n), request)
	return indexOr(o, first, err)
}

func addBufferArray(o *object.Context, plan, buffers, n uintptr) int64 {
	const each = unsafe.Sizeof(tl_plan_buffer{})
	if n > 0 && !usable(buffers) {
		fail(o, status.InvalidArgument, "an array of %d buffers is needed; %#x is none", n, buffers)
		return -1
	}
	return addBuffers(o, plan, n, func(i uint64) plans.Request {
		b := load[tl_plan_buffer](buffers + uintptr(i)*each)
		return plans.Request{Bytes: uint64(b.Bytes), Alignment: uint64(b.Alignment), First: b.First, End: b.End}
	})
}

func namePlanBuffer(o *object.Context, plan uintptr, buffer int64, name uintptr) status.Status {
	given, named := text(name)
	if !named {
		return fail(o, status.InvalidArgument, "%#x is no name of up to %d bytes", name, maxString-1)
	}
	return planOutcome(o, plans.Name(plans.Handle(plan), buffer, given))
}

func setPlanSpaces(o *object.Context, plan uintptr, buffer int64, spaces, n uintptr) status.Status {
	if n > plans.MaxSpaces {
		return fail(o, status.InvalidArgument, "%d spaces are more than the %d that a plan can have", n,
			plans.MaxSpaces)
	}
	given, st := addresses(o, spaces, n)
	if st != status.OK {
		return st
	}
	list := make([]int64, len(given))
	for i, s := range given {
		list[i] = int64(s)
	}
	return planOutcome(o, plans.SetSpaces(plans.Handle(plan), buffer, list))
}

// oldPlanOptions is the size of tl_plan_options before it grew.
const oldPlanOptions = unsafe.Offsetof(tl_plan_options{}.TargetBytes)

func solvePlanWith(o *object.Context, plan, options uintptr) status.Status {
	if !usable(options) || load[uintptr](options) < oldPlanOptions {
		return fail(o, status.InvalidArgument, "options need a struct_size of sizeof(tl_plan_options)")
	}
	return solvePlan(o, plan, readStruct[tl_plan_options](options))
}

func solvePlan(o *object.Context, plan uintptr, options tl_plan_options) status.Status {
	switch {
	case options.BudgetMs < 0 || options.MaxSteps < 0:
		return fail(o, status.InvalidArgument, "a budget of %d ms and %d steps; neither can be negative",
			options.BudgetMs, options.MaxSteps)
	case options.Progress != 0 && !usable(options.Progress):
		return fail(o, status.InvalidArgument, "progress is %#x, which is no function; NULL is for none",
			options.Progress)
	}
	s := offsets.Options{Seed: options.Seed, MaxSteps: options.MaxSteps, Budget: plans.Budget(options.BudgetMs),
		Target: int64(min(options.TargetBytes, math.MaxInt64/2))}
	if options.Progress != 0 {
		s.Progress = func(p offsets.Progress) bool { return tellPlanProgress(&options, p) }
	}
	return planOutcome(o, plans.Solve(plans.Handle(plan), s))
}

// tellPlanProgress calls the program's function, and tells whether the search is to end.
func tellPlanProgress(options *tl_plan_options, p offsets.Progress) bool {
	state := tl_plan_progress{StructSize: unsafe.Sizeof(tl_plan_progress{}), FrameBytes: uintptr(p.Frame),
		LowerBound: uintptr(p.LowerBound), ElapsedMs: p.Elapsed.Milliseconds(), Steps: p.Steps}
	answer := C.tlc_plan_progress(C.uintptr_t(options.Progress), unsafe.Pointer(&state),
		C.uintptr_t(options.ProgressCtx))
	return answer != 0
}

func planSummary(o *object.Context, plan uintptr) plans.Result {
	r, err := plans.Summary(plans.Handle(plan))
	planOutcome(o, err)
	return r
}

func planOffsets(o *object.Context, plan, outOffsets, outSpaces, n uintptr) status.Status {
	if n > math.MaxInt32 || (n > 0 && !usable(outOffsets)) || !optional(outSpaces) {
		return fail(o, status.InvalidArgument, "arrays of %d elements are needed; %#x and %#x are none", n, outOffsets,
			outSpaces)
	}
	return planOutcome(o, plans.Places(plans.Handle(plan), uint64(n), func(i uint64, p plans.Place) {
		store(outOffsets+uintptr(i)*8, uintptr(p.Offset))
		if outSpaces != 0 {
			store(outSpaces+uintptr(i)*8, p.Space)
		}
	}))
}
