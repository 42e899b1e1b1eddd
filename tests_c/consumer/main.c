/* What a stranger's first program does with the installed library. */
#include <stdio.h>
#include <tl_runtime.h>

int main(void)
{

	if (tl_mem_enter_scope() != TL_OK) {
		fprintf(stderr, "consumer: %s\n", tl_last_error());
		return 1;
	}
	void* object = tl_mem_new(64);
	int64_t count = tl_ptr_refcount(object);
	tl_mem_exit_scope();
	if (object == NULL || count != 1 || tl_ptr_refcount(object) != -1) {
		fprintf(stderr, "consumer: the scope did not keep and release its object\n");
		return 1;
	}
	printf("consumer: TL Runtime %s\n", tl_version());
	return 0;
}
