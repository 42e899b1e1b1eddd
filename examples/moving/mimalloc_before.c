/* Counts the primes below a limit with a table that lives in a heap of its own. */
#include <mimalloc.h>
#include <stdio.h>

enum { LIMIT = 1000 };

static int primes_below_limit(void)
{
	mi_heap_t* heap = mi_heap_new();
	char* composite = mi_heap_zalloc(heap, LIMIT);
	int count = 0;
	for (int n = 2; n < LIMIT; n++) {
		if (composite[n]) continue;
		count++;
		for (int multiple = 2 * n; multiple < LIMIT; multiple += n) composite[multiple] = 1;
	}
	mi_heap_destroy(heap); /* all of its blocks at once */
	return count;
}

int main(void)
{
	printf("%d primes\n", primes_below_limit());
	return 0;
}
