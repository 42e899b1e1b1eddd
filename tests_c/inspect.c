/* A program for scripts/debugger.sh: it stops in look_here with objects that gdb has to show. */
#include <stdio.h>
#include <stdlib.h>
#include <tl_runtime.h>

void look_here(tl_tensor* tensor, tl_tensor* copy, void* vec, void* freed, void* large, void* cell);

__attribute__((noinline)) void look_here(tl_tensor* tensor, tl_tensor* copy, void* vec, void* freed, void* large,
                                         void* cell)
{
	__asm__ volatile("" ::"r"(tensor), "r"(copy), "r"(vec), "r"(freed), "r"(large), "r"(cell) : "memory");
}

int main(void)
{
	const float numbers[6] = {0, 1, 2, 3, 4.5f, -5};
	const int64_t shape[2] = {2, 3};
	tl_mem_enter_scope();
	tl_tensor* tensor = tl_tensor_new(numbers, 2, shape);
	tl_mem_function_enter(2);
	void* vec = tl_vec_new(4);
	void* element = tl_mem_new(100);
	tl_vec_push(vec, element);
	tl_vec_push(vec, tensor);
	void* foreign = malloc(64);
	tl_mem_register_struct(foreign);
	tl_mem_enter_scope();
	tl_tensor* copy = tl_tensor_clone(tensor);
	void* freed = tl_mem_alloc(40);
	tl_ptr_release(freed);
	void* cell = tl_cell_dup(tl_cell_new(30));
	void* large = tl_mem_alloc(300000);
	if (copy == NULL || large == NULL || vec == NULL || element == NULL) return 1;
	look_here(tensor, copy, vec, freed, large, cell);
	tl_ptr_release(large);
	tl_mem_exit_scope();
	tl_mem_function_exit();
	tl_mem_exit_scope();
	puts("done");
	return 0;
}
