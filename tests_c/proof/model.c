/* Random programs over the whole library, beside a model of it.
 *
 *     model CONFIGURATION [turns|free|wild]
 *
 * CONFIGURATION is plain, faults (requests for memory to the system fail, on and off),
 * limits (little memory may be used), trace (TL_TRACE is set), or the name of what the
 * environment sets (debug, track, sample), for which it is the same as plain. PROVE_SCALE 1 is CALLS calls.
 * PROVE_AUDIT=1 compares all counters and counts after every step. Wild programs (model_wild.c) have no model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { ROUND_STEPS = 4000, TURN_STEPS = 400, WILD_STEPS = 12 };
static const double CALLS = 2e6;

static const family* const families[] = {
	&faults_family,     &cells_family,  &objects_family, &counts_family,        &vecs_family,  &scopes_family,
	&arena_family,      &graphs_family, &tensors_family, &tensor_counts_family, &views_family, &registry_family,
	&workspaces_family, &shared_family, &sparse_family,  &pools_family,         &plans_family, &dlpack_family,
	&tracking_family,   &refs_family,   &shapes_family,
};
enum { FAMILIES = sizeof families / sizeof families[0] };

static struct {
	const char *program, *configuration, *mode;
	uint64_t seed;
	double scale;
	bool audit; /* after every step: slow, and finds the step */
} given;

static uint64_t calls(void) { return model.worlds[0].calls + model.worlds[1].calls + model.outside.calls; }

/* ---- one world at work ----------------------------------------------------------------------- */

static const family* draw_family(world* w)
{
	unsigned sum = 0, n;
	for (int i = 0; i < FAMILIES; i++) sum += families[i]->weight;
	n = (unsigned)draw(w, sum);
	for (int i = 0;; i++) {
		if (n < families[i]->weight) return families[i];
		n -= families[i]->weight;
	}
}

static void work(world* w, int steps)
{
	for (int i = 0; i < steps; i++) {
		w->steps++;
		if (model.wild) {
			wild_step(w);
			continue;
		}
		draw_family(w)->step(w);
		events_end(w);
		if ((w->audit || given.audit) && model.turns) {
			check_stats(w);
			check_counts(w);
		}
		w->audit = false;
	}
}

/* A thread looks at what others have left for it. */
static void poll(world* w)
{
	for (int i = 0; i < 2; i++) {
		note(w, "enter and exit");
		want(w, tl_mem_enter_scope(), GOOD);
		want(w, tl_mem_exit_scope(), GOOD);
	}
	events_end(w);
}

static void check(world* w)
{
	poll(w);
	for (int i = 0; i < FAMILIES; i++)
		if (families[i]->check != NULL) families[i]->check(w);
	check_counts(w);
}

/* Families were listed in the order in which things are made. */
static void finish(world* w)
{
	for (int i = 0; i < FAMILIES; i++)
		if (families[i] != &counts_family && families[i]->finish != NULL) families[i]->finish(w);
	counts_family.finish(w);
}

/* ---- two threads ------------------------------------------------------------------------------- */

typedef enum order { WAIT, WORK_TURN, WORK_ROUND, BEGIN_WILD, POLL, CHECK, FINISH, END } order;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	order orders[2];
} control = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {WAIT, WAIT}};

static void give(int k, order o)
{
	pthread_mutex_lock(&control.lock);
	control.orders[k] = o;
	pthread_cond_broadcast(&control.changed);
	pthread_mutex_unlock(&control.lock);
}

static void until_done(int k)
{
	pthread_mutex_lock(&control.lock);
	while (control.orders[k] != WAIT) pthread_cond_wait(&control.changed, &control.lock);
	pthread_mutex_unlock(&control.lock);
}

static void one(int k, order o)
{
	give(k, o);
	until_done(k);
}

static void each(order o)
{
	one(0, o);
	one(1, o);
}

static void both(order o)
{
	give(0, o);
	give(1, o);
	until_done(0);
	until_done(1);
}

static order next_order(int k)
{
	pthread_mutex_lock(&control.lock);
	while (control.orders[k] == WAIT) pthread_cond_wait(&control.changed, &control.lock);
	order o = control.orders[k];
	pthread_mutex_unlock(&control.lock);
	return o;
}

static void* live(void* argument)
{
	world* w = argument;
	order o;
	here = w;
	while ((o = next_order(w->number)) != END) {
		switch (o) {
		case WORK_TURN: work(w, 1 + (int)draw(w, model.wild ? WILD_STEPS : TURN_STEPS)); break;
		case WORK_ROUND: work(w, ROUND_STEPS); break;
		case BEGIN_WILD: wild_begin(w); break;
		case POLL: poll(w); break;
		case CHECK: check(w); break;
		case FINISH: finish(w); break;
		default: break;
		}
		give(w->number, WAIT);
	}
	return NULL;
}

