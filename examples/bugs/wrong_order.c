#include <tl_runtime.h>

int main(void)
{
	tl_mem_enter_scope();
	tl_mem_function_enter(0);
	tl_mem_exit_scope(); /* before the function's exit */
	tl_mem_function_exit();
	return tl_mem_exit_scope();
}
