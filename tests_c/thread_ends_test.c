/* Threads that end: with destructors of thread-local storage that call the library to the last round, and in a forked child
 * beside threads that ended in the parent at that moment. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "check.h"

static pthread_key_t key;
static char armed;

static void use(void)
{
	void* object = (tl_mem_alloc)(100000);
	CHECK_OK(tl_ptr_release(object));
}

/* The C library calls it as often as it sets the key, up to PTHREAD_DESTRUCTOR_ITERATIONS times. */
static void use_and_ask_again(void* value)
{
	use();
	pthread_setspecific(key, value);
}

static void* end_late(void* unused)
{
	use();
	CHECK_INT(pthread_setspecific(key, &armed), 0);
	return unused;
}

static void in_a_thread(void* (*body)(void*), void* argument, void** result)
{
	pthread_t thread;
	CHECK_INT(pthread_create(&thread, NULL, body, argument), 0);
	pthread_join(thread, result);
}

static long mappings(void)
{
	FILE* f = fopen("/proc/self/maps", "re");
	long lines = 0;
	for (int c; f != NULL && (c = getc(f)) != EOF;) lines += c == '\n';
	if (f != NULL) fclose(f);
	return lines;
}

TEST(a_call_in_the_last_destructor_leaves_no_mapping)
{
	enum { THREADS = 200 };
	in_a_thread(end_late, NULL, NULL);
	long before = mappings();
	for (int i = 0; i < THREADS; i++) in_a_thread(end_late, NULL, NULL);
	CHECK(mappings() < before + THREADS / 2);
}

static atomic_bool stop;

static void* use_and_end(void* unused)
{
	use();
	return unused;
}

static void* make_threads(void* unused)
{
	while (!stop) in_a_thread(use_and_end, NULL, NULL);
	return unused;
}

/* In the child this thread is the last one, and its end is the end of the process. */
static void* fork_and_end(void* status)
{
	use();
	pid_t child = fork();
	if (child == 0) {
		alarm(20);
		return NULL;
	}
	if (child < 0 || waitpid(child, status, 0) != child) *(int*)status = -1;
	return NULL;
}

TEST(a_thread_of_a_forked_child_ends)
{
	enum { MAKERS = 3, FORKS = 200 };
	pthread_t makers[MAKERS];
	int failed = 0;
	fflush(NULL);
	for (int i = 0; i < MAKERS; i++) CHECK_INT(pthread_create(&makers[i], NULL, make_threads, NULL), 0);
	for (int i = 0; i < FORKS && failed == 0; i++) in_a_thread(fork_and_end, &failed, NULL);
	CHECK_INT(failed, 0);
	stop = true;
	for (int i = 0; i < MAKERS; i++) pthread_join(makers[i], NULL);
}

int main(void)
{
	CHECK_INT(pthread_key_create(&key, use_and_ask_again), 0);
	check_run();
	tl_mem_exit_scopes_to(0);
	return check_finish();
}
