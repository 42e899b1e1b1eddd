#include <tl_runtime.h>

int main(void)
{
	tl_mem_enter_scope();
	void* box = tl_mem_new(64);
	tl_mem_exit_scope();
	tl_ptr_acquire(box); /* the scope's reference was the only one */
	return 0;
}
