/* Files that the library writes, where there is no room for them: the call says so, the file that was there before stays
 * as it was, nothing is left beside it, and the program goes on. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "check.h"

static const char old[] = "what was there before\n";

static char folder[] = "/tmp/tl_output_XXXXXX";
static char path[64], other[64];

/* ---- who writes ---------------------------------------------------------------------- */

static tl_status leak_report(const char* to) { return tl_leak_report(to) < 0 ? tl_last_status() : TL_OK; }

static tl_status trace(const char* to)
{
	tl_status status = tl_trace_start(to);
	return status == TL_OK ? tl_trace_stop() : status;
}

static const struct writer {
	const char *name, *begins; /* what it writes */
	tl_status (*write)(const char* to);
} writers[] = {
	{"tl_stats_print", "", tl_stats_print},
	{"tl_leak_report", "", leak_report},
	{"tl_profile_write", "\x1f\x8b", tl_profile_write},
	{"tl_snapshot_write", "\x80", tl_snapshot_write},
	{"tl_registry_print_statistics", "", tl_registry_print_statistics},
	{"tl_trace", "{\"writer\":\"TL Runtime\"", trace},
};

enum { WRITERS = sizeof writers / sizeof *writers };

/* ---- files ------------------------------------------------------------------------------ */

static char* content;

static size_t read_file(const char* name)
{
	size_t n = 0, room = 64;
	int file = open(name, O_RDONLY | O_CLOEXEC);
	free(content);
	content = calloc(1, room);
	for (ssize_t some; file >= 0 && (some = read(file, content + n, room - n - 1)) > 0;) {
		n += (size_t)some;
		if (n + 1 == room) content = realloc(content, room *= 2);
	}
	content[n] = 0;
	if (file >= 0) close(file);
	return n;
}

static void write_old(const char* name)
{
	int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK_INT(write(file, old, sizeof old - 1), sizeof old - 1);
	close(file);
}

/* Everything in the folder counts, hidden or not. */
static int files_in_folder(void)
{
	int n = 0;
	DIR* all = opendir(folder);
	for (struct dirent* e; all != NULL && (e = readdir(all)) != NULL;)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(all);
	return n;
}

static void check_old(const char* by)
{
	read_file(path);
	if (check_failed(strcmp(content, old) == 0 && files_in_folder() == 1))
		fprintf(stderr, "%s: the old file is \"%.40s\", %d files are there\n", by, content, files_in_folder());
}

static void check_written(const struct writer* w, const char* name)
{
	size_t n = read_file(name);
	bool new = n > 0 ? strcmp(content, old) != 0 : w->write == leak_report; /* which is empty without leaks */
	if (check_failed(new && memcmp(content, w->begins, strlen(w->begins)) == 0))
		fprintf(stderr, "%s wrote \"%.40s\"\n", w->name, content);
}

/* Calls with so many bytes for each file. */
static tl_status within(rlim_t most, const struct writer* w)
{
	struct rlimit all;
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &all), 0);
	struct rlimit few = (struct rlimit){most, all.rlim_max};
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &few), 0);
	tl_status status = w->write(path);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &all), 0);
	return status;
}

/* A leak, so that its report is not empty. */
static void* leaked;

TEST(a_file_that_is_too_large)
{
	leaked = tl_mem_alloc(32);
	for (int i = 0; i < WRITERS; i++) {
		write_old(path);
		CHECK_STATUS(within(16, &writers[i]), TL_E_INVALID_ARGUMENT);
		if (check_failed(strstr(tl_last_error(), "file too large") != NULL))
			fprintf(stderr, "%s: %s\n", writers[i].name, tl_last_error());
		check_old(writers[i].name);
		unlink(path);
		CHECK_STATUS(within(16, &writers[i]), TL_E_INVALID_ARGUMENT);
		CHECK_INT(files_in_folder(), 0); /* where the name was free, nothing has it */
		CHECK_OK(writers[i].write(path));
		check_written(&writers[i], path);
		unlink(path);
	}
	CHECK_OK(tl_mem_free(leaked));
}

TEST(devices)
{
	leaked = tl_mem_alloc(32);
	for (int i = 0; i < WRITERS; i++) {
		CHECK_OK(writers[i].write("/dev/null"));
		if (access("/dev/full", W_OK) != 0) continue;
		CHECK_STATUS(writers[i].write("/dev/full"), TL_E_INVALID_ARGUMENT);
		CHECK(strstr(tl_last_error(), "no space left on device") != NULL);
	}
	if (access("/dev/full", W_OK) != 0) printf("skip: /dev/full is not there\n");
	CHECK_OK(tl_mem_free(leaked));
}

