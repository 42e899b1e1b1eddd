/* A program may have closed standard input, output or error. A descriptor of the library must not come to stand there: log
 * lines would be written into it, and daemon() replaces it. Where the library makes one itself it takes a copy by
 * F_DUPFD_CLOEXEC; while Go or a driver makes its own, the closed ones are filled. */
#define _GNU_SOURCE
#include "descriptors.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Where no file can be opened: a descriptor that refuses to be read and written. */
static int open_filler(void)
{
	int file = open("/dev/null", O_RDWR | O_CLOEXEC);
	return file >= 0 ? file : epoll_create1(EPOLL_CLOEXEC);
}

void tlc_fill_standard_descriptors(tlc_filled_descriptors* filled)
{
	filled->count = 0;
	for (int i = 0; i < TL_FIRST_DESCRIPTOR; i++) {
		if (fcntl(i, F_GETFD) >= 0) continue;
		int file = open_filler();
		if (file >= TL_FIRST_DESCRIPTOR) close(file); /* another thread has opened it */
		else if (file >= 0) filled->numbers[filled->count++] = file;
	}
}

/* What another thread has put there by dup2() meanwhile is not closed at exec. */
void tlc_close_filled_descriptors(const tlc_filled_descriptors* filled)
{
	for (int i = 0; i < filled->count; i++) {
		int flags = fcntl(filled->numbers[i], F_GETFD);
		if (flags >= 0 && (flags & FD_CLOEXEC) != 0) close(filled->numbers[i]);
	}
}
