/* A filter of system calls that ends the process at the first one which docs/threads-and-fork.md does not list, set before
 * the first use. Several threads then make calls of every sort. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "check.h"
#include "thread.h"

enum { NOT_HERE = 77 };

/* docs/threads-and-fork.md has the first list. */
static const int allowed[] = {
	SYS_clock_gettime,
	SYS_close,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_eventfd2,
	SYS_fcntl,
	SYS_futex,
	SYS_getpid,
	SYS_getrandom,
	SYS_gettid,
	SYS_madvise,
	SYS_membarrier,
	SYS_mincore,
	SYS_mmap,
	SYS_mprotect,
	SYS_munmap,
	SYS_nanosleep,
	SYS_openat,
	SYS_pread64,
	SYS_prctl,
	SYS_prlimit64,
	SYS_process_vm_readv,
	SYS_read,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sched_getaffinity,
	SYS_sched_yield,
	SYS_sigaltstack,
	SYS_sysinfo,
	SYS_tgkill,
	SYS_write,
#ifdef SYS_getrlimit
	SYS_getrlimit,
#endif
	/* Of the C library: threads, malloc, output, the end of the process. */
	SYS_brk,
	SYS_clone,
	SYS_exit,
	SYS_exit_group,
	SYS_fstat,
	SYS_ioctl,
	SYS_newfstatat,
	SYS_set_robust_list,
#ifdef SYS_clone3
	SYS_clone3,
#endif
#ifdef SYS_rseq
	SYS_rseq,
#endif
};
enum { ALLOWED = sizeof allowed / sizeof *allowed };

static void told(int signal, siginfo_t* info, void* unused)
{
	(void)signal;
	(void)unused;
	char text[] = "system call 0000 is not listed\n";
	for (int n = info->si_syscall, i = 15; n > 0; n /= 10) text[i--] = (char)('0' + n % 10);
	if (write(2, text, sizeof text - 1) > 0) _exit(3);
	_exit(4);
}

static bool filter(void)
{
	struct sock_filter program[3 + 2 * ALLOWED + 1];
	size_t n = 0;
	struct sigaction action = {.sa_sigaction = told, .sa_flags = SA_SIGINFO};
	sigaction(SIGSYS, &action, NULL);
	program[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < ALLOWED; i++) {
		program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
		program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	struct sock_fprog all = {(unsigned short)n, program};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

THREAD(work, unused)
{
	const int64_t shape[] = {64, 64};
	for (int i = 0; i < 200; i++) {
		tl_memory_pool* pool = NULL;
		CHECK_OK(tl_mem_enter_scope());
		for (int k = 0; k < 100; k++) tl_mem_new(1000);
		CHECK_OK(tl_mem_register_struct(malloc(1 << 18)));
		tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
		CHECK_OK(tl_tensor_release(tensor));
		CHECK_STATUS(tl_ptr_release((void*)0x1001), TL_E_UNKNOWN_POINTER);
		CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(TL_DEVICE_CPU), 1 << 16, &pool));
		CHECK_OK(tl_memory_pool_destroy(pool));
		CHECK_OK(tl_ptr_release(tl_mem_alloc(1 << 22)));
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_OK(tl_mem_purge());
}

static void every_sort_of_call_works(void)
{
	work(NULL);
	for (int i = 0; i < 4; i++) run_thread(work, NULL);
}

int main(void)
{
	if (!filter()) {
		printf("skip: no filter of system calls can be set here\n");
		return NOT_HERE;
	}
	RUN(every_sort_of_call_works);
	return check_finish();
}
