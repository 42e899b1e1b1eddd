/* cc hello.c -ltl_runtime && ./a.out */
#include <stdio.h>
#include <tl_runtime.h>

int main(void)
{
	tl_mem_enter_scope();
	int* kept = tl_mem_new(sizeof *kept); /* the scope holds it */
	*kept = 42;
	tl_ptr_acquire(kept); /* so do we */
	const int64_t shape[2] = {64, 64};
	tl_tensor* weights = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	printf("%lld elements, %lld references\n", (long long)tl_tensor_len(weights), (long long)tl_ptr_refcount(kept));
	tl_mem_exit_scope(); /* the tensor is gone, `kept` is still ours */

	printf("the answer is %d\n", *kept);
	tl_ptr_release(kept);
	if (tl_ptr_release(kept) != TL_OK) printf("a bad release is an error, not a crash:\n  %s\n", tl_last_error());
	return 0;
}
