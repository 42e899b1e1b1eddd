/* Several processes that are told the same file: who opened it first keeps it, others
 * write beside it, and no file is damaged. runtime/output has the rule. */
#include <dirent.h>
#include <signal.h>

#include "check.h"

enum { CHILDREN = 4, OBJECTS = 1500 };

static char folder[] = "/tmp/tl_traces_XXXXXX";
static char path[64];
static char* text;

/* The name that a process gives to its file beside `name`. */
static const char* beside(const char* name, const char* rest, pid_t process)
{
	static char own[128];
	snprintf(own, sizeof own, "%s/%s-%d%s", folder, name, (int)process, rest);
	return own;
}

static bool read_file(const char* name)
{
	FILE* f = fopen(name, "r");
	free(text);
	text = calloc(1, 1);
	if (f == NULL) return false;
	fseek(f, 0, SEEK_END);
	size_t n = (size_t)ftell(f);
	rewind(f);
	text = realloc(text, n + 1);
	CHECK_INT(fread(text, 1, n, f), n);
	text[n] = 0;
	CHECK_INT(strlen(text), n); /* no hole of zeros in it */
	fclose(f);
	return true;
}

static int count(const char* what)
{
	int n = 0;
	const char* end = text + strlen(text);
	for (const char* at = text; (at = memmem(at, (size_t)(end - at), what, strlen(what))) != NULL; at++) n++;
	return n;
}

/* Holds a file to one whole trace, of one process, with so many allocations. */
static void check_trace(const char* name, pid_t process, int allocations)
{
	char pid[32];
	CHECK(read_file(name));
	size_t n = strlen(text);
	CHECK(n > 2 && strcmp(text + n - 2, "}\n") == 0);
	CHECK(strncmp(text, "{\"writer\":\"TL Runtime\"", 22) == 0);
	CHECK_INT(count("\"traceEvents\""), 1);
	CHECK_INT(count("\"otherData\""), 1);
	CHECK_INT(count("\"complete\":true"), 1);
	snprintf(pid, sizeof pid, "\"pid\":%d,", (int)process);
	CHECK_INT(count("\"pid\":"), count(pid));
	CHECK_INT(count("{\"name\":\"alloc\""), allocations);
}

static int files_in_folder(void)
{
	int n = 0;
	DIR* all = opendir(folder);
	CHECK(all != NULL);
	for (struct dirent* e; all != NULL && (e = readdir(all)) != NULL;) n += e->d_name[0] != '.';
	closedir(all);
	return n;
}

static void empty_folder(void)
{
	char name[400];
	DIR* all = opendir(folder);
	for (struct dirent* e; all != NULL && (e = readdir(all)) != NULL;) {
		snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
		if (e->d_name[0] != '.') CHECK_INT(unlink(name), 0);
	}
	closedir(all);
}

static void allocate(int objects)
{
	for (int i = 0; i < objects; i++) CHECK_OK(tl_mem_free(tl_mem_alloc(32)));
}

/* A process of its own, which has the option of this one's environment. */
static pid_t start(const char* what)
{
	CHECK_INT(fflush(NULL), 0);
	pid_t child = fork();
	if (child == 0) {
		setenv("TL_TRACE", path, 1);
		execl("/proc/self/exe", "trace_processes_test", what, path, (char*)NULL);
		_exit(9);
	}
	return child;
}

static void finish(pid_t child) { CHECK_INT(check_exit_of(child), 0); }

TEST(children_write_beside)
{
	pid_t children[CHILDREN];
	CHECK_OK(tl_trace_start(path));
	allocate(OBJECTS);
	for (int i = 0; i < CHILDREN; i++) children[i] = start("work");
	allocate(OBJECTS);
	for (int i = 0; i < CHILDREN; i++) finish(children[i]);
	allocate(OBJECTS);
	CHECK_OK(tl_trace_stop());
	CHECK_INT(files_in_folder(), 1 + CHILDREN);
	check_trace(path, getpid(), 3 * OBJECTS);
	for (int i = 0; i < CHILDREN; i++) check_trace(beside("trace", ".json", children[i]), children[i], OBJECTS);
	empty_folder();
}

/* Nobody is the first by birth: all have the same parent, which writes nothing. */
TEST(siblings_share_a_name)
{
	pid_t children[CHILDREN];
	for (int i = 0; i < CHILDREN; i++) children[i] = start("together");
	for (int i = 0; i < CHILDREN; i++) finish(children[i]);
	int named = 0;
	CHECK_INT(files_in_folder(), CHILDREN);
	for (int i = 0; i < CHILDREN; i++) {
		const char* own = beside("trace", ".json", children[i]);
		if (access(own, F_OK) == 0) {
			check_trace(own, children[i], OBJECTS);
		} else {
			check_trace(path, children[i], OBJECTS);
			named++;
		}
	}
	CHECK_INT(named, 1);
	empty_folder();
}

