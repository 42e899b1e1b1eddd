// # Searching for a plan
//
// How long a plan's solution is searched for, what is wanted, and how the caller follows
// the search.
package main

/*
#include "../cshim/host/stack.h"

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

// tl_plan_progress tells how far the search for a solution is. In a plan with several
// spaces, frame and bound are those of the space that is being searched.
//
//	C: typedef struct tl_plan_progress {
//	    size_t struct_size;  /* sizeof(tl_plan_progress), of the library */
//	    size_t frame_bytes;  /* of the best solution so far; SIZE_MAX: there is none yet */
//	    size_t lower_bound;  /* no frame can be smaller */
//	    int64_t elapsed_ms;  /* since the call began */
//	    int64_t steps;       /* of the search, counted as max_steps is */
//	} tl_plan_progress;
const _ = "tl_plan_progress"

// tl_plan_progress_callback is called during tl_plan_solve_with, on the same
// thread: after each improvement, and otherwise about every 10 milliseconds, also
// before there is a solution. With a million buffers up to 50 milliseconds may pass
// between two calls, as some passes over all of them are not interrupted. The progress
// is valid during the call. Anything but 0 ends the search with the best solution so
// far; if there is none yet, the first pass over the buffers is finished, and its
// solution is the result. The callback must return normally. It cannot call this library, which
// answers TL_E_BUSY.
//
//	C: typedef int32_t (*tl_plan_progress_callback)(const tl_plan_progress* progress, void* ctx);
const _ = "tl_plan_progress_callback"

// tl_plan_options control the search for a solution. Set struct_size first.
// With neither steps nor time a fixed amount of work is done. A call with either
// does that work first, as far as the time allows, and then searches on: more of
// them never gives a larger frame. The same seed and number of steps give the same
// solution of a plan that was not solved before everywhere; when time ends the search,
// the solution may differ from run to run.
//
// target_bytes is a goal: without steps and time, too, the search goes on for up to
// a million steps until the frame is no larger, and with them it ends there. The
// capacity of a plan's only space is such a goal when no smaller one is given; with
// steps or time left, the search then goes on for a smaller frame. A target that
// is not reached is no failure.
//
// budget_cpu_ms bounds what the search does rather than how long it takes: while other
// programs use the processor, the search waits and loses nothing. elapsed_ms of the
// progress counts the same time then.
//
// The members after budget_ms were added later: struct_size may end before them.
//
//	C: typedef struct tl_plan_options {
//	    size_t struct_size; /* sizeof(tl_plan_options) */
//	    uint64_t seed;      /* of every random choice */
//	    int64_t max_steps;  /* placements and nodes of the search; 0: no bound but time */
//	    int64_t budget_ms;  /* milliseconds; 0: no bound but steps */
//	    size_t target_bytes; /* a frame of so many bytes is small enough; 0: none is */
//	    tl_plan_progress_callback progress; /* NULL: none */
//	    void* progress_ctx; /* handed to it */
//	    int64_t budget_cpu_ms; /* milliseconds that the processor works for this thread, instead of budget_ms; 0: no bound */
//	} tl_plan_options;
const _ = "tl_plan_options"

// tl_plan_solve places the buffers. With a budget of 0 milliseconds a fixed amount of
// work is done: milliseconds for a thousand buffers where that suffices, up to a
// quarter of a second for one to three thousand that are hard to place, and a few
// seconds for a million. With more, a search and an exact solver go on until the frame
// is proved to be minimal or the time is over. The time is a bound, but for what one
// pass over the buffers takes: half a second to a second for a million, about two where
// they have gaps, pins or several spaces. When the plan has one space of limited
// capacity, a solution that fits is searched for first, with a budget of 0 for up to a
// million steps, which take a minute or more for thousands of buffers that are hard to
// place. A plan of one space that was solved before, and changed since or not, begins at
// its last offsets: the frame is no larger for it, and found at once where they still fit.
//
//	C: tl_status tl_plan_solve(tl_plan* plan, int64_t budget_ms);
//
// Ownership: none.
// Threads: any thread; other calls for the plan wait.
// Returns: TL_OK, or why no solution was found; an earlier one stays.
// Errors: TL_E_INVALID_ARGUMENT (no such plan, a negative time, pins that collide, gaps
// that cover a whole life, sizes that add up to more than 2^61), TL_E_LIMIT (a buffer fits
// into none of its spaces; the message names it, and tl_plan_is_infeasible tells whether
// that is proved), TL_E_OUT_OF_MEMORY.
// Cost: slow call; what the budget allows.
//
//export tlgo_plan_solve
func tlgo_plan_solve(c, plan uintptr, budgetMs int64) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return solvePlan(o, plan, tl_plan_options{BudgetMs: budgetMs})
	})
}

// tl_plan_solve_with is tl_plan_solve with all options.
//
//	C: tl_status tl_plan_solve_with(tl_plan* plan, const tl_plan_options* options);
//
// Ownership: the options are only read.
// Threads: any thread; other calls for the plan wait.
// Returns: TL_OK, or why no solution was found; an earlier one stays.
// Errors: TL_E_INVALID_ARGUMENT (no such plan, no options, a struct_size that is too
// small, a negative number, both budgets, and as tl_plan_solve), TL_E_LIMIT (a buffer fits into none of
// its spaces; the message names it), TL_E_OUT_OF_MEMORY.
// Cost: slow call; what the budget allows.
//
//export tlgo_plan_solve_with
func tlgo_plan_solve_with(c, plan, options uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return solvePlanWith(o, plan, options) })
}

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
	case options.BudgetMs < 0 || options.MaxSteps < 0 || options.BudgetCpuMs < 0:
		return fail(o, status.InvalidArgument, "budgets of %d ms and %d ms of the processor, and %d steps; none can be negative",
			options.BudgetMs, options.BudgetCpuMs, options.MaxSteps)
	case options.BudgetMs > 0 && options.BudgetCpuMs > 0:
		return fail(o, status.InvalidArgument, "budgets of %d ms and %d ms of the processor; a search has one of them",
			options.BudgetMs, options.BudgetCpuMs)
	case options.Progress != 0 && !usable(options.Progress):
		return fail(o, status.InvalidArgument, "progress is %#x, which is no function; NULL is for none",
			options.Progress)
	}
	s := offsets.Options{Seed: options.Seed, MaxSteps: options.MaxSteps, Budget: plans.Budget(options.BudgetMs),
		Target: int64(min(options.TargetBytes, math.MaxInt64/2))}
	if options.Progress != 0 {
		s.Progress = func(p offsets.Progress) bool { return tellPlanProgress(&options, p) }
	}
	if options.BudgetCpuMs > 0 {
		s.Budget = plans.Budget(options.BudgetCpuMs)
		return planOutcome(o, plans.SolveByProcessor(plans.Handle(plan), s))
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
