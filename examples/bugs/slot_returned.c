#include <tl_runtime.h>

static void* box(void)
{
	tl_mem_function_enter(1);
	void* result = tl_mem_get_buffer(0, 64);
	tl_mem_unregister(result);
	tl_mem_function_exit(); /* ends the slot */
	return result;
}

int main(void)
{
	tl_mem_function_enter(0);
	tl_mem_register_struct(box());
	return tl_mem_function_exit();
}
