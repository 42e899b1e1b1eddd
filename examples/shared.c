/* cc shared.c -ltl_runtime && ./a.out */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <tl_runtime.h>
#include <unistd.h>

enum { SOCKET = 3 }; /* of the process that receives */

/* The description of a tensor as the message, and its descriptor beside it (SCM_RIGHTS). */
static struct msghdr message(struct iovec* bytes, void* room, size_t size)
{
	struct msghdr m = {.msg_iov = bytes, .msg_iovlen = 1, .msg_control = room, .msg_controllen = size};
	return m;
}

static int send_tensor(int to, const tl_tensor* t, uint32_t flags)
{
	char room[CMSG_SPACE(sizeof(int))] = {0};
	tl_tensor_shared s = {.struct_size = sizeof s};
	if (tl_tensor_share(t, flags, &s) != TL_OK) return -1;
	struct iovec bytes = {&s, sizeof s};
	struct msghdr m = message(&bytes, room, sizeof room);
	struct cmsghdr* rights = CMSG_FIRSTHDR(&m);
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &s.fd, sizeof(int));
	const ssize_t n = sendmsg(to, &m, MSG_NOSIGNAL);
	close(s.fd);
	return n == (ssize_t)sizeof s ? 0 : -1;
}

static tl_tensor* receive_tensor(int from)
{
	char room[CMSG_SPACE(sizeof(int))] = {0};
	tl_tensor_shared s;
	struct iovec bytes = {&s, sizeof s};
	struct msghdr m = message(&bytes, room, sizeof room);
	if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof s) return NULL;
	const struct cmsghdr* rights = CMSG_FIRSTHDR(&m);
	if (rights == NULL || rights->cmsg_type != SCM_RIGHTS) return NULL;
	memcpy(&s.fd, CMSG_DATA(rights), sizeof(int));
	tl_tensor* t = tl_tensor_open(&s); /* looks at the memory before it maps it */
	close(s.fd);
	return t;
}

/* Another program: it doubles every number of the first tensor, and cannot change the second one. */
static int receiver(void)
{
	tl_mem_enter_scope();
	tl_tensor *numbers = receive_tensor(SOCKET), *fixed = receive_tensor(SOCKET);
	if (numbers == NULL || fixed == NULL) return 1;
	int64_t* data = tl_tensor_data(numbers);
	for (int64_t i = 0; i < tl_tensor_numel(numbers); i++) data[i] *= 2;
	printf("receiver: the second one is %s\n", tl_tensor_copy(fixed, numbers) == TL_OK ? "written" : "read-only");
	fflush(stdout);
	tl_mem_exit_scope();
	return 0;
}

int main(int argc, char** argv)
{
	if (argc > 1) return receiver();
	const int64_t shape[1] = {12500000}; /* 100 MB */
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return 1;
	const pid_t child = fork();
	if (child == 0) {
		dup2(pair[1], SOCKET); /* which exec leaves open */
		execl("/proc/self/exe", argv[0], "receiver", (char*)NULL);
		_exit(127);
	}
	tl_mem_enter_scope();
	tl_tensor* numbers = tl_tensor_empty(TL_DTYPE_I64, TL_DEVICE_SHARED, 1, shape);
	tl_tensor* fixed = tl_tensor_new_zeroed(TL_DTYPE_I64, TL_DEVICE_SHARED, 1, shape);
	int64_t* data = tl_tensor_data(numbers);
	for (int64_t i = 0; i < shape[0]; i++) data[i] = i;
	if (send_tensor(pair[0], numbers, 0) != 0 || send_tensor(pair[0], fixed, TL_TENSOR_FLAG_READ_ONLY) != 0) return 1;
	int how;
	waitpid(child, &how, 0);
	printf("sender: number 21 is %lld now, and nothing was copied\n", (long long)data[21]);
	tl_mem_exit_scope(); /* the kernel frees the memory: nobody has it any more */
	return how;
}
