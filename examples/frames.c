/* What a compiler emits for a function with buffers: offsets from the solver, and one call that takes them all. */
#include <stdio.h>
#include <tl_runtime.h>

/* Where the buffers of one function lie. A compiler computes this once and emits the numbers. */
typedef struct layout {
	size_t frame_bytes, input, hidden, output;
} layout;

static tl_status plan_frame(layout* out)
{
	tl_plan* plan;
	tl_status status = tl_plan_create(&plan);
	if (status != TL_OK) return status;
	/* bytes, alignment, first step, and the step after the last one */
	int64_t input = tl_plan_add_buffer(plan, 4096, 64, 0, 2);
	int64_t hidden = tl_plan_add_buffer(plan, 1024, 64, 1, 3);
	int64_t output = tl_plan_add_buffer(plan, 4096, 64, 2, 4);
	status = tl_plan_solve(plan, 100); /* milliseconds at most */
	if (status == TL_OK)
		*out = (layout){tl_plan_frame_bytes(plan), tl_plan_offset(plan, input), tl_plan_offset(plan, hidden),
		                tl_plan_offset(plan, output)};
	tl_plan_destroy(plan);
	return status;
}

int main(void)
{
	layout at;
	if (plan_frame(&at) != TL_OK) {
		fprintf(stderr, "%s\n", tl_last_error());
		return 1;
	}
	printf("9216 bytes of buffers in a frame of %zu: input at %zu, hidden at %zu, output at %zu\n", at.frame_bytes,
	       at.input, at.hidden, at.output);

	/* The emitted code */
	char* frame = tl_mem_frame_enter(at.frame_bytes);
	if (frame == NULL) return 1;
	double* hidden = (double*)(frame + at.hidden);
	hidden[0] = 42;
	printf("the answer is %g\n", hidden[0]);
	tl_mem_frame_exit(); /* all buffers are gone */
	return 0;
}
