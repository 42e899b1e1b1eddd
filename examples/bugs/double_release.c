#include <tl_runtime.h>

static void drop(void* box) { tl_ptr_release(box); }

int main(void)
{
	for (int i = 0; i < 1000; i++) {
		void* box = tl_mem_alloc(64);
		drop(box);
		drop(box);
	}
	return 0;
}
