#include <tl_runtime.h>

int main(void)
{
	tl_mem_enter_scope();
	void* box = tl_mem_new(64);  /* registered here */
	tl_mem_register_struct(box); /* and once more: two references, two entries */
	return tl_mem_exit_scope();  /* releases both */
}
