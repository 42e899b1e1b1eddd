/* What the library takes from the environment: nothing in a program with rights of its own; of Go's variables what Go can
 * read; and it puts nothing there. Each case is a new process, since a process starts once.
 *
 *     environment_test             runs all cases
 *     environment_test CASE        is one of them
 */
#include <fcntl.h>
#include <grp.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "check.h"
#include "thread.h"

extern char** environ;

enum { PATIENCE = 60, SKIPPED = 77, NOBODY = 65534 };

static const char* program;

/* ---- processes ---------------------------------------------------------------------- */

/* Runs a case with settings, up to a NULL, and what it writes on standard error in a file. Returns its exit status; -1: a
 * signal ended it. */
static int run_case(const char* file, const char* name, char* const settings[], uid_t user, FILE* errors)
{
	int status = -1;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		alarm(PATIENCE);
		for (; *settings != NULL; settings++) putenv(*settings);
		if (errors != NULL) dup2(fileno(errors), 2);
		if (freopen("/dev/null", "w", stdout) == NULL) _exit(127);
		if (user != getuid() && (setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0)) _exit(SKIPPED);
		execl(file, file, name, (char*)NULL);
		_exit(127);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run_with(const char* name, char* setting)
{
	char* const settings[] = {setting, NULL};
	return run_case(program, name, settings, getuid(), NULL);
}

/* ---- a program with rights that its caller lacks ------------------------------------ */

static bool pretends;

/* The library calls this one. */
unsigned long getauxval(unsigned long type)
{
	unsigned long entry[2], value = 0;
	if (pretends && type == AT_SECURE) return 1;
	int file = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
	while (file >= 0 && read(file, entry, sizeof entry) == sizeof entry)
		if (entry[0] == type) value = entry[1];
	if (file >= 0) close(file);
	return value;
}

/* Before the library is loaded. */
static void look_for_the_case(int argc, char** argv) { pretends = argc > 1 && strcmp(argv[1], "secure") == 0; }
__attribute__((section(".preinit_array"), used)) static void (*const at_first)(int, char**) = look_for_the_case;

static char* const hostile[] = {"TL_START=first-use", "TL_TRACE=/tmp/tl_trace_of_a_stranger.json",
                                "TL_MEM_LOG=1",       "TL_CUDA_LIBRARY=/tmp/stranger.so",
                                "TL_FASTPAHT=1",      NULL};

static int take_nothing(void)
{
	char dump[8192] = "";
	if (getauxval(AT_SECURE) == 0) return SKIPPED;
	CHECK(getenv("TL_TRACE") != NULL);
	CHECK(tl_is_started()); /* TL_START did not count */
	CHECK_OK(tl_log_alloc(program, 64, __FILE__, __LINE__));
	CHECK_OK(tl_init());
	CHECK_OK(tl_log_alloc(program, 64, __FILE__, __LINE__));
	CHECK(tl_config_dump(dump, sizeof dump) < sizeof dump);
	CHECK(strstr(dump, "(environment)") == NULL);
	CHECK(strstr(dump, "\n#") == NULL);
	CHECK_OK(tl_configure("TL_MEM_LOG", "1"));
	CHECK_OK(tl_configure("TL_MEM_LOG", "0"));
	return check_finish();
}

static void says_nothing(const char* file, const char* name, uid_t user)
{
	FILE* errors = tmpfile();
	unlink("/tmp/tl_trace_of_a_stranger.json");
	int result = run_case(file, name, hostile, user, errors);
	if (result == SKIPPED || result == 127) {
		printf("skip: no setuid program can be run here\n");
	} else {
		CHECK_INT(result, 0);
		CHECK_INT(lseek(fileno(errors), 0, SEEK_END), 0);
		CHECK(access("/tmp/tl_trace_of_a_stranger.json", F_OK) != 0);
	}
	fclose(errors);
}

TEST(a_program_with_other_rights_takes_nothing) { says_nothing(program, "secure", getuid()); }

/* Root's, and everybody may run it. */
TEST(a_setuid_program_takes_nothing)
{
	char folder[] = "/tmp/tl_environment_XXXXXX", copy[64];
	char bytes[4096];
	if (geteuid() != 0 || mkdtemp(folder) == NULL) {
		printf("skip: only root can make a setuid program\n");
		return;
	}
	snprintf(copy, sizeof copy, "%s/program", folder);
	int from = open(program, O_RDONLY), to = open(copy, O_WRONLY | O_CREAT | O_EXCL, 0700);
	for (ssize_t n; (n = read(from, bytes, sizeof bytes)) > 0;) CHECK_INT(write(to, bytes, (size_t)n), n);
	CHECK_INT(fchmod(to, 04755), 0);
	close(from);
	close(to);
	CHECK_INT(chmod(folder, 0755), 0);
	says_nothing(copy, "setuid", NOBODY);
	CHECK_INT(unlink(copy), 0);
	CHECK_INT(rmdir(folder), 0);
}

/* ---- Go's variables ----------------------------------------------------------------- */

static int begin(void)
{
	CHECK_OK(tl_init());
	return check_finish();
}

static int be_refused(void)
{
	const char* variables[] = {"GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"};
	int named = 0;
	for (int i = 0; i < 3; i++) {
		CHECK_FAILS(tl_init(), TL_E_INVALID_ARGUMENT);
		CHECK(strncmp(tl_last_error(), "tl_init: invalid argument: ", 27) == 0);
		for (int v = 0; v < 3; v++)
			named += getenv(variables[v]) != NULL && strstr(tl_last_error(), variables[v]) != NULL;
	}
	CHECK_INT(named, 3);
	CHECK_REFUSED(tl_mem_alloc(64), NULL, TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_configure("TL_MEM_LOG", "1"), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), " the environment") != NULL);
	CHECK(tl_symbols(NULL) == NULL); /* fails for a reason of its own */
	CHECK_INT(strcmp(tl_last_error(), "tl_symbols: invalid argument"), 0);
	CHECK(!tl_is_started());
	return check_failures != 0;
}