static void settle(void)
{
	end_shortage(&model.outside);
	each(POLL);
	each(POLL);
	events_settle(&model.worlds[0]);
	events_settle(&model.worlds[1]);
	model.pending = 0;
	each(CHECK);
	check_stats(&model.outside);
}

static void round_of_turns(void)
{
	for (int steps = 0; steps < 2 * ROUND_STEPS; steps += TURN_STEPS / 2) one((int)draw(&model.outside, 2), WORK_TURN);
}

static void end_threads(void)
{
	give(0, END);
	give(1, END);
	pthread_join(model.worlds[0].thread, NULL);
	pthread_join(model.worlds[1].thread, NULL);
}

/* Programs without promises. Whatever is left of one stays. */
static void wild(void)
{
	while ((double)calls() < CALLS * given.scale) {
		each(BEGIN_WILD);
		for (int steps = 0; steps < ROUND_STEPS; steps += WILD_STEPS / 2) one((int)draw(&model.outside, 2), WORK_TURN);
	}
	end_threads();
	end_tracking(&model.outside);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static void claim_line(int failed)
{
	printf("proof: %" PRIu64 " calls of %s tried, %d failed: in %s; %" PRIu64 " bad pointers, %" PRIu64
	       " refusals for want of memory\n",
	       calls(), given.configuration, failed, given.mode, model.bad_pointers, model.refusals);
	fflush(stdout);
}

void report_failure(void)
{
	extern char** environ;
	fprintf(stderr, "PROVE_SEED=%" PRIu64 " PROVE_SCALE=%g", given.seed, given.scale);
	for (char** e = environ; *e != NULL; e++)
		if (strncmp(*e, "TL_", 3) == 0) fprintf(stderr, " %s", *e);
	fprintf(stderr, " %s %s %s\n", given.program, given.configuration, given.mode);
	claim_line(1);
}

static void begin(world* w, int number)
{
	w->number = number;
	w->random = (given.seed * 4 + (uint64_t)number + 1) * UINT64_C(0x9E3779B97F4A7C15) | 1;
	for (int i = 0; i < 8; i++) draw(w, 2);
}

static void end(void)
{
	tl_stats now;
	memset(&now, 0, sizeof now);
	now.struct_size = sizeof now;
	end_shortage(&model.outside);
	each(FINISH);
	each(POLL);
	each(FINISH);
	each(POLL);
	events_settle(&model.worlds[0]);
	events_settle(&model.worlds[1]);
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < model.worlds[k].items_len; i++)
			if (!model.worlds[k].items[i]->immortal)
				fail(&model.outside, "%s is left: %" PRId64 " references", name(model.worlds[k].items[i]),
				     model.worlds[k].items[i]->count);
	end_threads();
	note(&model.outside, "the end");
	want(&model.outside, tl_mem_purge(), GOOD);
	want(&model.outside, tl_stats_get(&now), GOOD);
	want_int(&model.outside, (int64_t)now.live_objects, model.worlds[0].immortals + model.worlds[1].immortals,
	         "live objects");
	want_int(&model.outside, (int64_t)now.foreign_live, 0, "foreign_live");
	want_int(&model.outside, (int64_t)now.scope_entries, 0, "scope_entries");
	end_tracking(&model.outside);
}

static void by_the_model(void)
{
	while ((double)calls() < CALLS * given.scale) {
		if (model.turns) round_of_turns();
		else both(WORK_ROUND);
		settle();
	}
	end();
}

static uint64_t number_of(const char* variable, uint64_t otherwise)
{
	const char* text = getenv(variable);
	return text == NULL || *text == '\0' ? otherwise : strtoull(text, NULL, 10);
}

static bool is_set(const char* variable) { return number_of(variable, 0) != 0; }

int main(int argc, char** argv)
{
	const char* scale = getenv("PROVE_SCALE");
	given.program = argv[0];
	given.configuration = argc > 1 ? argv[1] : "plain";
	given.mode = argc > 2 ? argv[2] : "turns";
	given.seed = number_of("PROVE_SEED", 1);
	given.scale = scale == NULL ? 0.01 : strtod(scale, NULL);
	given.audit = is_set("PROVE_AUDIT");
	model.wild = strcmp(given.mode, "wild") == 0;
	model.turns = strcmp(given.mode, "turns") == 0 || model.wild;
	model.debug = is_set("TL_DEBUG");
	begin_shortage(given.configuration);
	begin_tracking(given.configuration);
	here = &model.outside;
	begin(&model.worlds[0], 0);
	begin(&model.worlds[1], 1);
	begin(&model.outside, 2);
	define_types(&model.outside);
	begin_commons(&model.outside);
	for (int k = 0; k < 2; k++)
		if (pthread_create(&model.worlds[k].thread, NULL, live, &model.worlds[k]) != 0) abort();
	if (model.wild) wild();
	else by_the_model();
	claim_line(0);
	return 0;
}
