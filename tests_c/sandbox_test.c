/* A sandbox or an emulator without process_vm_readv: what cannot be read is refused all the same. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "check.h"

enum { PAGE = 4096 };
static int asked;

/* Of every library in the process. */
long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list arguments;
	va_start(arguments, number);
	for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
	va_end(arguments);
	if (number == SYS_process_vm_readv) {
		asked++;
		errno = ENOSYS;
		return -1;
	}
	if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

TEST(what_cannot_be_read_is_refused)
{
	char* page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	tl_mem_enter_scope();
	CHECK_FAILS(tl_mem_register_struct((void*)0x10000), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_register_struct(page + 64), TL_E_INVALID_ARGUMENT);
	CHECK(asked > 0);
	tl_mem_exit_scope();
	munmap(page, PAGE);
}

TEST(memory_of_malloc_is_adopted)
{
	tl_mem_enter_scope();
	void* large = malloc(1 << 20); /* of mmap: not below the program's break */
	CHECK_OK(tl_mem_register_struct(large));
	CHECK_OK(tl_mem_register_struct(malloc(100)));
	tl_mem_exit_scope();
}

int main(void) { return check_tests(); }
