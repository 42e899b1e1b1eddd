// # Planning
//
// A compiler that knows when each of its buffers is needed can place them all in one
// frame before the program runs, and take that frame with one call of
// tl_mem_frame_enter. A plan finds the offsets: a program adds buffers with
// sizes, alignments and lifetimes, and the plan computes an offset for each. No
// two buffers that are alive at the same time share a byte, and the frame is
// the smallest that the solver finds. With a budget the search goes on until
// the frame is proved to be the smallest one or the time is over.
//
//	tl_plan* plan;
//	tl_plan_create(&plan);
//	int64_t a = tl_plan_add_buffer(plan, 4096, 64, 0, 2);   // alive in steps 0 and 1
//	int64_t b = tl_plan_add_buffer(plan, 4096, 64, 1, 3);
//	int64_t c = tl_plan_add_buffer(plan, 4096, 64, 2, 4);
//	if (tl_plan_solve(plan, 100) == TL_OK)
//	    emit_frame(tl_plan_frame_bytes(plan), tl_plan_offset(plan, c)); // 8192 bytes: c lies where a lay
//	tl_plan_destroy(plan);
//
// Steps are numbers of the caller's own, such as those of instructions. A plan may
// be changed and solved again; a change discards the previous solution.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/plans"
	"tlruntime/runtime/status"
)

// tl_plan is the handle of a plan. It is not an address: nothing can be read
// there.
//
//	C: typedef struct tl_plan tl_plan;
const _ = "tl_plan"

// tl_plan_buffer is a buffer for tl_plan_add_buffers.
//
//	C: typedef struct tl_plan_buffer {
//	    size_t bytes;     /* may be 0 */
//	    size_t alignment; /* of its offset: a power of two; 0 for none */
//	    int64_t first;    /* alive in the steps first to end - 1 */
//	    int64_t end;
//	} tl_plan_buffer;
const _ = "tl_plan_buffer"

// tl_plan_create makes an empty plan.
//
//	C: tl_status tl_plan_create(tl_plan** out_plan);
//
// Ownership: the caller ends the plan with tl_plan_destroy.
// Threads: any thread; calls for one plan take turns.
// Returns: TL_OK and the plan in *out_plan, or why none was made.
// Errors: TL_E_INVALID_ARGUMENT (no out_plan), TL_E_LIMIT (65,536 plans),
// TL_E_OUT_OF_MEMORY.
//
//export tlgo_plan_create
func tlgo_plan_create(c, outPlan uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return createPlan(o, outPlan) })
}

// tl_plan_destroy ends a plan.
//
//	C: tl_status tl_plan_destroy(tl_plan* plan);
//
// Ownership: takes the plan.
// Returns: TL_OK, also for NULL, or why nothing was done.
// Errors: TL_E_INVALID_ARGUMENT (no such plan).
//
//export tlgo_plan_destroy
func tlgo_plan_destroy(c, plan uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		if plan == 0 {
			return status.OK
		}
		return planOutcome(o, plans.Destroy(plans.Handle(plan)))
	})
}

// tl_plan_add_buffer adds a buffer that is alive in the steps first to end - 1.
//
//	C: int64_t tl_plan_add_buffer(tl_plan* plan, size_t bytes, size_t alignment, int64_t first, int64_t end);
//
// Ownership: none.
// Returns: the buffer's index: 0, 1, 2, ...; -1 on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such plan, an alignment that is not a power of two,
// end is not above first), TL_E_OVERFLOW (more bytes than any memory has), TL_E_LIMIT
// (16,777,216 buffers), TL_E_OUT_OF_MEMORY.
// Cost: slow call; tl_plan_add_buffers adds many with one.
// Fails: -1.
//
//export tlgo_plan_add_buffer
func tlgo_plan_add_buffer(c, plan, bytes, alignment uintptr, first, end int64) int64 {
	return guarded(c, int64(-1), func(o *object.Context) int64 {
		return addBuffers(o, plan, 1, func(uint64) plans.Request {
			return plans.Request{Bytes: uint64(bytes), Alignment: uint64(alignment), First: first, End: end}
		})
	})
}

// tl_plan_add_buffers adds n buffers, or none when one of them is refused.
//
//	C: int64_t tl_plan_add_buffers(tl_plan* plan, const tl_plan_buffer* buffers, size_t n);
//
// Ownership: the array is only read.
// Returns: the index of the first one, the others follow; -1 on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such plan, no array, or what tl_plan_add_buffer
// refuses), TL_E_OVERFLOW (more bytes than any memory has), TL_E_LIMIT (16,777,216
// buffers), TL_E_OUT_OF_MEMORY.
// Cost: slow call; about 20 ns for each.
// Fails: -1.
//
//export tlgo_plan_add_buffers
func tlgo_plan_add_buffers(c, plan, buffers, n uintptr) int64 {
	return guarded(c, int64(-1), func(o *object.Context) int64 { return addBufferArray(o, plan, buffers, n) })
}

