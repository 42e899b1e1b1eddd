#include <tl_runtime.h>

static void* box(void)
{
	tl_mem_function_enter(0);
	void* result = tl_mem_new(64);
	tl_mem_function_exit(); /* ends the result: tl_mem_unregister is missing */
	return result;
}

int main(void)
{
	tl_mem_function_enter(0);
	tl_mem_register_struct(box());
	return tl_mem_function_exit();
}
