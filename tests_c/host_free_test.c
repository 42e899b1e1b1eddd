/* A program whose free() is a function of its own, which calls the library. */
#include <dlfcn.h>

#include "check.h"

enum { BLOCKS = 8 };

static __thread int calls; /* of free that make an object */
static void* made[BLOCKS];

void free(void* block)
{
	static void (*real)(void*);
	if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "free");
	if (calls > 0 && block != NULL) made[--calls] = tl_mem_new(64);
	real(block);
}

/* In a slow call free() is refused, and makes nothing. */
static void what_free_registers_ends_with_the_scope(void)
{
	for (int n = 1; n <= BLOCKS; n++) {
		CHECK_OK(tl_mem_enter_scope());
		CHECK(tl_mem_new(32) != NULL);
		for (int i = 0; i < BLOCKS; i++) CHECK_OK(tl_mem_register_struct(malloc(100)));
		calls = n;
		CHECK_OK(tl_mem_exit_scope());
		CHECK_INT(calls, 0);
		for (int i = 0; i < n; i++)
			if (made[i] != NULL) CHECK_DEAD(made[i]);
	}
}

int main(void)
{
	RUN(what_free_registers_ends_with_the_scope);
	return check_finish();
}