TEST(mode_and_links_are_kept)
{
	for (int i = 0; i < WRITERS; i++) {
		struct stat before, now;
		write_old(other);
		CHECK_INT(chmod(other, 0640), 0);
		if (geteuid() == 0) CHECK_INT(chown(other, 4711, 4712), 0);
		CHECK_INT(stat(other, &before), 0);
		CHECK_INT(symlink("other", path), 0);
		CHECK_OK(writers[i].write(path));
		CHECK(lstat(path, &now) == 0 && S_ISLNK(now.st_mode));
		CHECK_INT(stat(path, &now), 0);
		CHECK_INT(now.st_mode, before.st_mode);
		CHECK_INT(now.st_uid, before.st_uid);
		CHECK_INT(now.st_gid, before.st_gid);
		CHECK(now.st_ino != before.st_ino);
		CHECK_INT(files_in_folder(), 2);
		check_written(&writers[i], other);
		unlink(path);
		unlink(other);
	}
}

TEST(a_file_of_two_names_has_both)
{
	struct stat one, two;
	write_old(other);
	CHECK_INT(link(other, path), 0);
	CHECK_OK(tl_stats_print(path));
	CHECK(stat(path, &one) == 0 && stat(other, &two) == 0 && one.st_ino == two.st_ino);
	check_written(&writers[0], other);
	CHECK_INT(files_in_folder(), 2);
	unlink(path);
	unlink(other);
}

TEST(a_folder_that_takes_no_file)
{
	if (geteuid() == 0) {
		printf("skip: root writes into every folder\n");
		return;
	}
	for (int i = 0; i < WRITERS; i++) {
		struct stat before, now;
		write_old(path);
		CHECK_INT(stat(path, &before), 0);
		CHECK_INT(chmod(folder, 0500), 0);
		CHECK_OK(writers[i].write(path));
		CHECK_INT(chmod(folder, 0700), 0);
		CHECK_INT(stat(path, &now), 0);
		CHECK(now.st_ino == before.st_ino);
		check_written(&writers[i], path);
		unlink(path);
	}
}

/* Standard error by its name in the file system: what it has stays. */
TEST(a_name_of_a_descriptor)
{
	for (int i = 0; i < WRITERS; i++) {
		write_old(path);
		int error = dup(STDERR_FILENO), file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
		CHECK(dup2(file, STDERR_FILENO) >= 0);
		tl_status status = writers[i].write(i % 2 == 0 ? "/dev/stderr" : "/proc/self/fd/2");
		CHECK_INT(write(STDERR_FILENO, "behind\n", 7), 7);
		CHECK(dup2(error, STDERR_FILENO) >= 0);
		close(error);
		close(file);
		CHECK_OK(status);
		size_t n = read_file(path);
		CHECK_INT(strncmp(content, old, sizeof old - 1), 0);
		CHECK(n >= 7 && memcmp(content + n - 7, "behind\n", 7) == 0);
		CHECK_INT(files_in_folder(), 1);
		unlink(path);
	}
}

/* ---- traces ------------------------------------------------------------------------------- */

enum { OBJECTS = 6000, PART = 600 << 10 };

static void allocate(void)
{
	for (int i = 0; i < OBJECTS; i++) tl_mem_free(tl_mem_alloc(32));
}

static int64_t count(const char* what)
{
	int64_t n = 0;
	for (const char* at = content; (at = strstr(at, what)) != NULL; at++) n++;
	return n;
}

/* A trace of allocate that lacks events, and says how many. */
static void check_incomplete(void)
{
	size_t n = read_file(path);
	const char* dropped = strstr(content, "\"dropped\":");
	CHECK_INT(strlen(content), n);
	CHECK(n > 3 && strcmp(content + n - 3, "}}\n") == 0);
	CHECK_INT(count("\"complete\":false"), 1);
	int64_t written = count("{\"name\":\"alloc\"") + count("{\"name\":\"free\"");
	CHECK(written > 1000 && written < (int64_t)2 * OBJECTS);
	CHECK(dropped != NULL && written + atoll(dropped + 10) == (int64_t)2 * OBJECTS);
	CHECK_INT(files_in_folder(), 1);
}

TEST(a_trace_that_finds_no_room)
{
	struct rlimit all;
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &all), 0);
	struct rlimit few = (struct rlimit){PART, all.rlim_max};
	write_old(path);
	CHECK_OK(tl_trace_start(path));
	read_file(path);
	CHECK_INT(strncmp(content, "{\"writer\"", 9), 0); /* a reader finds it whole from the start */
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &few), 0);
	allocate();
	CHECK_STATUS(tl_trace_stop(), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), " events were lost: ") != NULL);
	CHECK(strstr(tl_last_error(), "file too large") != NULL);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &all), 0);
	check_incomplete();
	CHECK_OK(trace(path));
	check_written(&writers[WRITERS - 1], path);
	unlink(path);
}

