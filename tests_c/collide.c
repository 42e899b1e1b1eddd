/* A host with a tensor library of its own, whose names are ours as well: ours have other names in the static library
 * that scripts/static.sh links (docs/static.md). */
#include "renamed.h"
#include "tl_runtime.h"

#include <stdio.h>
#include <string.h>

/* By these names the host calls its own functions. */
#undef tl_tensor_new
#undef tl_tensor_free

struct host_tensor {
	int rows, columns;
};
struct host_tensor tl_tensor_new(int rows, int columns);
void tl_tensor_free(struct host_tensor* tensor);

static int ended;

struct host_tensor tl_tensor_new(int rows, int columns) { return (struct host_tensor){rows, columns}; }
void tl_tensor_free(struct host_tensor* tensor) { ended += tensor->rows * tensor->columns; }

int main(void)
{
	struct host_tensor theirs = tl_tensor_new(6, 7);
	const float numbers[4] = {1, 2, 3, 4};
	const int64_t shape[2] = {2, 2};
	if (tl_mem_enter_scope() != TL_OK) return 1;
	tl_tensor* ours = tlrt_tensor_new(numbers, 2, shape);
	if (ours == NULL || tl_tensor_numel(ours) != 4) return 1; /* a macro of renamed.h */
	if (tlrt_tensor_free(ours) != TL_OK) return 1;
	if (tlrt_tensor_free(ours) != TL_E_NOT_LIVE || strstr(tl_last_error(), "tl_tensor_free: ") == NULL) return 1;
	if (tl_mem_exit_scope() != TL_OK) return 1;
	tl_tensor_free(&theirs);
	printf("theirs has ended with %d elements, ours is gone\n", ended);
	return ended == 42 ? 0 : 1;
}
