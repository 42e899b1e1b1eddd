#include <tl_runtime.h>

static void callee(void)
{
	tl_mem_function_enter(0);
	tl_mem_function_exit();
	tl_mem_function_exit(); /* the caller's */
}

int main(void)
{
	tl_mem_function_enter(0);
	void* box = tl_mem_new(64);
	callee();
	return *(char*)box != 0; /* is dead */
}