// tl_plan_resize gives a buffer another size. A plan that is changed and solved again
// begins at its last offsets: for thousands of plans that are nearly the same, as of a
// search for the sizes of tiles, one plan that is resized is quicker than new ones.
//
//	C: tl_status tl_plan_resize(tl_plan* plan, int64_t buffer, size_t bytes);
//
// Ownership: none.
// Returns: TL_OK, or why nothing was changed.
// Errors: TL_E_INVALID_ARGUMENT (no such plan or buffer, one that would not fit into its
// base, or would not hold its aliases), TL_E_OVERFLOW (more bytes than any memory has).
// Cost: slow call; looks at all buffers.
//
//export tlgo_plan_resize
func tlgo_plan_resize(c, plan uintptr, buffer int64, bytes uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return planOutcome(o, plans.Resize(plans.Handle(plan), buffer, uint64(bytes)))
	})
}

// tl_plan_set_hint says where a buffer may well lie in the next solution, such as its
// offset in the plan of a program that is much like this one. The search begins there,
// else at the buffer's last offset; it may end elsewhere. The frame is no larger than
// without hints, unless a target ends the search at them. A plan of several spaces
// does not look at hints.
//
//	C: tl_status tl_plan_set_hint(tl_plan* plan, int64_t buffer, size_t offset);
//
// Ownership: none.
// Returns: TL_OK, or why nothing was changed. A solution stays.
// Errors: TL_E_INVALID_ARGUMENT (no such plan or buffer).
//
//export tlgo_plan_set_hint
func tlgo_plan_set_hint(c, plan uintptr, buffer int64, offset uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return planOutcome(o, plans.Hint(plans.Handle(plan), buffer, uint64(offset)))
	})
}

// tl_plan_alias places a buffer inside another one, the base, as a view: offset
// bytes after the start of the base. The base stays alive as long as either is.
// It may be an alias itself. Sizes and alignments have to permit the place.
//
//	C: tl_status tl_plan_alias(tl_plan* plan, int64_t buffer, int64_t base, size_t offset);
//
// Ownership: none.
// Returns: TL_OK, or why nothing was changed.
// Errors: TL_E_INVALID_ARGUMENT (no such plan or buffers, the buffer is not inside its
// base at that offset or is pinned, or each would lie in the other).
//
//export tlgo_plan_alias
func tlgo_plan_alias(c, plan uintptr, buffer, base int64, offset uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return planOutcome(o, plans.Alias(plans.Handle(plan), buffer, base, uint64(offset)))
	})
}

// tl_plan_pin fixes the offset of a buffer. In a plan with spaces, offset
// refers to the first space that the buffer may lie in.
//
//	C: tl_status tl_plan_pin(tl_plan* plan, int64_t buffer, size_t offset);
//
// Ownership: none.
// Returns: TL_OK, or why nothing was changed.
// Errors: TL_E_INVALID_ARGUMENT (no such plan or buffer, an alias, an offset that is
// not a multiple of the alignment), TL_E_OVERFLOW (an offset that no memory has).
//
//export tlgo_plan_pin
func tlgo_plan_pin(c, plan uintptr, buffer int64, offset uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return planOutcome(o, plans.Pin(plans.Handle(plan), buffer, uint64(offset)))
	})
}

// tl_plan_add_gap tells the plan that nobody needs the contents of a buffer in
// the steps first to end - 1. Other buffers may use its bytes in these steps.
// Afterwards the buffer is at its offset again.
//
//	C: tl_status tl_plan_add_gap(tl_plan* plan, int64_t buffer, int64_t first, int64_t end);
//
// Ownership: none.
// Returns: TL_OK, or why nothing was changed.
// Errors: TL_E_INVALID_ARGUMENT (no such plan or buffer, steps in which the buffer is
// not alive), TL_E_OUT_OF_MEMORY.
//
//export tlgo_plan_add_gap
func tlgo_plan_add_gap(c, plan uintptr, buffer, first, end int64) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return planOutcome(o, plans.AddGap(plans.Handle(plan), buffer, first, end))
	})
}

// tl_plan_set_name sets the name that messages use for a buffer.
//
//	C: tl_status tl_plan_set_name(tl_plan* plan, int64_t buffer, const char* name);
//
// Ownership: the name is copied.
// Returns: TL_OK, or why nothing was changed.
// Errors: TL_E_INVALID_ARGUMENT (no such plan or buffer, no name or one above 4095 bytes),
// TL_E_OUT_OF_MEMORY.
//
//export tlgo_plan_set_name
func tlgo_plan_set_name(c, plan uintptr, buffer int64, name uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return namePlanBuffer(o, plan, buffer, name) })
}

