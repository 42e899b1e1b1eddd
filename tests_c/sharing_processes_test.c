/* Tensors between processes: programs that start afresh, children of fork(), processes that are killed.
 *
 *     TL_KILLS=1000 sharing_processes_test      kill so many (150 otherwise)
 *     sharing_processes_test ROLE               what the test starts; its socket is descriptor 3
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sharing.h"

enum { SOCKET = 3, PATIENCE = 60 };

static int runs_fast;
static const char* program;

/* A process with one end of a pair of sockets. */
typedef struct peer {
	pid_t pid;
	int socket;
} peer;

/* Starts this program in a role. */
static peer start(const char* role)
{
	int pair[2];
	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	const peer p = {fork(), pair[0]};
	if (p.pid == 0) {
		alarm(PATIENCE);
		if (pair[1] == SOCKET) fcntl(SOCKET, F_SETFD, 0);
		else dup2(pair[1], SOCKET);
		execl(program, program, role, (char*)NULL);
		_exit(127);
	}
	close(pair[1]);
	return p;
}

/* Closes the socket, so that the process ends, and tells whether it ended well. */
static bool finish(peer p)
{
	int how = -1;
	close(p.socket);
	return waitpid(p.pid, &how, 0) == p.pid && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

static void send_on(int socket, const tl_tensor* t, uint32_t flags)
{
	tl_tensor_shared s = shared_of(t, flags);
	CHECK(send_tensor(socket, &s));
}

static tl_tensor* receive(int socket)
{
	tl_tensor_shared s;
	CHECK(receive_tensor(socket, &s));
	return open_and_close(&s);
}

/* ---- another program ----------------------------------------------------------------- */

/* Doubles what it gets, and sends it back together with a tensor of its own. */
static void role_echo(void)
{
	tl_tensor_shared s;
	while (receive_tensor(SOCKET, &s)) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* t = open_and_close(&s);
		int32_t* at = tl_tensor_data(t);
		for (int64_t i = 0; at != NULL && s.flags == 0 && i < tl_tensor_numel(t); i++) at[i] *= 2;
		send_on(SOCKET, tl_view_transpose(t, 0, 1), 0);
		send_on(SOCKET, tl_tensor_to(t, TL_DEVICE_SHARED), TL_TENSOR_FLAG_READ_ONLY);
		CHECK_OK(tl_mem_exit_scope());
	}
}

TEST(another_program_opens_it)
{
	const int before = open_descriptors();
	const peer p = start("echo");
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* t = counting(3, 4, 0);
	send_on(p.socket, t, 0);
	const int32_t *turned = tl_tensor_data(receive(p.socket)), *copied = tl_tensor_data(receive(p.socket));
	CHECK_INT(((int32_t*)tl_tensor_data(t))[5], 10);
	CHECK_INT(turned[5], 10);
	CHECK_INT(copied[5], 10);
	((int32_t*)tl_tensor_data(t))[5] = 77;
	CHECK(turned[5] == 77 && copied[5] == 10);
	send_on(p.socket, t, TL_TENSOR_FLAG_READ_ONLY);
	CHECK_INT(((int32_t*)tl_tensor_data(receive(p.socket)))[5], 77);
	CHECK_INT(((int32_t*)tl_tensor_data(receive(p.socket)))[5], 77);
	CHECK(finish(p)); /* what it has sent stays */
	CHECK_INT(copied[11], 22);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(open_descriptors(), before);
	CHECK_INT(shared_mappings(), 0);
}

/* ---- fork ------------------------------------------------------------------------------ */

/* A child of fork() with what the parent has; body(socket) is what it does. */
static peer fork_child(void (*body)(int socket))
{
	int pair[2];
	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	const peer p = {fork(), pair[0]};
	if (p.pid == 0) {
		alarm(PATIENCE);
		check_failures = 0;
		close(pair[0]);
		body(pair[1]);
		fflush(NULL);
		_exit(check_failures != 0);
	}
	close(pair[1]);
	return p;
}

static tl_tensor *inherited, *view_of_it;

/* On the slow path a child of fork() can do nothing. */
static void refused_in_child(void)
{
	tl_tensor_shared s = {.struct_size = sizeof s};
	CHECK_FAILS(tl_tensor_share(inherited, 0, &s), TL_E_FORKED);
	CHECK_REFUSED(tl_tensor_open(&s), 0, TL_E_FORKED);
}

