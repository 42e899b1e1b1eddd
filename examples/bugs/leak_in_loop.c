#include <tl_runtime.h>

static void turn(void)
{
	void* box = tl_mem_alloc(64); /* floats: no scope holds it */
	tl_log_alloc(box, 64, "loop.tl", 3);
}

int main(void)
{
	for (int i = 0; i < 1000; i++) turn();
	return 0;
}