/* The end of the process says what nobody asked for. */
TEST(a_trace_of_a_process_that_finds_no_room)
{
	int ends[2];
	char said[512] = {0};
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		struct rlimit few;
		getrlimit(RLIMIT_FSIZE, &few);
		few.rlim_cur = PART;
		setenv("TL_TRACE", path, 1);
		if (setrlimit(RLIMIT_FSIZE, &few) != 0 || dup2(ends[1], STDERR_FILENO) < 0) _exit(9);
		execl("/proc/self/exe", "output_files_test", "trace", (char*)NULL);
		_exit(9);
	}
	close(ends[1]);
	for (size_t n = 0; n + 1 < sizeof said;) {
		ssize_t some = read(ends[0], said + n, sizeof said - 1 - n);
		if (some <= 0) break;
		n += (size_t)some;
	}
	close(ends[0]);
	CHECK_INT(check_exit_of(child), 0);
	check_incomplete();
	CHECK_INT(strncmp(said, "tl_runtime: part of the trace could not be written: ", 52), 0);
	CHECK(strstr(said, "file too large\n") != NULL);
	unlink(path);
}

/* The file of a trace does not become standard error where the program has closed that. */
TEST(a_trace_without_standard_error)
{
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		setenv("TL_TRACE", path, 1);
		setenv("TL_ON_ERROR", "log", 1);
		for (int i = 0; i <= STDERR_FILENO; i++) close(i);
		execl("/proc/self/exe", "output_files_test", "trace", (char*)NULL);
		_exit(9);
	}
	CHECK_INT(check_exit_of(child), 0);
	read_file(path);
	CHECK_INT(count("\"complete\":true"), 1);
	CHECK_INT(count("{\"name\":\"alloc\""), OBJECTS);
	CHECK(strstr(content, "tl_runtime: ") == NULL);
	unlink(path);
}

static void* reads_pipe(void* unused)
{
	read_file(path);
	return unused;
}

TEST(a_trace_into_a_pipe)
{
	pthread_t thread;
	CHECK_INT(mkfifo(path, 0600), 0);
	CHECK_INT(pthread_create(&thread, NULL, reads_pipe, NULL), 0);
	tl_status status;
	for (int i = 0; (status = tl_trace_start(path)) != TL_OK && i < 1000; i++) usleep(10000); /* until it reads */
	CHECK_OK(status);
	allocate();
	CHECK_OK(tl_trace_stop());
	pthread_join(thread, NULL);
	CHECK_INT(strncmp(content, "{\"writer\"", 9), 0);
	CHECK_INT(count("{\"name\":\"alloc\""), OBJECTS);
	CHECK_INT(count("\"complete\":true"), 1);
	CHECK_INT(count("\"otherData\""), 1);
	unlink(path);
}

static void* reads_little(void* reader)
{
	char some[4096];
	while (read(*(int*)reader, some, sizeof some) <= 0) usleep(1000); /* until there is a writer */
	close(*(int*)reader);
	return NULL;
}

/* The program goes on whatever it does with SIGPIPE, since it writes nothing there itself. */
TEST(a_pipe_whose_reader_leaves)
{
	pthread_t thread;
	CHECK_INT(mkfifo(path, 0600), 0);
	int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CHECK_OK(tl_trace_start(path));
	close(reader);
	allocate();
	CHECK_STATUS(tl_trace_stop(), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "broken pipe") != NULL);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CHECK_INT(fcntl(reader, F_SETFL, 0), 0);
	CHECK_INT(pthread_create(&thread, NULL, reads_little, &reader), 0);
	CHECK_STATUS(tl_snapshot_write(path),
	             TL_E_INVALID_ARGUMENT); /* with the events of the trace, which is more than fits */
	CHECK(strstr(tl_last_error(), "broken pipe") != NULL);
	pthread_join(thread, NULL);
	unlink(path);
}

int main(int argc, char** argv)
{
	(void)argv;
	if (argc == 2) {
		tl_ptr_release((void*)0x1001); /* a line on standard error, with TL_ON_ERROR=log */
		allocate();
		return 0;
	}
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	CHECK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof path, "%s/file.json", folder);
	snprintf(other, sizeof other, "%s/other", folder);
	check_run();
	rmdir(folder);
	free(content);
	return check_finish();
}
