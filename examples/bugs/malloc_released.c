#include <stdlib.h>
#include <tl_runtime.h>

int main(void)
{
	void* block = malloc(64);
	tl_ptr_release(block); /* nobody has registered it */
	free(block);
	return 0;
}
