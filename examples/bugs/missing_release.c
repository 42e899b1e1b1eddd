#include <tl_runtime.h>

static void work(void)
{
	void* box = tl_mem_new(64); /* the scope's reference */
	tl_ptr_acquire(box);        /* a variable's, which nothing releases */
}

int main(void)
{
	tl_mem_enter_scope();
	work();
	return tl_mem_exit_scope();
}
