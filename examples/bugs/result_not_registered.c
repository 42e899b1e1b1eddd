#include <tl_runtime.h>

static void* box(void)
{
	tl_mem_function_enter(0);
	void* result = tl_mem_new(64);
	tl_mem_unregister(result);
	tl_mem_function_exit();
	return result;
}

int main(void)
{
	tl_mem_function_enter(0);
	box(); /* tl_mem_register_struct of the result is missing */
	return tl_mem_function_exit();
}