// tl_plan_add_space adds a space: memory with offsets of its own, such as a
// bank of a device. A plan to which no space was added has one of unlimited
// capacity.
//
//	C: int64_t tl_plan_add_space(tl_plan* plan, size_t capacity);
//
// Ownership: none.
// Returns: the space's index: 0, 1, 2, ...; -1 on failure. A capacity of 0 means no
// limit.
// Errors: TL_E_INVALID_ARGUMENT (no such plan), TL_E_LIMIT (1024 spaces),
// TL_E_OUT_OF_MEMORY.
// Fails: -1.
//
//export tlgo_plan_add_space
func tlgo_plan_add_space(c, plan, capacity uintptr) int64 {
	return guarded(c, int64(-1), func(o *object.Context) int64 {
		space, err := plans.AddSpace(plans.Handle(plan), uint64(capacity))
		return indexOr(o, space, err)
	})
}

// tl_plan_set_space_alignment sets the alignment of a space. A buffer has the largest of
// its own alignment and those of the spaces that it may lie in.
//
//	C: tl_status tl_plan_set_space_alignment(tl_plan* plan, int64_t space, size_t alignment);
//
// Ownership: none.
// Returns: TL_OK, or why nothing was changed. An alignment of 0 means none.
// Errors: TL_E_INVALID_ARGUMENT (no such plan or space, an alignment that is no power of
// two).
//
//export tlgo_plan_set_space_alignment
func tlgo_plan_set_space_alignment(c, plan uintptr, space int64, alignment uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return planOutcome(o, plans.AlignSpace(plans.Handle(plan), space, uint64(alignment)))
	})
}

// tl_plan_set_spaces says which spaces a buffer may lie in, the preferred one first:
// it goes into a later one when the earlier ones are full. Without this call
// the buffer may lie in any space, in their order.
//
//	C: tl_status tl_plan_set_spaces(tl_plan* plan, int64_t buffer, const int64_t* spaces, size_t n);
//
// Ownership: the array is only read.
// Returns: TL_OK, or why nothing was changed.
// Errors: TL_E_INVALID_ARGUMENT (no such plan, buffer or space, or no array),
// TL_E_OUT_OF_MEMORY.
//
//export tlgo_plan_set_spaces
func tlgo_plan_set_spaces(c, plan uintptr, buffer int64, spaces, n uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return setPlanSpaces(o, plan, buffer, spaces, n) })
}

// tl_plan_validate checks the solution pair by pair, with a checker that is
// independent of the solver.
//
//	C: tl_status tl_plan_validate(const tl_plan* plan);
//
// Ownership: none.
// Returns: TL_OK when no two buffers that are alive together share a byte, all lie in
// their frames, and pins, aliases and alignments hold; else the solution has a
// defect, which is one of this library, and the message names it.
// Errors: TL_E_INVALID_ARGUMENT (no such plan, or it has no solution), TL_E_OUT_OF_MEMORY.
// Cost: slow call; grows with the square of the number of buffers.
//
//export tlgo_plan_validate
func tlgo_plan_validate(c, plan uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return planOutcome(o, plans.Validate(plans.Handle(plan)))
	})
}

// tl_plan_num_buffers returns how many buffers the plan has.
//
//	C: int64_t tl_plan_num_buffers(const tl_plan* plan);
//
// Ownership: none.
// Returns: the number; -1 on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such plan).
// Fails: -1.
//
//export tlgo_plan_num_buffers
func tlgo_plan_num_buffers(c, plan uintptr) int64 {
	return guarded(c, int64(-1), func(o *object.Context) int64 {
		n, err := plans.Count(plans.Handle(plan))
		return indexOr(o, n, err)
	})
}

// tl_plan_frame_bytes returns the size of the frame, in a plan with several
// spaces the sum of the sizes.
//
//	C: size_t tl_plan_frame_bytes(const tl_plan* plan);
//
// Ownership: none.
// Returns: bytes; 0 on failure, with the status set.
// Errors: TL_E_INVALID_ARGUMENT (no such plan, or it has no solution).
//
//export tlgo_plan_frame_bytes
func tlgo_plan_frame_bytes(c, plan uintptr) uintptr {
	return guarded(c, uintptr(0), func(o *object.Context) uintptr { return uintptr(planSummary(o, plan).FrameBytes) })
}

