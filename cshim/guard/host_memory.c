#define _GNU_SOURCE
#include "host_memory.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

_Atomic uint64_t tlc_known_pages[TLC_KNOWN_REGIONS];

/* The program's break at load. Most of what malloc returns lies between there and the break of the
 * moment, where everything can be read. */
static uintptr_t first_break;

__attribute__((constructor)) static void note_break(void) { first_break = (uintptr_t)sbrk(0); }

/* Lets the kernel read the byte at p: where the program would fault the kernel answers EFAULT. Of
 * the calls that read, this is the one that valgrind does not check itself. A sandbox or an
 * emulator may forbid it. Then the kernel reads the 16 bytes of an epoll event, for a call that
 * fails with EBADF afterwards. */
bool tlc_is_readable(uintptr_t p)
{
	if (p >= first_break && p < (uintptr_t)sbrk(0)) return true;
	char byte;
	struct iovec to = {&byte, 1}, from = {(void*)p, 1};
	int before = errno;
	bool read = syscall(SYS_process_vm_readv, getpid(), &to, 1ul, &from, 1ul, 0ul) == 1;
	if (!read && errno != EFAULT)
		read = epoll_ctl(-1, EPOLL_CTL_ADD, -1, (struct epoll_event*)p) < 0 && errno != EFAULT;
	errno = before;
	return read;
}

/* Two threads may write at once. The page of one is lost then, and looked at again the next time. */
static void know_page(uintptr_t p)
{
	uint64_t region = p >> TLC_REGION_BITS, page = 1ull << (p >> TLC_PAGE_BITS & 15);
	_Atomic uint64_t* at = &tlc_known_pages[region % TLC_KNOWN_REGIONS];
	uint64_t known = TLC_LOAD(*at);
	TLC_STORE(*at, (known >> 16 == region ? known : region << 16) | page);
}

/* Before a block of another allocator than the C library's, or of a sanitizer, there may be no memory. */
bool tlc_may_be_malloced(uintptr_t p)
{
	if ((p & tlc_host.misaligned) != 0 || p < TL_LOWEST_ADDRESS || p >> TLC_PROGRAM_BITS != 0) return false;
	if (tlc_knows(p)) return true;
	if (!tlc_is_readable(p) || (tlc_host.has_headers && !tlc_is_readable(p - TLC_HEADER_BYTES))) return false;
	know_page(p);
	return true;
}

/* The size of a block for the slow path, 0: no block, or malloc does not tell; false: p cannot be malloc's. */
bool tlc_usable_size(uintptr_t p, uint64_t* bytes)
{
	if (!tlc_may_be_malloced(p)) return false;
	*bytes = tlc_host.usable((void*)p);
	return true;
}
