#include <tl_runtime.h>

static void work(int turns)
{
	for (int i = 0; i < turns; i++) {
		tl_mem_enter_scope();
		if (i == 2) continue; /* skips the exit */
		tl_mem_exit_scope();
	}
}

int main(void)
{
	work(10);
	return 0;
}
