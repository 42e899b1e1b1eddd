/* Whether a thread can have all threads of the process pass a memory barrier. Then the first thread that uses the library
 * ends its tensors without a compare-and-swap, until a second context is made; see tlc_tensor_end. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../heap/heap.h"
#include "start.h"

#ifdef __linux__
/* A folder has two links, and one more for each folder in it. fstatat() of a library that was built here would need
 * glibc 2.33. */
static bool has_one_thread(void)
{
	struct stat tasks;
	return syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &tasks, 0) == 0 && tasks.st_nlink == 3;
}

/* Asked for while the process has one thread, that is before Go's start, it costs a microsecond; later the kernel waits
 * for all processors, which takes some 20 ms. */
static bool has_barrier;

__attribute__((constructor(TLC_BEFORE_GO))) static void ask_for_barrier(void)
{
	has_barrier = has_one_thread() && tlc_heap_begin_barriers();
}

bool tlc_has_barrier(void) { return has_barrier; }
#else
bool tlc_has_barrier(void) { return false; }
#endif
