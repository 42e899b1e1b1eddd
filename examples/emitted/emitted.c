/* What the TL compiler emits, as C, with its own declarations. docs/start-tl-compiler.md links it with adapters.c. */
#include <stdint.h>
#include <stdio.h>

void tl_mem_function_enter(int64_t slots);
void tl_mem_function_exit(void);
void* tl_tensor_new(const float* data, int64_t rank, const int64_t* shape);
void tl_tensor_promote(void* tensor);
void tl_tensor_release(void* tensor);

/* These five differ from include/tl_runtime.h. */
void* tl_pool_acquire(int64_t elements);
void tl_pool_release(void* tensor, int64_t elements);
void tl_trace_mem(const char* file, int32_t line, int32_t column, const char* tag);
double tl_get_memory_mb(void);
double tl_get_metal_pool_mb(void);

int main(void)
{
	const float numbers[4] = {1, 2, 3, 4};
	const int64_t shape[1] = {4};
	tl_mem_function_enter(0);
	void* tensor = tl_tensor_new(numbers, 1, shape);
	tl_tensor_promote(tensor); /* out of the scope */
	tl_pool_release(tensor, 4);
	void* again = tl_pool_acquire(4);
	printf("from the pool: %s\n", again == tensor ? "the same tensor" : again != NULL ? "another tensor" : "none");
	tl_tensor_release(again);
	tl_trace_mem("main.tl", 12, 3, "end");
	printf("resident: %s\n", tl_get_memory_mb() >= 1 ? "a MiB or more" : "less than a MiB");
	printf("other devices: %.1f MiB\n", tl_get_metal_pool_mb());
	tl_mem_function_exit();
	return 0;
}
