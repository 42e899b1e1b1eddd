/* A worker: all cells of one place through one path, in sets whose fixtures exist together. */
#include <stdio.h>
#include <stdlib.h>

#include "interpreter.h"
#include "matrix.h"
#include "small_stack.h"

enum { SET_CELLS = 48 };

/* What all workers may hold; requests beyond it are refused. */
static const uint64_t MEMORY_LIMIT = UINT64_C(512) << 20;

typedef struct set {
	const job* job;
	int first, count, at; /* cells of the job; the next one of the set */
	arguments* arguments;
	judgement* judgements;
} set;

/* ---- one cell ----------------------------------------------------------------------------- */

/* Half of the cells begin with a failure that the function does not list, so that a call
 * which clears or overwrites a status is seen. */
static void leave_status(const judgement* j)
{
	const cell* c = j->cell;
	tl_clear_error();
	if ((c->kind + c->param) % 2 == 0 || j->job->place == PLACE_CHILD || j->job->place == PLACE_HANDLER) return;
	if (function_of(c)->statuses & MATRIX_STATUS(TL_E_SCOPE_UNDERFLOW)) tl_ptr_check((void*)1);
	else tl_tag_pop();
}

/* malloc's block belongs to the runtime now, or to nobody. */
static void note_block(judgement* j)
{
	const matrix_function* f = function_of(j->cell);
	for (int i = 0; i < f->count; i++) {
		fixture* x = &j->a->fixtures[i];
		if (x->block == NULL || !f->params[i].trusted) continue;
		x->taken = tl_registry_is_registered(x->block);
		x->consumed = f->params[i].role == MATRIX_BLOCK && j->record->last == j->record->before;
	}
}

/* Where memory was freed, and beyond an object, another fixture may live, which knows nothing of a
 * reference that the call has taken to it for the caller. */
static void drop_reference(const judgement* j)
{
	static const char* const take[] = {"tl_ptr_acquire", "tl_ptr_inc_ref", "tl_tensor_acquire", NULL};
	const fixture* x = &j->a->fixtures[0];
	bool anothers =
		x->kind != NULL && ((x->kind->ripen != NULL && x->object == NULL) || (x->kind->flags & KIND_LOOSE) != 0);
	if (anothers && is_among(function_of(j->cell), take) && tl_last_status() == j->record->before)
		tl_ptr_release((void*)(uintptr_t)j->a->words[0]);
}

/* ---- the stack of a call --------------------------------------------------------------------- */

static void call_now(void* of)
{
	judgement* j = of;
	j->result = function_of(j->cell)->call(j->a->words);
}

/* On a small stack, but for a handler, which has one of its own. */
static void call_on_small_stack(judgement* j)
{
	static small_stack stack;
	if (j->job->place == PLACE_HANDLER) {
		call_now(j);
		return;
	}
	if (stack.low == NULL) small_stack_open(&stack);
	size_t depth = small_stack_call(&stack, call_now, j);
	if (depth > SMALL_STACK_MOST) j->record->faults |= FAULT_STACK;
	if (j->job->alone) printf("bytes of the caller's stack: %zu\n", depth);
}

static void try_cell(judgement* j)
{
	if (place_answers(j->job->place, j->job->path)) judge_before(j);
	leave_status(j);
	j->record->before = (int8_t)tl_last_status();
	call_on_small_stack(j);
	judge(j);
	note_block(j);
	drop_reference(j);
	j->record->state = RAN;
}

/* ---- what a call has made -------------------------------------------------------------------- */

static bool is_ours(const judgement* j, const void* p)
{
	for (int i = 0; i < MATRIX_PARAMS; i++) {
		const fixture* f = &j->a->fixtures[i];
		/* Where nothing lives, the call may have made what it returns. */
		bool free_memory = f->kind != NULL && (f->kind->ripen != NULL || (f->kind->flags & KIND_LOOSE) != 0);
		if (!free_memory && (p == f->pointer || p == f->object || p == (void*)(uintptr_t)j->a->words[i])) return true;
		for (int k = 0; k < FIXTURE_OWNED; k++)
			if (p == f->owned[k]) return true;
	}
	return false;
}

