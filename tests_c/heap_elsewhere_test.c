/* The kernel puts no mapping where Go would like it, as under a sanitizer. Go's heap begins where
 * it may, and nothing is mapped at address 0, which root could have. */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "check.h"

enum { PAGE = 4096 };
static volatile uintptr_t at_null;

/* Of every library in the process. */
void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset)
{
	bool wished = !(flags & (MAP_FIXED | MAP_FIXED_NOREPLACE));
	return (void*)syscall(SYS_mmap, wished ? NULL : address, bytes, protection, flags, file, offset);
}

TEST(nothing_is_mapped_at_null)
{
	unsigned char resident;
	CHECK_OK(tl_init());
	CHECK(mincore((void*)(uintptr_t)at_null, PAGE, &resident) != 0);
}

TEST(the_heap_grows)
{
	tl_mem_enter_scope();
	for (int i = 0; i < 100000; i++) CHECK(tl_vec_new(2) != NULL);
	const tl_stats stats = check_stats();
	CHECK(stats.live_objects >= 100000);
	tl_mem_exit_scope();
}

int main(void) { return check_tests(); }