TEST(what_go_does_not_take_is_a_status)
{
	static char* const bad[] = {
		"GOMEMLIMIT=4G",
		"GOMEMLIMIT=4GB",
		"GOMEMLIMIT=much",
		"GOMEMLIMIT= 1",
		"GOMEMLIMIT=-1",
		"GOMEMLIMIT=B",
		"GOMEMLIMIT=iB",
		"GOMEMLIMIT=KiB",
		"GOMEMLIMIT=1PiB",
		"GOMEMLIMIT=1.5GiB",
		"GOMEMLIMIT=8388608TiB",
		"GOMEMLIMIT=9223372036854775808",
		"GOMEMLIMIT=OFF",
		"GOMAXPROCS=1025",
		"GOMAXPROCS=1048576",
		"GOMAXPROCS=+2147483647",
		"GODEBUG=cgocheck=2",
		"GODEBUG=a=b,cgocheck=3,x",
		"GODEBUG=profstackdepth=-5",
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (check_failed(run_with("refused", bad[i]) == 0)) fprintf(stderr, "%s\n", bad[i]);
}

/* What Go ignores, it ignores. */
TEST(what_go_takes_works)
{
	static char* const good[] = {
		"GOMEMLIMIT=",
		"GOMEMLIMIT=off",
		"GOMEMLIMIT=4GiB",
		"GOMEMLIMIT=+100000000",
		"GOMEMLIMIT=400000000B",
		"GOMEMLIMIT=8388607TiB",
		"GOMEMLIMIT=300000KiB",
		"GOMAXPROCS=1024",
		"GOMAXPROCS=many",
		"GOMAXPROCS=-3",
		"GOMAXPROCS=99999999999",
		"GOMAXPROCS=2x",
		"GODEBUG=cgocheck=0",
		"GODEBUG=cgocheck=2,cgocheck=1",
		"GODEBUG=profstackdepth=64,cgocheck=1",
		"GODEBUG=cgocheck=x,,=",
		"GOGC=perhaps",
	};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (check_failed(run_with("begin", good[i]) == 0)) fprintf(stderr, "%s\n", good[i]);
}

/* ---- options before the first use --------------------------------------------------- */

static void check_source(const char* line)
{
	char dump[8192] = "";
	CHECK(tl_config_dump(dump, sizeof dump) < sizeof dump);
	if (check_failed(strstr(dump, line) != NULL)) fprintf(stderr, "no %s in\n%s", line, dump);
}

static int configure_first(void)
{
	char** before = environ;
	char* settings[1000];
	int count = 0;
	while (environ[count] != NULL) count++;
	CHECK(count < 1000);
	memcpy(settings, environ, (size_t)count * sizeof *settings);
	for (int i = 0; i < 100; i++) CHECK_OK(tl_configure("TL_MEM_LIMIT", i % 2 ? "1GiB" : "2GiB"));
	CHECK_OK(tl_configure("TL_ARENA_BYTES", "8000000"));
	CHECK_OK(tl_configure("TL_HUGE_PAGES", "0"));
	CHECK_FAILS(tl_configure("TL_HUGE_PAGES", "perhaps"), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_configure("TL_START", "load"), TL_E_BUSY);
	CHECK_PTR(environ, before); /* others may be reading it */
	for (int i = 0; i < count; i++) CHECK_PTR(environ[i], settings[i]);
	CHECK_PTR(environ[count], NULL);
	CHECK_OK(tl_init());
	check_source("TL_MEM_LIMIT=1GiB (tl_configure)\n");
	check_source("TL_HUGE_PAGES=0 (tl_configure)\n");
	check_source("TL_ARENA_BYTES=8000000 (tl_configure)\n");
	check_source("\n# TL_ARENA_BYTES: 7995392 bytes are reserved\n");
	CHECK_FAILS(tl_configure("TL_START", "load"), TL_E_BUSY);
	CHECK_FAILS(tl_configure("TL_START", "now"), TL_E_INVALID_ARGUMENT);
	return check_finish();
}

TEST(options_wait_for_the_first_use) { CHECK_INT(run_with("configure", "TL_MEM_LIMIT=5GiB"), 0); }

/* Only lines of tl_log_alloc with an odd number of bytes are expected. */
static int log_first(void)
{
	CHECK_OK(tl_log_alloc(program, getenv("TL_MEM_LOG") != NULL, "", 0));
	CHECK_OK(tl_configure("TL_MEM_LOG", "off"));
	CHECK_OK(tl_log_alloc(program, 2, "", 0));
	CHECK_OK(tl_configure("TL_MEM_LOG", "on"));
	CHECK_OK(tl_log_alloc(program, 3, "", 0));
	CHECK_OK(tl_init());
	CHECK_OK(tl_log_alloc(program, 5, "", 0));
	CHECK_OK(tl_configure("TL_MEM_LOG", "0"));
	CHECK_OK(tl_log_alloc(program, 6, "", 0));
	return check_finish();
}

TEST(the_log_follows_options_from_the_beginning)
{
	static char* const settings[] = {"TL_MEM_LOG=1", NULL};
	char line[256];
	int lines = 0;
	FILE* errors = tmpfile();
	CHECK_INT(run_case(program, "log", settings, getuid(), errors), 0);
	rewind(errors);
	while (fgets(line, sizeof line, errors) != NULL) {
		const char* bytes = strstr(line, " bytes");
		CHECK(bytes != NULL && (bytes[-1] - '0') % 2 == 1);
		lines++;
	}
	CHECK_INT(lines, 3);
	fclose(errors);
}

static pthread_barrier_t together;
static atomic_bool enough;

static void* set_options(void* unused)
{
	meet(&together);
	for (int i = 0; i < 300; i++)
		CHECK_OK(tl_configure(i % 2 ? "TL_DEVICE" : "TL_CUDA_LIBRARY", i % 4 ? "cpu" : "own"));
	CHECK_OK(tl_configure("TL_SHOW_STATS", "0"));
	atomic_store(&enough, true);
	return unused;
}

THREAD(read_the_environment, unused)
{
	meet(&together);
	while (!atomic_load(&enough)) {
		CHECK_OK(tl_log_alloc(program, 64, "", 0));
		CHECK(getenv("TL_NOT_THERE_AT_ALL") == NULL);
	}
}

static int configure_while_others_read(void)
{
	enum { READERS = 3 };
	pthread_t readers[READERS];
	pthread_barrier_init(&together, NULL, READERS + 1);
	for (int i = 0; i < READERS; i++) readers[i] = start_thread(read_the_environment, NULL);
	set_options(NULL);
	for (int i = 0; i < READERS; i++) pthread_join(readers[i], NULL);
	CHECK_OK(tl_init());
	return check_finish();
}

TEST(others_read_the_environment_meanwhile)
{
	for (int i = 0; i < 10; i++) CHECK_INT(run_with("readers", "TL_SOME=1"), 0);
}

THREAD(use_first, unused)
{
	meet(&together);
	CHECK_OK(tl_init());
}

static int configure_beside_the_first_use(void)
{
	pthread_barrier_init(&together, NULL, 2);
	pthread_t thread = start_thread(use_first, NULL);
	meet(&together);
	CHECK_OK(tl_configure("TL_ON_ERROR", "ignore"));
	pthread_join(thread, NULL);
	check_source("TL_ON_ERROR=ignore (tl_configure)\n");
	return check_finish();
}

TEST(an_option_beside_the_first_use_is_not_lost)
{
	for (int i = 0; i < 20; i++) CHECK_INT(run_with("beside", "TL_ON_ERROR=log"), 0);
}

static const struct {
	const char* name;
	int (*run)(void);
} cases[] = {
	{"secure", take_nothing},
	{"setuid", take_nothing},
	{"begin", begin},
	{"refused", be_refused},
	{"configure", configure_first},
	{"log", log_first},
	{"readers", configure_while_others_read},
	{"beside", configure_beside_the_first_use},
};

int main(int argc, char** argv)
{
	program = argv[0];
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0) return cases[i].run();
	return check_tests();
}