static void use_in_child(int socket)
{
	if (!runs_fast) {
		refused_in_child();
		return;
	}
	((int32_t*)tl_tensor_data(inherited))[1] = 1001; /* the parent's, too */
	send_on(socket, inherited, 0);
	send_on(socket, view_of_it, 0);
	int before = -1;
	for (int i = 0; i < 200; i++) { /* what is received ends here, so that descriptors and mappings last */
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* t = receive(socket);
		CHECK(t != NULL && tl_tensor_device(t) == TL_DEVICE_SHARED);
		int32_t* at = tl_tensor_data(t);
		at[0]++;
		CHECK_INT(at[1], i);
		send_on(socket, tl_view_slice(t, 1, 1, 2, 1), i % 2 ? TL_TENSOR_FLAG_READ_ONLY : 0);
		CHECK_OK(tl_mem_exit_scope());
		if (before < 0) before = open_descriptors();
		CHECK_INT(open_descriptors(), before);
	}
	const tl_tensor_shared none = {.struct_size = sizeof none, .fd = -1};
	CHECK_REFUSED(tl_tensor_open(&none), 0, TL_E_FORKED);
	CHECK_REFUSED(tl_tensor_open(NULL), 0, TL_E_FORKED);
	tl_tensor_shared s = {.struct_size = sizeof s};
	CHECK_FAILS(tl_tensor_share(NULL, 0, &s), TL_E_FORKED);
	CHECK_FAILS(tl_tensor_share(inherited, 1, &s), TL_E_FORKED);
}

/* A child of fork() has the memory that it inherited, opens what it is sent, and sends both. */
TEST(children_of_fork_share)
{
	const int before = open_descriptors();
	CHECK_OK(tl_mem_enter_scope());
	inherited = counting(2, 3, 0);
	view_of_it = tl_view_slice(inherited, 0, 1, 2, 1);
	const peer p = fork_child(use_in_child);
	if (runs_fast) {
		CHECK_INT(((int32_t*)tl_tensor_data(receive(p.socket)))[1], 1001);
		CHECK_INT(((int32_t*)tl_tensor_data(inherited))[1], 1001);
		CHECK_INT(((int32_t*)tl_tensor_data(receive(p.socket)))[0], 3);
		for (int i = 0; i < 200; i++) {
			CHECK_OK(tl_mem_enter_scope());
			tl_tensor* t = counting(1, 2 + i * 40, i - 1);
			send_on(p.socket, t, 0);
			tl_tensor* back = receive(p.socket);
			CHECK_INT(((int32_t*)tl_tensor_data(t))[0], i);
			CHECK_INT(((int32_t*)tl_tensor_data(back))[0], i);
			CHECK_OK(tl_mem_exit_scope());
		}
	}
	CHECK(finish(p));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(open_descriptors(), before);
	CHECK_INT(shared_mappings(), 0);
}

/* What a child releases stays the parent's. */
static void release_in_child(int socket)
{
	(void)socket;
	tl_tensor_release(inherited);
	tl_mem_exit_scope();
}

TEST_IN_SCOPE(a_child_takes_nothing_away)
{
	inherited = counting(100, 100, 0);
	CHECK(finish(fork_child(release_in_child)));
	CHECK_INT(((int32_t*)tl_tensor_data(inherited))[9999], 9999);
}

/* ---- sandboxes --------------------------------------------------------------------------- */

#define FORBID(call, argument, mask, value, error)                                                       \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),                               \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 4),                                               \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (argument)),        \
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (mask)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

static void* in_a_sandbox(void* given)
{
	struct sock_filter rules[] = {
		FORBID(SYS_memfd_create, 1, 0, 0, ENOSYS), /* before Linux 3.17 */
		FORBID(SYS_fcntl, 1, 0xFFFFFFFF, F_ADD_SEALS, EINVAL),
		FORBID(SYS_mmap, 3, MAP_SHARED | MAP_ANONYMOUS, MAP_SHARED, EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
	const int64_t shape[1] = {1000};
	tl_tensor_shared s = shared_of(given, 0), none = {.struct_size = sizeof none, .fd = -5};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
		printf("skip: no seccomp filters here\n");
		close(s.fd);
		return NULL;
	}
	CHECK_OK(tl_mem_enter_scope());
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_SHARED, 1, shape), 0, TL_E_DEVICE);
	CHECK(strstr(tl_last_error(), "makes no memory that processes share: function not implemented") != NULL);
	CHECK_FAILS(tl_tensor_share(given, TL_TENSOR_FLAG_READ_ONLY, &none), TL_E_DEVICE);
	CHECK(strstr(tl_last_error(), "F_SEAL_FUTURE_WRITE") != NULL);
	CHECK_INT(none.fd, -5);
	CHECK_REFUSED(tl_tensor_open(&s), 0, TL_E_DEVICE);
	CHECK_OK(tl_mem_exit_scope());
	close(s.fd);
	return NULL;
}