// tl_plan_space_bytes returns the size of the frame in one space.
//
//	C: size_t tl_plan_space_bytes(const tl_plan* plan, int64_t space);
//
// Ownership: none.
// Returns: bytes; 0 on failure, with the status set.
// Errors: TL_E_INVALID_ARGUMENT (no such plan or space, or there is no solution).
//
//export tlgo_plan_space_bytes
func tlgo_plan_space_bytes(c, plan uintptr, space int64) uintptr {
	return guarded(c, uintptr(0), func(o *object.Context) uintptr {
		bytes, err := plans.SpaceBytes(plans.Handle(plan), space)
		planOutcome(o, err)
		return uintptr(bytes)
	})
}

// tl_plan_lower_bound returns a lower bound for the size of the frame: the most
// bytes that are alive in one step, or a higher bound if the solver found one. Of
// several spaces it is the sum of these bounds for the buffers that each space has
// been given: another choice of spaces may undercut it.
//
//	C: size_t tl_plan_lower_bound(const tl_plan* plan);
//
// Ownership: none.
// Returns: bytes; 0 on failure, with the status set.
// Errors: TL_E_INVALID_ARGUMENT (no such plan, or it has no solution).
//
//export tlgo_plan_lower_bound
func tlgo_plan_lower_bound(c, plan uintptr) uintptr {
	return guarded(c, uintptr(0), func(o *object.Context) uintptr { return uintptr(planSummary(o, plan).LowerBound) })
}

// tl_plan_is_optimal tells whether the frame is proved to be the smallest
// possible.
//
//	C: bool tl_plan_is_optimal(const tl_plan* plan);
//
// Ownership: none.
// Returns: true when that is proved; false when it is not known, and on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such plan, or it has no solution).
//
//export tlgo_plan_is_optimal
func tlgo_plan_is_optimal(c, plan uintptr) bool {
	return guarded(c, false, func(o *object.Context) bool { return planSummary(o, plan).Optimal })
}

// tl_plan_is_infeasible tells whether tl_plan_solve has proved that the plan's spaces
// cannot hold its buffers, however they are placed. When it is false after
// TL_E_LIMIT, more steps or time may find a solution.
//
//	C: bool tl_plan_is_infeasible(const tl_plan* plan);
//
// Ownership: none.
// Returns: true when that is proved for the plan as it is; false when it is not known,
// and on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such plan).
//
//export tlgo_plan_is_infeasible
func tlgo_plan_is_infeasible(c, plan uintptr) bool {
	return guarded(c, false, func(o *object.Context) bool {
		proved, err := plans.Infeasible(plans.Handle(plan))
		return planOutcome(o, err) == status.OK && proved
	})
}

// tl_plan_offset returns the offset of a buffer in its frame.
//
//	C: size_t tl_plan_offset(const tl_plan* plan, int64_t buffer);
//
// Ownership: none.
// Returns: bytes; SIZE_MAX on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such plan or buffer, or there is no solution).
// Cost: slow call; tl_plan_offsets returns all of them with one.
// Fails: SIZE_MAX.
//
//export tlgo_plan_offset
func tlgo_plan_offset(c, plan uintptr, buffer int64) uintptr {
	return guarded(c, ^uintptr(0), func(o *object.Context) uintptr {
		place, err := plans.PlaceOf(plans.Handle(plan), buffer)
		if planOutcome(o, err) != status.OK {
			return ^uintptr(0)
		}
		return uintptr(place.Offset)
	})
}

// tl_plan_space_of returns the space that a buffer lies in.
//
//	C: int64_t tl_plan_space_of(const tl_plan* plan, int64_t buffer);
//
// Ownership: none.
// Returns: the space's index, 0 in a plan without spaces; -1 on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such plan or buffer, or there is no solution).
// Fails: -1.
//
//export tlgo_plan_space_of
func tlgo_plan_space_of(c, plan uintptr, buffer int64) int64 {
	return guarded(c, int64(-1), func(o *object.Context) int64 {
		place, err := plans.PlaceOf(plans.Handle(plan), buffer)
		return indexOr(o, place.Space, err)
	})
}

// tl_plan_offsets writes the offsets of all buffers, and their spaces where
// out_spaces is not NULL.
//
//	C: tl_status tl_plan_offsets(const tl_plan* plan, size_t* out_offsets, int64_t* out_spaces, size_t n);
//
// Ownership: the arrays are the caller's, of n elements each.
// Returns: TL_OK, or why nothing was written.
// Errors: TL_E_INVALID_ARGUMENT (no such plan, there is no solution, n is not the
// number of buffers, no array).
// Cost: slow call; about 2 ns for each.
//
//export tlgo_plan_offsets
func tlgo_plan_offsets(c, plan, outOffsets, outSpaces, n uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return planOffsets(o, plan, outOffsets, outSpaces, n)
	})
}
