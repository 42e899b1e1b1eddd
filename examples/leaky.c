/* A program with a defect, for docs/start-operations.md: each step of its training forgets one object. */
#include <stdio.h>
#include <tl_runtime.h>

enum { STEPS = 3 };

static int train_step(int step)
{
	tl_mem_enter_scope();
	const int64_t shape[2] = {64, 64};
	tl_tensor* activations = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	int* loss = tl_mem_alloc(4000); /* nobody registers or releases it */
	if (activations == NULL || loss == NULL) {
		fprintf(stderr, "step %d: %s\n", step, tl_last_error());
		return 1;
	}
	*loss = step;
	tl_mem_exit_scope(); /* releases the tensor */
	return 0;
}

int main(void)
{
	for (int step = 0; step < STEPS; step++)
		if (train_step(step) != 0) return 1;
	puts("trained");
	return 0;
}
