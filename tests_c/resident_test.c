/* What stays in memory when the host refuses to take pages back: what the program has used, and not the gigabytes that
 * are only reserved. The program keeps its pages in memory (mlockall) or forbids madvise, before the library starts or
 * afterwards, and each case is a process of its own. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"
#include "thread.h"

enum { SKIPPED = 77, LITTLE = 8 * MIB, LARGE = 48 * MIB, MANY = 70000 };

static bool keeps_pages(void) { return mlockall(MCL_CURRENT | MCL_ONFAULT) == 0; }
static bool keeps_all_pages(void) { return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0; }

/* In all threads, those of Go as well. */
static bool forbids_madvise(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

static const struct {
	const char* name;
	bool (*refuse)(void);
	bool first; /* before the library starts */
} cases[] = {
	{"mlockall later", keeps_pages, false},
	{"mlockall first", keeps_all_pages, true},
	{"no madvise later", forbids_madvise, false},
	{"no madvise first", forbids_madvise, true},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Whether the host takes back pages that the program keeps in memory: Linux 5.18. */
static bool takes_pages_back(void)
{
	char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED) return false;
	*page = 1;
	const bool taken =
		madvise(page, 4096, MADV_DONTNEED) == 0 || madvise(page, 4096, 24 /* MADV_DONTNEED_LOCKED */) == 0;
	munmap(page, 4096);
	return taken;
}

static int64_t before;

static void grows_by_little(const char* call)
{
	const int64_t more = tl_get_memory_bytes() - before;
	if (check_failed(more < LITTLE)) fprintf(stderr, "%s: %lld MiB more are resident\n", call, (long long)more / MIB);
	before += more > 0 ? more : 0;
}
#define LITTLE_MORE(call) ((call), grows_by_little(#call))

static void use_an_arena(void)
{
	CHECK_OK(tl_arena_init(0));
	CHECK(tl_arena_alloc(1000) != NULL);
	CHECK_OK(tl_arena_free());
}

THREAD(use_in_thread, unused)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_new(100) != NULL);
	use_an_arena();
	CHECK_OK(tl_mem_purge());
	CHECK_OK(tl_mem_exit_scope());
}

static void use_threads(void)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++) threads[i] = start_thread(use_in_thread, NULL);
	for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
	CHECK_OK(tl_mem_purge());
}

/* The collector gives its marks back after a walk over many objects, and the scope stack is trimmed. */
static void leave_a_large_scope(void)
{
	static const size_t offsets[] = {0};
	const tl_type_desc link = {.name = "link", .size = 16, .pointer_offsets = offsets, .num_pointers = 1};
	tl_type type = 0;
	CHECK_OK(tl_type_define(&link, &type));
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < MANY; i++) CHECK(tl_object_new(type) != NULL);
	CHECK_INT(tl_mem_collect_cycles(), 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_purge());
}

static void register_many(void)
{
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < MANY / 7; i++) CHECK_OK(tl_mem_register_struct(malloc(48)));
	CHECK_OK(tl_mem_exit_scope());
}

static bool is_zero(const uint64_t* words, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof *words; i++)
		if (words[i] != 0) return false;
	return true;
}

/* Memory that was used, given back or not, and comes again as zeros. */
static void memory_reads_as_zero(bool goes_back)
{
	for (int round = 0; round < 3; round++) {
		const int64_t start = tl_get_memory_bytes();
		CHECK_OK(tl_mem_enter_scope());
		uint64_t* large = tl_mem_new_zeroed(LARGE);
		CHECK(large != NULL && is_zero(large, LARGE));
		memset(large, 0xA5, LARGE);
		for (int i = 0; i < 5000; i++) {
			uint64_t* small = tl_mem_new_zeroed(512);
			CHECK(small != NULL && is_zero(small, 512));
			memset(small, 0xA5, 512);
		}
		CHECK(tl_get_memory_bytes() - start > LARGE / 2 || round > 0);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_OK(tl_mem_purge());
		if (goes_back) CHECK(tl_get_memory_bytes() - start < LARGE / 2);
	}
}

static int run_case(int i)
{
	CHECK(i >= 0 && i < CASES);
	if (cases[i].first && !cases[i].refuse()) return SKIPPED;
	CHECK_OK(tl_init());
	CHECK_OK(tl_mem_purge());
	if (!cases[i].first && !cases[i].refuse()) return SKIPPED;
	before = tl_get_memory_bytes();
	LITTLE_MORE(CHECK_OK(tl_mem_purge()));
	LITTLE_MORE(use_an_arena());
	LITTLE_MORE(use_threads());
	LITTLE_MORE(leave_a_large_scope());
	LITTLE_MORE(register_many());
	memory_reads_as_zero(takes_pages_back());
	before = tl_get_memory_bytes();
	LITTLE_MORE(CHECK_OK(tl_mem_purge()));
	LITTLE_MORE(CHECK_OK(tl_shutdown()));
	return check_finish();
}

static int run_in_process(const char* program, int i)
{
	char number[8];
	int status = 0;
	snprintf(number, sizeof number, "%d", i);
	fflush(NULL);
	const pid_t child = fork();
	if (child == 0) {
		execl(program, program, number, (char*)NULL);
		_exit(1);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char** argv)
{
	if (argc > 1) return run_case(atoi(argv[1]));
	for (int i = 0; i < CASES; i++) {
		const int status = run_in_process(argv[0], i);
		if (status == SKIPPED) printf("skip: %s is not to be had here\n", cases[i].name);
		else if (check_failed(status == 0)) fprintf(stderr, "%s: status %d\n", cases[i].name, status);
	}
	return check_finish();
}