/* The file of a process that has ended, with exit or by a signal, is replaced. */
TEST(an_old_file_is_replaced)
{
	static const char* const how[] = {"work", "killed", "work"};
	for (int i = 0; i < 3; i++) {
		pid_t child = start(how[i]);
		int status;
		CHECK_INT(waitpid(child, &status, 0), child);
		CHECK_INT(WIFSIGNALED(status), i == 1);
		CHECK_INT(files_in_folder(), 1);
		if (i != 1) check_trace(path, child, OBJECTS);
	}
	empty_folder();
}

/* What a process wrote is there when it is killed, with the places of its code. */
TEST(a_killed_process_leaves_its_stacks)
{
	int status;
	pid_t child = start("idle"); /* it makes no call any more */
	while (!read_file(path) || count("{\"name\":\"stack\"") == 0) usleep(10000);
	CHECK_INT(kill(child, SIGKILL), 0);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && read_file(path));
	CHECK(count("{\"name\":\"alloc\"") > 0 && count("{\"name\":\"stack\"") > 0);
	CHECK(count("/trace_processes_") > 0 && count("\",\"offset\":\"0x") > 0);
	CHECK_INT(count("\"complete\":false"), 1);
	CHECK_INT(count("\"stackFrames\""), 0);
	CHECK(strcmp(text + strlen(text) - 2, "}\n") == 0);
	empty_folder();
}

/* A child without exec has the parent's file open and writes nothing, while it lives and
 * when it ends; nor does it hold the file when the parent is done with it. */
TEST(a_forked_child_writes_nothing)
{
	int hold[2];
	char byte;
	CHECK_INT(pipe(hold), 0);
	CHECK_OK(tl_trace_start(path));
	allocate(OBJECTS);
	CHECK_INT(fflush(NULL), 0);
	pid_t child = fork();
	if (child == 0) {
		close(hold[1]);
		tl_mem_free(tl_mem_alloc(32));
		exit(read(hold[0], &byte, 1) == 0 ? 0 : 1); /* until the parent closes its end */
	}
	allocate(OBJECTS);
	CHECK_OK(tl_trace_stop());
	check_trace(path, getpid(), 2 * OBJECTS);
	CHECK_OK(tl_trace_start(path));
	CHECK_OK(tl_trace_stop());
	close(hold[0]);
	close(hold[1]);
	finish(child);
	CHECK_INT(files_in_folder(), 1);
	check_trace(path, getpid(), 0);
	empty_folder();
}

/* Profiles, snapshots and reports leave the file alone that a trace is written to. */
TEST(other_files_are_written_beside)
{
	CHECK_OK(tl_trace_start(path));
	allocate(OBJECTS);
	for (int i = 0; i < 5; i++) {
		switch (i) {
		case 0: CHECK_OK(tl_profile_write(path)); break;
		case 1: CHECK_OK(tl_snapshot_write(path)); break;
		case 2: CHECK_INT(tl_leak_report(path), 0); break;
		case 3: CHECK_OK(tl_registry_print_statistics(path)); break;
		default: CHECK_OK(tl_stats_print(path));
		}
		CHECK_INT(files_in_folder(), 2);
		CHECK_INT(unlink(beside("trace", ".json", getpid())), 0);
	}
	allocate(OBJECTS);
	CHECK_OK(tl_trace_stop());
	check_trace(path, getpid(), 2 * OBJECTS);
	empty_folder();
}

/* What a process does that this one has started. */
static int work(const char* what)
{
	if (strcmp(what, "together") == 0) usleep(1000); /* until the others have begun, too */
	allocate(OBJECTS);
	while (strcmp(what, "idle") == 0) pause();
	const double end = check_seconds() + 60;
	while (strcmp(what, "together") == 0 && files_in_folder() < CHILDREN && check_seconds() < end) usleep(1000);
	if (strcmp(what, "killed") == 0) abort();
	return check_failures == 0 ? 0 : 1;
}

int main(int argc, char** argv)
{
	if (argc == 3) {
		memcpy(folder, argv[2], sizeof folder - 1);
		return work(argv[1]);
	}
	CHECK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof path, "%s/trace.json", folder);
	check_run();
	rmdir(folder);
	free(text);
	return check_finish();
}
