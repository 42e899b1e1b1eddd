/* Limits that no rlimit sets: control groups, a hidden /proc; and the ends of a process that
 * README's Limits and docs/limits.md list. */
#include "host_limits.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum { GROUP_BYTES = 128 * LIMITED_MIB, FATAL = LIMITED_KILLED + SIGABRT /* after an error that Go cannot return */ };

static bool write_to(const char* folder, const char* name, const char* text)
{
	char path[300];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	int file = open(path, O_WRONLY | O_CLOEXEC);
	bool good = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
	if (file >= 0) close(file);
	return good;
}

/* A control group of its own with one setting, in either version of the file system. */
static bool make_group(char folder[200], const char* controller, const char* old_name, const char* new_name,
                       const char* value)
{
	snprintf(folder, 200, "/sys/fs/cgroup/%s/tl_proof_%d", controller, (int)getpid());
	if (mkdir(folder, 0755) == 0) return write_to(folder, old_name, value);
	char wanted[32];
	snprintf(wanted, sizeof wanted, "+%s", controller);
	write_to("/sys/fs/cgroup", "cgroup.subtree_control", wanted);
	snprintf(folder, 200, "/sys/fs/cgroup/tl_proof_%d", (int)getpid());
	return mkdir(folder, 0755) == 0 && write_to(folder, new_name, value);
}

static int status_of(pid_t child)
{
	int status = 0;
	if (child < 0 || waitpid(child, &status, 0) != child) return LIMITED_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : LIMITED_KILLED + WTERMSIG(status);
}

/* Runs the program with an argument, in a group when there is one. */
static int run_in(const char* folder, const char* program, const char* argument, const char* setting, const char* value)
{
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		if (setting != NULL) setenv(setting, value, 1);
		if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
			_exit(LIMITED_FAILED);
		if (folder != NULL && !write_to(folder, "cgroup.procs", "0")) _exit(LIMITED_SKIPPED);
		execl(program, program, argument, (char*)NULL);
		_exit(LIMITED_NOT_LOADED);
	}
	return status_of(child);
}

static int in_memory_group(const char* program, const char* own_limit)
{
	char folder[200], bytes[32];
	int result = LIMITED_SKIPPED;
	snprintf(bytes, sizeof bytes, "%d", GROUP_BYTES);
	if (make_group(folder, "memory", "memory.limit_in_bytes", "memory.max", bytes))
		result = run_in(folder, program, "fill", "TL_MEM_LIMIT", own_limit);
	rmdir(folder);
	return result;
}

static int memory_group_with_a_limit(const char* program) { return in_memory_group(program, "64MiB"); }
static int memory_group_without(const char* program) { return in_memory_group(program, ""); }

static int group_of_tasks(const char* program, const char* most)
{
	char folder[200];
	int result = LIMITED_SKIPPED;
	if (make_group(folder, "pids", "pids.max", "pids.max", most)) result = run_in(folder, program, "use", NULL, NULL);
	rmdir(folder);
	return result;
}

static int few_tasks(const char* program) { return group_of_tasks(program, "5"); }
static int enough_tasks(const char* program) { return group_of_tasks(program, "60"); }

static int hidden(const char* program, const char* mebibytes)
{
	return run_in(NULL, program, "hidden", "TL_PROOF_MIB", mebibytes);
}
static int hidden_and_little(const char* program) { return hidden(program, "1200"); }
static int hidden_and_enough(const char* program) { return hidden(program, "2048"); }

static int descriptors_closed(const char* program) { return run_in(NULL, program, "close", NULL, NULL); }
static int one_large_snapshot(const char* program) { return run_in(NULL, program, "snapshot", NULL, NULL); }

const shown all_shown[] = {
	{"a memory group of 128 MiB, TL_MEM_LIMIT=64MiB", memory_group_with_a_limit, LIMITED_SHORT},
	{"a memory group of 128 MiB and no limit: the kernel kills", memory_group_without, LIMITED_KILLED + SIGKILL},
	{"a group of 5 tasks", few_tasks, LIMITED_REFUSED},
	{"a group of 60 tasks", enough_tasks, LIMITED_WORKS},
	{"no /proc, 1200 MiB of addresses", hidden_and_little, LIMITED_REFUSED},
	{"no /proc, 2048 MiB of addresses", hidden_and_enough, LIMITED_WORKS},
	{"Go's descriptors closed by the program: Go ends it", descriptors_closed, FATAL},
	{"a snapshot of a million blocks at the limit: Go ends it", one_large_snapshot, FATAL},
};
const int shown_count = sizeof all_shown / sizeof *all_shown;

/* ---- what the processes do ------------------------------------------------------------ */

/* Touches memory of the runtime's until it is refused. */
static int fill(void)
{
	void **newest = NULL, **block;
	while ((block = limited_made(tl_mem_alloc(LIMITED_MIB))) != NULL) {
		memset(block, 1, LIMITED_MIB);
		*block = newest;
		newest = block;
	}
	for (; newest != NULL; newest = block) {
		block = *newest;
		CHECK_OK(tl_ptr_release(newest));
	}
	return limited_end();
}

static int use(void)
{
	tl_status status = tl_init();
	if (status != TL_OK) return limited_refused(status, "threads that it needs (RLIMIT_NPROC, pids.max)");
	use_everything();
	return limited_end();
}

static int hide_proc(const char* program)
{
	char text[32];
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", "/proc", "tmpfs", 0, NULL) != 0)
		return LIMITED_SKIPPED;
	snprintf(text, sizeof text, "%llu", (unsigned long long)atoi(getenv("TL_PROOF_MIB")) * LIMITED_MIB);
	set_limit(RLIMIT_AS, strtoull(text, NULL, 10), false);
	execl(program, program, "after", "addresses", text, (char*)NULL);
	return LIMITED_FAILED;
}

/* As daemons do when they begin; here it is too late. Idle memory has Go look at its timers. */
static int close_descriptors(void)
{
	CHECK_OK(tl_init());
	for (int file = 3; file < 64; file++) close(file);
	for (int i = 0; i < 20; i++) {
		CHECK_OK(tl_ptr_release(tl_mem_alloc(64 * LIMITED_MIB)));
		usleep(100000);
	}
	return limited_end();
}

/* A snapshot is a list of all blocks, in Go's heap. */
static int snapshot_at_the_limit(void)
{
	enum { BLOCKS = 1 << 20 };
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < BLOCKS; i++)
		if (tl_mem_register_struct(malloc(16)) != TL_OK) return LIMITED_FAILED;
	set_limit(RLIMIT_AS, LIMITED_MIB, true);
	tl_snapshot_write("/dev/null");
	raise_limit(RLIMIT_AS);
	CHECK_OK(tl_mem_exit_scope());
	return limited_end();
}

int host_limits_main(int argc, char** argv)
{
	alarm(LIMITED_PATIENCE);
	if (argc > 2) return limited_main(argc, argv);
	if (strcmp(argv[1], "fill") == 0) return fill();
	if (strcmp(argv[1], "use") == 0) return use();
	if (strcmp(argv[1], "hidden") == 0) return hide_proc(argv[0]);
	if (strcmp(argv[1], "close") == 0) return close_descriptors();
	return snapshot_at_the_limit();
}
