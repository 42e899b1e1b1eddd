/* The same with a scope instead of a heap. */
#include <stdio.h>
#include <tl_runtime.h>

enum { LIMIT = 1000 };

static int primes_below_limit(void)
{
	tl_mem_enter_scope();
	char* composite = tl_mem_new_zeroed(LIMIT);
	int count = 0;
	for (int n = 2; composite != NULL && n < LIMIT; n++) {
		if (composite[n]) continue;
		count++;
		for (int multiple = 2 * n; multiple < LIMIT; multiple += n) composite[multiple] = 1;
	}
	tl_mem_exit_scope(); /* all of its objects at once */
	return count;
}

int main(void)
{
	printf("%d primes\n", primes_below_limit());
	return 0;
}