static void drop_result(judgement* j)
{
	const matrix_function* f = function_of(j->cell);
	void* p = (void*)(uintptr_t)j->result;
	if (f->result != MATRIX_RETURNS_POINTER || p == NULL || is_ours(j, p)) return;
	if (f->failure_argument >= 0 && j->result == j->a->words[f->failure_argument]) return;
	if (is_called(f, "tl_aligned_alloc")) tl_aligned_free(p);
	else if (is_called(f, "tl_cell_new") || is_called(f, "tl_cell_new_typed")) tl_cell_free(p);
	else if (is_called(f, "tl_tensor_to_dlpack")) ((struct DLManagedTensorVersioned*)p)->deleter(p);
	else if (is_called(f, "tl_tensor_to_dlpack_legacy")) ((struct DLManagedTensor*)p)->deleter(p);
	else if (strncmp(f->name, "tl_numpy_", 9) == 0 && !is_called(f, "tl_numpy_handler")) tl_numpy_free(NULL, p, 0);
	else if (is_called(f, "tl_python_capsule") || is_called(f, "tl_python_arrow") ||
	         is_called(f, "tl_python_registered"))
		end_capsule(p);
	else if (tl_ptr_check(p) == TL_OK) release_all(p);
}

static void drop_outputs(judgement* j)
{
	const matrix_function* f = function_of(j->cell);
	for (int i = 0; i < f->count; i++) {
		void* made;
		if (f->params[i].role != MATRIX_OUTPUT || f->params[i].bytes != sizeof made || j->a->words[i] == 0) continue;
		memcpy(&made, j->a->outputs[i], sizeof made);
		if (is_called(f, "tl_plan_create")) tl_plan_destroy(made);
		else if (is_called(f, "tl_memory_pool_create")) tl_memory_pool_destroy(made);
		else if (!is_ours(j, made) && tl_ptr_check(made) == TL_OK) release_all(made);
	}
}

/* Whatever a cell that stands alone has changed for the others. */
static void restore(void)
{
	tl_mem_set_limit(TL_DEVICE_CPU, 0, 0);
	tl_mem_set_limit(TL_MEM_OWN_ALLOCATORS, 0, 0);
	tl_mem_set_limit(TL_MEM_TOTAL, 0, MEMORY_LIMIT);
	tl_pool_set_limits(32, (size_t)MEMORY_LIMIT);
	tl_set_error_callback(NULL, NULL);
	tl_mem_set_out_of_memory_callback(NULL, NULL);
	tl_configure("TL_MEM_LOG", "0");
	tl_trace_stop();
	while (tl_tag_pop() == TL_OK) {}
}

/* ---- a set ------------------------------------------------------------------------------------ */

static void work(void* of)
{
	set* s = of;
	for (; s->at < s->count; s->at++) {
		judgement* j = &s->judgements[s->at];
		s->job->progress->current = s->first + s->at;
		s->job->progress->moves++;
		if (j->record->state != NOT_RUN) continue;
		try_cell(j);
		if (s->job->place == PLACE_HANDLER || s->job->place == PLACE_CHILD) continue;
		drop_result(j);
		drop_outputs(j);
	}
}

static bool are_alike(const cell* a, const cell* b)
{
	return !cell_stands_alone(a) && cell_needs_stack(a) == cell_needs_stack(b) && cell_is_loose(a) == cell_is_loose(b);
}

static int set_size(const job* j, int first)
{
	const cell* c = &j->cells[first];
	int n = 1;
	if (cell_stands_alone(c)) return 1;
	while (n < SET_CELLS && first + n < j->count && are_alike(&c[n], c)) n++;
	return n;
}

static void set_open(set* s)
{
	s->job->progress->current = s->first; /* the one to blame when fixtures cannot be made */
	s->job->progress->moves++;
	if (s->job->place == PLACE_SCOPE) tl_mem_enter_scope();
	if (s->job->place == PLACE_SHUTDOWN) tl_shutdown();
	if (cell_needs_stack(&s->job->cells[s->first])) stack_open();
	for (int i = 0; i < s->count; i++) {
		const cell* c = &s->job->cells[s->first + i];
		judgement* j = &s->judgements[i];
		*j = (judgement){.job = s->job, .cell = c, .a = &s->arguments[i], .record = &s->job->records[s->first + i]};
		arguments_make(j->a, c);
		for (int p = 0; p < MATRIX_PARAMS; p++)
			if (j->a->fixtures[p].absent) j->record->state = LEFT_OUT;
	}
	for (int i = 0; i < s->count; i++) arguments_ripen(s->judgements[i].a, s->judgements[i].cell);
	for (int i = 0; i < s->count; i++) judge_before(&s->judgements[i]);
}

