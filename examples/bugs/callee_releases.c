#include <tl_runtime.h>

static void callee(void* parameter) { tl_ptr_release(parameter); } /* the caller's reference */

int main(void)
{
	tl_mem_function_enter(0);
	callee(tl_mem_new(64));
	return tl_mem_function_exit();
}
