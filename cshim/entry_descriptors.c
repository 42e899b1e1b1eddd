/* A program may have closed standard input, output or error. A descriptor of the library must not come to stand there: log
 * lines would be written into it, and daemon() replaces it. Where the library makes one itself it takes a copy by
 * F_DUPFD_CLOEXEC; while Go makes its own, the free places are taken. */
#define _GNU_SOURCE
#include "entry_descriptors.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

/* What stands there meanwhile. Where no file can be opened it is what refuses to be read and written. */
static int place_holder(void)
{
	int file = open("/dev/null", O_RDWR | O_CLOEXEC);
	return file >= 0 ? file : epoll_create1(EPOLL_CLOEXEC);
}

void tlc_take_places(tlc_places* places)
{
	places->count = 0;
	for (int i = 0; i < TL_FIRST_DESCRIPTOR; i++) {
		if (fcntl(i, F_GETFD) >= 0) continue;
		int file = place_holder();
		if (file >= TL_FIRST_DESCRIPTOR) close(file); /* somebody else has taken the place */
		else if (file >= 0) places->taken[places->count++] = file;
	}
}

/* What another thread has put there by dup2() meanwhile is not closed at exec. */
void tlc_leave_places(const tlc_places* places)
{
	for (int i = 0; i < places->count; i++) {
		int flags = fcntl(places->taken[i], F_GETFD);
		if (flags >= 0 && (flags & FD_CLOEXEC) != 0) close(places->taken[i]);
	}
}
