/* Zeroing of what was used before. */
#include "heap.h"

#include <errno.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

/* From so many bytes on most of the memory may never have been touched, or is with the system again: so much is idle for a
 * moment only (TL_HEAP_KEEPS). Then the system clears the pages that the program touches, as it does for calloc of the C
 * library, and the others take no memory. */
#define LEFT_TO_SYSTEM ((uint64_t)32 << 20)

#if defined(__linux__)
static void* clear_lazily(char* p, uint64_t bytes)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	char* first = (char*)(((uintptr_t)p + page - 1) & ~(page - 1));
	char* end = (char*)(((uintptr_t)p + bytes) & ~(page - 1));
	const int before = errno;
	if (madvise(first, (size_t)(end - first), MADV_DONTNEED) != 0) { /* locked pages, say */
		errno = before;
		return memset(p, 0, bytes);
	}
	memset(p, 0, (size_t)(first - p));
	memset(end, 0, (size_t)(p + bytes - end));
	return p;
}
#endif

void* tlc_heap_clear(void* p, uint64_t bytes)
{
#if defined(__linux__)
	if (bytes >= LEFT_TO_SYSTEM) return clear_lazily(p, bytes);
#endif
	return memset(p, 0, bytes);
}