TEST(a_sandbox_forbids_it)
{
	pthread_t thread;
	const int before = open_descriptors();
	CHECK_OK(tl_mem_enter_scope());
	CHECK_INT(pthread_create(&thread, NULL, in_a_sandbox, counting(2, 2, 0)), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(open_descriptors(), before);
}

/* ---- kills ---------------------------------------------------------------------------------- */

/* Makes, sends, receives and opens tensors until it is killed. */
static void role_sharer(void)
{
	for (int i = 1;; i++) {
		tl_tensor_shared s = {.struct_size = sizeof s};
		if (tl_mem_enter_scope() != TL_OK) return;
		tl_tensor* t = counting(1 + i % 7, 2000, i);
		if (tl_tensor_share(t, i % 3 == 0 ? TL_TENSOR_FLAG_READ_ONLY : 0, &s) != TL_OK) return;
		if (!send_tensor(SOCKET, &s) || !receive_tensor(SOCKET, &s)) return;
		t = open_and_close(&s);
		if (t == NULL || *(int32_t*)tl_tensor_data(t) != i) return;
		tl_mem_exit_scope();
	}
}

/* Sends every tensor back to a sharer, by way of a third process that lives on, until the sharer is dead. */
static int64_t serve(int sharer, int keeper)
{
	int64_t served = 0;
	tl_tensor_shared s;
	while (receive_tensor(sharer, &s)) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* t = open_and_close(&s);
		CHECK(t != NULL);
		send_on(keeper, t, 0);
		tl_tensor_shared back;
		CHECK(receive_tensor(keeper, &back));
		send_tensor(sharer, &back); /* which may be dead */
		served++;
		CHECK_OK(tl_mem_exit_scope());
	}
	return served;
}

/* Opens what it gets and sends it back; at the end nothing of it is left. */
static void role_keeper(void)
{
	tl_tensor_shared s;
	CHECK_OK(tl_mem_purge()); /* starts Go, which has descriptors of its own */
	const int before = open_descriptors();
	while (receive_tensor(SOCKET, &s)) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* t = open_and_close(&s);
		CHECK(t != NULL && *(int32_t*)tl_tensor_data(t) > 0);
		send_on(SOCKET, t, 0);
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_INT(open_descriptors(), before);
	CHECK_INT(shared_mappings(), 0);
}

/* A thread that kills a process after some microseconds. */
typedef struct killer {
	pid_t pid;
	useconds_t after;
} killer;

static void* kill_later(void* given)
{
	const killer* k = given;
	usleep(k->after);
	kill(k->pid, SIGKILL);
	return NULL;
}

/* Sharers that are killed at random moments leave nothing: no descriptor, no mapping, no file. */
TEST(killed_processes_leave_nothing)
{
	const char* wanted = getenv("TL_KILLS");
	const int kills = wanted != NULL ? atoi(wanted) : 150;
	const int before = open_descriptors();
	uint64_t random = 88172645463325252u;
	int64_t served = 0;
	const peer keeper = start("keeper");
	for (int i = 0; i < kills; i++) {
		pthread_t thread;
		int how;
		const peer p = start("sharer");
		killer k = {p.pid, (useconds_t)(check_random(&random) % 30000)};
		CHECK_INT(pthread_create(&thread, NULL, kill_later, &k), 0);
		served += serve(p.socket, keeper.socket);
		pthread_join(thread, NULL);
		close(p.socket);
		CHECK(waitpid(p.pid, &how, 0) == p.pid && WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
		CHECK_INT(open_descriptors(), before + 1); /* the keeper's socket */
		CHECK_INT(shared_mappings(), 0);
	}
	CHECK(served > kills / 4); /* most were killed at work */
	CHECK(finish(keeper));
	CHECK_INT(open_descriptors(), before);
	CHECK_INT(files_of_ours("/dev/shm"), 0);
	printf("%d sharers killed, %lld tensors\n", kills, (long long)served);
}

int main(int argc, char** argv)
{
	const char* fast = getenv("TL_FASTPATH");
	program = "/proc/self/exe";
	runs_fast = fast == NULL || strcmp(fast, "0") != 0;
	if (argc > 1) {
		if (strcmp(argv[1], "echo") == 0) role_echo();
		else if (strcmp(argv[1], "keeper") == 0) role_keeper();
		else role_sharer();
		return check_finish();
	}
	return check_tests();
}
