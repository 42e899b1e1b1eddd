// # Searching for a plan
//
// How long a plan's solution is searched for, what is wanted, and how the caller follows
// the search.
package main

import "C"

import (
	"tlruntime/runtime/object"
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
type tl_plan_progress struct {
	StructSize uintptr
	FrameBytes uintptr
	LowerBound uintptr
	ElapsedMs  int64
	Steps      int64
}

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
// solution everywhere; when time ends the search, the solution may differ from run
// to run.
//
// target_bytes is a goal: without steps and time, too, the search goes on for up to
// a million steps until the frame is no larger, and with them it ends there. The
// capacity of a plan's only space is such a goal when no smaller one is given; with
// steps or time left, the search then goes on for a smaller frame. A target that
// is not reached is no failure.
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
//	} tl_plan_options;
type tl_plan_options struct {
	StructSize  uintptr
	Seed        uint64
	MaxSteps    int64
	BudgetMs    int64
	TargetBytes uintptr
	Progress    uintptr
	ProgressCtx uintptr
}

// tl_plan_solve places the buffers. With a budget of 0 milliseconds a fixed amount of
// work is done: milliseconds for a thousand buffers where that suffices, up to a
// quarter of a second for one to three thousand that are hard to place, and a few
// seconds for a million. With more, a search and an exact solver go on until the frame
// is proved to be minimal or the time is over. The time is a bound, but for what one
// pass over the buffers takes: half a second to a second for a million, about two where
// they have gaps, pins or several spaces. When the plan has one space of limited
// capacity, a solution that fits is searched for first, with a budget of 0 for up to a
// million steps, which take a minute or more for thousands of buffers that are hard to
// place.
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
// small, a negative number, and as tl_plan_solve), TL_E_LIMIT (a buffer fits into none of
// its spaces; the message names it), TL_E_OUT_OF_MEMORY.
// Cost: slow call; what the budget allows.
//
//export tlgo_plan_solve_with
func tlgo_plan_solve_with(c, plan, options uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return solvePlanWith(o, plan, options) })
}
