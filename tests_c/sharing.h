/* What the tests of shared tensors have in common: sockets that carry descriptors, and what a process has open. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "check.h"

/* Entries of a folder, without its own two names and without the descriptor that reads it. */
static inline int entries_of(const char* folder, int reading)
{
	int n = 0;
	DIR* d = opendir(folder);
	if (d == NULL) return -1;
	for (const struct dirent* e = readdir(d); e != NULL; e = readdir(d)) n += e->d_name[0] != '.';
	closedir(d);
	return n - reading;
}

static inline int open_descriptors(void) { return entries_of("/proc/self/fd", 1); }

/* Files in a folder that all programs of the machine use, by the name of the library. */
static inline int files_of_ours(const char* folder)
{
	int n = 0;
	DIR* d = opendir(folder);
	for (const struct dirent* e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d))
		n += strstr(e->d_name, "tl_runtime") != NULL;
	if (d != NULL) closedir(d);
	return n;
}

/* Mappings of memory files of the library's. */
static inline int shared_mappings(void)
{
	char line[1024];
	int n = 0;
	FILE* maps = fopen("/proc/self/maps", "r");
	if (maps == NULL) return -1;
	while (fgets(line, sizeof line, maps) != NULL) n += strstr(line, "/memfd:tl_runtime") != NULL;
	fclose(maps);
	return n;
}

/* Sends the description of a tensor and its descriptor, which is closed. False: nobody receives. */
static inline bool send_tensor(int socket, tl_tensor_shared* s)
{
	char room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec bytes = {s, sizeof *s};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	struct cmsghdr* rights = CMSG_FIRSTHDR(&message);
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &s->fd, sizeof(int));
	ssize_t n;
	do n = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	close(s->fd);
	return n == (ssize_t)sizeof *s;
}

/* Receives what send_tensor has sent; the descriptor is the caller's. False: the other side has ended. */
static inline bool receive_tensor(int socket, tl_tensor_shared* s)
{
	char room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec bytes = {s, sizeof *s};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	ssize_t n;
	do n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	const struct cmsghdr* rights = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (rights == NULL || rights->cmsg_type != SCM_RIGHTS) return false;
	memcpy(&s->fd, CMSG_DATA(rights), sizeof(int));
	return n == (ssize_t)sizeof *s;
}

/* Opens what was received and gives up the descriptor. */
static inline tl_tensor* open_and_close(tl_tensor_shared* s)
{
	tl_tensor* t = tl_tensor_open(s);
	close(s->fd);
	return t;
}

/* A shared tensor of i32 with the numbers from first on, in the current scope. */
static inline tl_tensor* counting(int64_t rows, int64_t columns, int first)
{
	const int64_t shape[2] = {rows, columns};
	tl_tensor* t = tl_tensor_empty(TL_DTYPE_I32, TL_DEVICE_SHARED, 2, shape);
	int32_t* at = tl_tensor_data(t);
	for (int64_t i = 0; at != NULL && i < rows * columns; i++) at[i] = first + (int32_t)i;
	return t;
}

static inline tl_tensor_shared shared_of(const tl_tensor* t, uint32_t flags)
{
	tl_tensor_shared s = {.struct_size = sizeof s, .fd = -1};
	CHECK_OK(tl_tensor_share(t, flags, &s));
	return s;
}
