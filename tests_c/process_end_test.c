/* How a process ends whose main thread leaves by pthread_exit: by a thread that calls exit,
 * and not when the last thread of the program has ended, for Go's threads go on.
 *
 *     process_end_test          everything
 *     process_end_test last     one process in which the last thread calls exit(3)
 *     process_end_test nobody   one process in which nobody does
 */
#include <signal.h>

#include "check.h"
#include "thread.h"

enum { EXIT_STATUS = 3, PATIENCE = 30 };

static pthread_t main_thread;

static void work(void)
{
	if (tl_mem_free(tl_mem_alloc(64)) != TL_OK) _exit(1);
}

THREAD(last_thread, unused)
{
	if (pthread_join(main_thread, NULL) != 0) _exit(1);
	work();
	exit(EXIT_STATUS);
}

/* The program of the children: its main thread uses the library and ends first. */
static int end_the_main_thread(bool another)
{
	main_thread = pthread_self();
	work();
	if (another) start_thread(last_thread, NULL);
	pthread_exit(NULL);
}

static pid_t start(const char* program, const char* what)
{
	pid_t child = fork();
	if (child == 0) {
		execl(program, program, what, (char*)NULL);
		_exit(127);
	}
	CHECK(child > 0);
	return child;
}

/* The text after a name in /proc/PID/status. */
static const char* status_of(pid_t child, const char* name)
{
	static char line[256];
	char path[64];
	size_t length = strlen(name);
	snprintf(path, sizeof path, "/proc/%d/status", (int)child);
	FILE* f = fopen(path, "re");
	bool found = false;
	while (f != NULL && !found && fgets(line, sizeof line, f) != NULL) found = strncmp(line, name, length) == 0;
	if (f != NULL) fclose(f);
	return found ? line + length + strspn(line + length, ":\t ") : "";
}

static void a_thread_ends_the_process_after_its_main_thread(const char* program)
{
	int status = -1;
	CHECK_INT(waitpid(start(program, "last"), &status, 0) > 0, true);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_STATUS);
}

/* The main thread is a zombie, and that is all. SIGTERM finds no thread that does not block it. */
static void a_process_without_a_thread_of_its_own_stays(const char* program)
{
	int status = -1;
	pid_t child = start(program, "nobody");
	double end = check_seconds() + PATIENCE;
	while (*status_of(child, "State") != 'Z' && check_seconds() < end) usleep(1000);
	CHECK_INT(waitpid(child, &status, WNOHANG), 0);
	CHECK(atoi(status_of(child, "Threads")) > 1);
	CHECK_INT(kill(child, SIGTERM), 0);
	CHECK_INT(strtoull(status_of(child, "ShdPnd"), NULL, 16), 1ull << (SIGTERM - 1));
	CHECK_INT(waitpid(child, &status, WNOHANG), 0);
	CHECK_INT(kill(child, SIGKILL), 0);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(int argc, char** argv)
{
	if (argc > 1) return end_the_main_thread(strcmp(argv[1], "last") == 0);
	a_thread_ends_the_process_after_its_main_thread(argv[0]);
	a_process_without_a_thread_of_its_own_stays(argv[0]);
	return check_finish();
}
