/* Executes the steps of tests_go/model through the library, one line each:
 *
 *     new 3 64        the result of tl_mem_new(64) gets handle 3
 *     release h3+8    a call on an address: handle, offset; "-" is NULL, "#10" a number, "&" static memory
 *
 * and writes one line in reply, with statuses, numbers and handles, never addresses:
 *
 *     value status            calls that return a number or a status, and tl_last_status
 *     =k status [content]     calls that return an address: the lowest handle that has it
 *
 * "@1 " in front runs the step on a second thread.
 * tests_go/model/machine.go is the same program for a Go process.
 */
#include <pthread.h>

#include "driver_steps.h"

static int64_t base[5];

static void read_stats(int64_t now[5])
{
	tl_stats stats = {.struct_size = sizeof stats};
	tl_stats_get(&stats);
	now[0] = (int64_t)stats.live_objects;
	now[1] = (int64_t)stats.live_bytes;
	now[2] = (int64_t)stats.foreign_live;
	now[3] = destroyed;
	now[4] = (int64_t)stats.scope_entries_skipped;
}

static void step_stats(const step* s)
{
	int64_t now[5];
	(void)s;
	read_stats(now);
	*reply = '\0';
	for (int i = 0; i < 5; i++) sprintf(reply + strlen(reply), i == 0 ? "%" PRId64 : " %" PRId64, now[i] - base[i]);
}

/* Ends a sequence: handles mean nothing from here on. */
static void step_baseline(const step* s)
{
	(void)s;
	read_stats(base);
	memset(handles, 0, sizeof handles);
}

static void step_dead(const step* s) { handles[s->a[0]].dead = true; }

static void step_hostfree(const step* s) { free(pointer(s, 0)); }

static const struct {
	const char* name;
	void (*run)(const step*);
} specials[] = {
	{"realloc", step_realloc},       {"malloc", step_malloc},       {"vec_get", step_vec_get},
	{"get_buffer", step_get_buffer}, {"get_field", step_get_field}, {"set_field", step_set_field},
	{"finish", step_finish},         {"verify", step_verify},       {"arena_state", step_arena_state},
	{"stats", step_stats},           {"baseline", step_baseline},   {"dead", step_dead},
	{"hostfree", step_hostfree},
};

static void run(const step* s)
{
	tl_clear_error();
	for (size_t i = 0; i < sizeof callers / sizeof callers[0]; i++)
		if (strcmp(callers[i].name, s->name) == 0) {
			int64_t value = call(&callers[i], s);
			sprintf(reply, "%" PRId64 " %d", value, tl_last_status());
			return;
		}
	for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
		if (strcmp(makers[i].name, s->name) == 0) {
			replied_address(&makers[i], s);
			return;
		}
	strcpy(reply, ".");
	for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++)
		if (strcmp(specials[i].name, s->name) == 0) {
			specials[i].run(s);
			return;
		}
	sprintf(reply, "no such call");
}

/* The second thread runs one step at a time, when it is its turn. */

static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static const step* for_second; /* guarded by turn_lock; NULL: done */

static void* second_thread(void* unused)
{
	pthread_mutex_lock(&turn_lock);
	for (;;) {
		while (for_second == NULL) pthread_cond_wait(&turn_changed, &turn_lock);
		run(for_second);
		for_second = NULL;
		pthread_cond_broadcast(&turn_changed);
	}
	return unused;
}

static void run_on(int thread, const step* s)
{
	static bool started;
	pthread_t second;
	if (thread == 0) {
		run(s);
		return;
	}
	if (!started && pthread_create(&second, NULL, second_thread, NULL) != 0) abort();
	started = true;
	pthread_mutex_lock(&turn_lock);
	for_second = s;
	pthread_cond_broadcast(&turn_changed);
	while (for_second != NULL) pthread_cond_wait(&turn_changed, &turn_lock);
	pthread_mutex_unlock(&turn_lock);
}

/* Both threads notice what the other has left for them, and what that leaves. */
static void poll_both(void)
{
	enum { ROUNDS = 4 };
	for (int i = 0; i < 2 * ROUNDS; i++) {
		run_on(i % 2, &(step){.name = "enter_scope"});
		run_on(i % 2, &(step){.name = "exit_scope"});
	}
	strcpy(reply, ".");
}

/* An argument; false when it names a handle whose memory belongs to a newer object. */
static bool argument(char* word, int64_t* value)
{
	static char known_to_nobody[64];
	char* rest;
	if (*word == 'h') {
		const handle* h = &handles[strtol(word + 1, &rest, 10)];
		*value = (int64_t)h->p + (*rest == '+' ? strtol(rest + 1, NULL, 10) : 0);
		return !h->reused;
	}
	if (*word == '#') *value = (int64_t)strtoull(word + 1, NULL, 16);
	else if (*word == '&') *value = (int64_t)(uintptr_t)known_to_nobody;
	else *value = strcmp(word, "-") == 0 ? 0 : strtoll(word, NULL, 10);
	return true;
}

static void execute(char* line)
{
	step s = {0};
	int thread = 0, n = 0;
	char* word = strtok(line, " \n");
	if (word != NULL && *word == '@') {
		thread = word[1] - '0';
		word = strtok(NULL, " \n");
	}
	s.name = word == NULL ? "" : word;
	while ((word = strtok(NULL, " \n")) != NULL && n < MAX_WORDS)
		if (!argument(word, &s.a[n++])) {
			strcpy(reply, "reused");
			return;
		}
	if (strcmp(s.name, "poll") == 0) poll_both();
	else run_on(thread, &s);
}

int main(void)
{
	char line[MAX_LINE];
	for (int i = 0; i < TYPES; i++)
		if (tl_type_define(&descriptions[i], &types[i]) != TL_OK) return 1;
	read_stats(base);
	setvbuf(stdout, NULL, _IOLBF, MAX_LINE); /* after a crash the last reply tells where it was */
	while (fgets(line, sizeof line, stdin) != NULL) {
		execute(line);
		puts(reply);
	}
	return 0;
}
