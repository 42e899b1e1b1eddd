/* The failures that README quotes. */
#include <stdio.h>
#include <tl_runtime.h>

static void show(tl_status status)
{
	if (status != TL_OK) puts(tl_last_error());
}

int main(void)
{
	tl_mem_function_enter(0);
	char* object = tl_mem_new(64);
	show(tl_ptr_release(object + 8));
	show(tl_mem_exit_scope());
	tl_arena_init(0);
	show(tl_mem_unregister(tl_arena_alloc(16)));
	return tl_mem_function_exit();
}