/* After tl_shutdown half of the sets see what it has left; but malloc has back what scopes
 * had adopted, and nobody may believe in that again, or write there. */
static unsigned variant_of(const set* s)
{
	unsigned variant = (unsigned)s->first;
	for (int i = 0; i < s->count && s->job->place == PLACE_SHUTDOWN; i++) {
		const matrix_function* f = function_of(&s->job->cells[s->first + i]);
		for (int p = 0; p < f->count; p++)
			if (f->params[p].trusted || f->params[p].role == MATRIX_MEMORY) variant |= 1;
	}
	return variant;
}

/* A child that dies is followed by another one for the cells behind it. */
static void set_try(set* s)
{
	set_run run = {work, s, variant_of(s), cell_needs_stack(&s->job->cells[s->first])};
	progress* p = s->job->progress;
	int signal;
	for (s->at = 0; (signal = place_run(s->job->place, &run)) != 0; s->at = (int)p->current - s->first + 1) {
		record* r = &s->job->records[p->current];
		r->state = CRASHED;
		r->signal = (uint8_t)signal;
	}
}

static void set_close(set* s)
{
	for (int i = 0; i < s->count && s->job->place == PLACE_HANDLER; i++) {
		judge_counts(&s->judgements[i]);
		drop_result(&s->judgements[i]);
		drop_outputs(&s->judgements[i]);
	}
	if (cell_stands_alone(&s->job->cells[s->first])) restore();
	for (int i = s->count - 1; i >= 0; i--) arguments_drop(s->judgements[i].a, s->judgements[i].cell);
	tl_mem_exit_scopes_to(0);
	tl_arena_free();
	settle_elsewhere();
	tl_shutdown();
}

/* What is live when nothing of a set is, but for objects that were made immortal. */
static int64_t live_objects(void)
{
	tl_stats stats = {.struct_size = sizeof stats};
	tl_stats_get(&stats);
	return (int64_t)(stats.live_objects + stats.foreign_live);
}

static bool makes_immortal(const set* s)
{
	for (int i = 0; i < s->count; i++)
		if (is_called(function_of(&s->job->cells[s->first + i]), "tl_ptr_make_immortal")) return true;
	return false;
}

static uint16_t set_check(set* s, int64_t* live)
{
	int64_t before = *live, now = *live = live_objects();
	uint16_t faults = now == before || makes_immortal(s) ? 0 : FAULT_LEAK;
	if (s->job->path == PATH_DEBUG && tl_mem_check_all() != 0) faults |= FAULT_DAMAGE;
	if (s->job->alone && now != before) printf("live objects: %lld, then %lld\n", (long long)before, (long long)now);
	return faults;
}

static uint16_t set_run_all(set* s, int64_t* live)
{
	set_open(s);
	set_try(s);
	set_close(s);
	return set_check(s, live);
}

/* Which cell of a set it was: each is tried once more, by itself. */
static void set_blame(set* s, uint16_t of_all, int64_t* live)
{
	record* records = &s->job->records[s->first];
	set one = *s;
	bool found = false;
	for (int i = 0; i < s->count; i++) {
		record first = records[i];
		records[i] = (record){.state = NOT_RUN};
		one.first = s->first + i;
		one.count = 1;
		uint16_t faults = set_run_all(&one, live);
		if (first.state != NOT_RUN) records[i] = first;
		records[i].faults |= faults;
		found = found || faults != 0;
	}
	if (!found) records[s->count - 1].faults |= of_all;
}

void worker_run(job* j)
{
	set s = {.job = j, .first = (int)j->progress->next};
	s.arguments = calloc(SET_CELLS, sizeof *s.arguments);
	s.judgements = calloc(SET_CELLS, sizeof *s.judgements);
	world_open();
	restore();
	int64_t live = live_objects();
	for (; s.first < j->count; s.first += s.count) {
		s.count = set_size(j, s.first);
		uint16_t faults = set_run_all(&s, &live);
		if (faults != 0 && s.count == 1) j->records[s.first].faults |= faults;
		else if (faults != 0) set_blame(&s, faults, &live);
	}
	free(s.arguments);
	free(s.judgements);
	j->progress->finished = 1;
}
