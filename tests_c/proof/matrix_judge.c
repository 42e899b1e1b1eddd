/* What is wrong with one cell by itself: statuses, messages, values, counts. */
#include <stdio.h>

#include "matrix.h"

const char* fault_text(uint32_t fault)
{
	switch (fault) {
	case FAULT_UNLISTED: return "a status that the header does not list";
	case FAULT_LAST: return "tl_last_status does not fit";
	case FAULT_VALUE: return "failed, and returned what the header does not say";
	case FAULT_SILENT: return "returned the value of a failure, and left no status";
	case FAULT_MESSAGE: return "the message does not begin with the function's name";
	case FAULT_COUNT: return "failed, and changed a count";
	case FAULT_PLACE: return "served where it must not be, or refused where it must work";
	case FAULT_LEAK: return "live objects differ after these cells";
	case FAULT_DAMAGE: return "TL_DEBUG has found memory that was overwritten";
	case FAULT_STACK: return "took more than 8 KiB of the caller's stack";
	default: return "?";
	}
}

/* These tell or change the status; a detached thread begins with none. */
static bool reports_status(const matrix_function* f)
{
	static const char* const names[] = {"tl_last_status", "tl_last_error", "tl_clear_error", "tl_thread_detach", NULL};
	return is_among(f, names);
}

/* A function that can be out of memory can pass a limit: see "Limits" in the header. */
static bool is_listed(const judgement* j, int status)
{
	uint32_t listed = function_of(j->cell)->statuses;
	if (listed & MATRIX_STATUS(TL_E_OUT_OF_MEMORY)) listed |= MATRIX_STATUS(TL_E_LIMIT);
	if (j->job->place == PLACE_CHILD) listed |= MATRIX_STATUS(TL_E_FORKED);
	if (j->job->place == PLACE_HANDLER) listed |= MATRIX_STATUS(TL_E_BUSY);
	return status > 0 && status < 32 && (listed & MATRIX_STATUS(status)) != 0;
}

/* In a child the end of an object that another one held may stay undone. */
static bool is_left_undone(const judgement* j)
{
	const matrix_function* f = function_of(j->cell);
	if (j->job->place != PLACE_CHILD || j->record->last != TL_E_FORKED) return false;
	return is_called(f, "tl_ptr_release_bool") ? j->result != 0 : f->result == MATRIX_RETURNS_STATUS;
}

static bool is_failure(const judgement* j)
{
	const matrix_function* f = function_of(j->cell);
	const record* r = j->record;
	if (f->result == MATRIX_RETURNS_STATUS) return r->status != TL_OK;
	if (is_left_undone(j)) return false;
	return r->last != r->before && r->last != TL_OK;
}

static uint64_t value_of_failure(const judgement* j)
{
	const matrix_function* f = function_of(j->cell);
	return f->failure_argument >= 0 ? j->a->words[f->failure_argument] : (uint64_t)f->failure;
}

/* These tell by their status what became of part of the work, or never fail as a whole. */
static bool returns_what_was_done(const matrix_function* f)
{
	return is_called(f, "tl_registry_unregister_many") || f->result == MATRIX_RETURNS_VOID;
}

/* tl_tensor_prepare_return has two: its argument, or NULL when what has to be copied cannot be. */
static bool returns_failure(const judgement* j)
{
	const matrix_function* f = function_of(j->cell);
	if (f->result == MATRIX_RETURNS_STATUS || j->result == value_of_failure(j)) return true;
	return is_called(f, "tl_tensor_prepare_return") && j->result == j->a->words[0];
}

static uint32_t faults_of_status(const judgement* j)
{
	const matrix_function* f = function_of(j->cell);
	const record* r = j->record;
	uint32_t faults = 0;
	if (!is_failure(j)) {
		bool told = f->failure_argument < 0 && !is_called(f, "tl_deferred_take");
		bool null = f->result == MATRIX_RETURNS_POINTER && j->result == 0 && told;
		bool silent = f->result == MATRIX_RETURNS_INTEGER && f->failure == -1 && (int64_t)j->result == -1;
		if (is_left_undone(j)) return 0;
		if (null ? r->last != TL_OK && !is_listed(j, r->last) : r->last != r->before) faults |= FAULT_LAST;
		return silent ? faults | FAULT_SILENT : faults;
	}
	if (f->result == MATRIX_RETURNS_STATUS && r->last != r->status) faults |= FAULT_LAST;
	if (!is_listed(j, f->result == MATRIX_RETURNS_STATUS ? r->status : r->last)) faults |= FAULT_UNLISTED;
	if (!returns_what_was_done(f) && !returns_failure(j)) faults |= FAULT_VALUE;
	return faults;
}

/* In a child and in a handler there is a sentence without details. */
static bool is_explained(place p) { return p != PLACE_CHILD && p != PLACE_HANDLER; }

static uint32_t faults_of_message(const judgement* j)
{
	const matrix_function* f = function_of(j->cell);
	size_t length = strlen(f->name);
	if (!is_explained(j->job->place)) return 0;
	const char* message = tl_last_error();
	if (strncmp(message, f->name, length) == 0 && message[length] == ':') return 0;
	if (j->job->alone) printf("message: \"%s\"\n", message);
	return FAULT_MESSAGE;
}

/* ---- where a call must be refused -------------------------------------------------------- */

/* docs/threads-and-fork.md: what works in a child of fork() through the fast path, while
 * magazines last; and what works there through either, without one. */
static bool works_in_child(const matrix_function* f)
{
	static const char* const names[] = {"tl_ptr_acquire",
	                                    "tl_ref_of",
	                                    "tl_ref_acquire",
	                                    "tl_ref_get",
	                                    "tl_ref_check",
	                                    "tl_weak_of",
	                                    "tl_weak_get",
	                                    "tl_ptr_inc_ref",
	                                    "tl_ptr_refcount",
	                                    "tl_ptr_is_unique",
	                                    "tl_ptr_check",
	                                    "tl_mem_enter_scope",
	                                    "tl_mem_function_enter",
	                                    "tl_mem_register_struct",
	                                    "tl_mem_register_ptr",
	                                    "tl_mem_unregister",
	                                    "tl_registry_register",
	                                    "tl_registry_unregister",
	                                    "tl_registry_is_registered",
	                                    "tl_tensor_acquire",
	                                    "tl_tensor_info_get",
	                                    "tl_tensor_data",
	                                    "tl_tensor_shape",
	                                    "tl_tensor_numel",
	                                    "tl_tensor_rank",
	                                    "tl_tensor_dtype",
	                                    "tl_tensor_nbytes",
	                                    "tl_tensor_strides",
	                                    "tl_tensor_dim",
	                                    "tl_workspace_get",
	                                    "tl_workspace_bytes",
	                                    "tl_numpy_malloc",
	                                    "tl_numpy_calloc",
	                                    "tl_numpy_realloc",
	                                    "tl_numpy_free",
	                                    "tl_vec_get",
	                                    "tl_vec_len",
	                                    NULL};
	return is_among(f, names);
}

/* A reference that is not the last is dropped there; the last one needs room in the magazine. */
static bool must_work(const judgement* j)
{
	const matrix_function* f = function_of(j->cell);
	static const char* const drop[] = {"tl_ptr_release", "tl_ptr_release_bool", NULL};
	if (j->job->place != PLACE_CHILD || j->job->path != PATH_FAST) return false;
	if (j->cell->param == NO_PARAM) return !j->cell->others_null && works_in_child(f);
	return is_among(f, drop) && strcmp(pointer_kinds[j->cell->kind].name, "object_twice") == 0;
}

/* Those of logs and sites enter the slow path where an allocation is recorded, which a child never does. */
static bool needs_no_path(const matrix_function* f)
{
	static const char* const names[] = {"tl_numpy_malloc", "tl_numpy_calloc",    "tl_numpy_realloc",   "tl_log_alloc",
	                                    "tl_track_site",   "tl_mem_usable_size", "tl_tensor_capacity", NULL};
	return f->path == MATRIX_PATH_SHIM || is_among(f, names);
}

/* NULL is nothing to do, wherever it is said. */
static bool is_nothing(const judgement* j)
{
	const matrix_function* f = function_of(j->cell);
	return f->count > 0 && is_attacked(&f->params[0]) && j->a->words[0] == 0 && !is_failure(j);
}

/* A child is told what a bad pointer is: C says it. */
static bool refuses_pointer(const judgement* j, int status)
{
	return j->job->place == PLACE_CHILD &&
	       (status == TL_E_UNKNOWN_POINTER || status == TL_E_INTERIOR_POINTER || status == TL_E_NOT_LIVE);
}

static uint32_t faults_of_place(const judgement* j)
{
	const matrix_function* f = function_of(j->cell);
	const record* r = j->record;
	int refusal = j->job->place == PLACE_CHILD ? TL_E_FORKED : TL_E_BUSY;
	bool slow = f->path == MATRIX_PATH_SLOW || j->job->path != PATH_FAST || j->job->place == PLACE_HANDLER;
	int status = f->result == MATRIX_RETURNS_STATUS ? r->status : r->last;
	if (j->job->place != PLACE_CHILD && j->job->place != PLACE_HANDLER) return 0;
	if (slow && !needs_no_path(f))
		return status == refusal || is_nothing(j) || refuses_pointer(j, status) ? 0 : FAULT_PLACE;
	return must_work(j) && is_failure(j) ? FAULT_PLACE : 0;
}

/* ---- classes and counts ------------------------------------------------------------------- */

/* Whether it means something that a call returns its argument i: the memory of a dead
 * object may have become that of a new one. */
static bool is_borrowed(const judgement* j, int i)
{
	const matrix_function* f = function_of(j->cell);
	const fixture* x = &j->a->fixtures[i];
	bool dead = x->kind != NULL && x->kind->ripen != NULL;
	return i == f->failure_argument || (is_pointer(&f->params[i]) && f->params[i].role != MATRIX_COOKIE && !dead);
}

static uint8_t class_of(const judgement* j, uint64_t word, bool may_ask)
{
	const matrix_function* f = function_of(j->cell);
	if (word == 0) return CLASS_NULL;
	for (int i = 0; i < f->count; i++)
		if (j->a->words[i] == word && is_borrowed(j, i)) return CLASS_ARGUMENT;
	return may_ask && tl_ptr_check((void*)(uintptr_t)word) == TL_OK ? CLASS_OBJECT : CLASS_OTHER;
}

/* Three bits for each output: whether it was written, and if it is a pointer, to what. */
static uint16_t outputs_of(const judgement* j, bool may_ask)
{
	const matrix_function* f = function_of(j->cell);
	uint16_t all = 0;
	for (int i = 0; i < f->count && i < 5; i++) {
		const uint8_t* out = j->a->outputs[i];
		uint64_t word, untouched = UINT64_C(0xA5A5A5A5A5A5A5A5);
		if (f->params[i].role != MATRIX_OUTPUT || j->a->words[i] != (uint64_t)(uintptr_t)out) continue;
		memcpy(&word, out, sizeof word);
		if (f->params[i].bytes > 16) {
			memcpy(&word, out + 8, sizeof word);
			word = word == untouched ? word : 1;
		}
		if (word != untouched) all |= (uint16_t)(class_of(j, word, may_ask) << (3 * i));
	}
	return all;
}

static int16_t count_of(void* object) { return object == NULL ? -2 : (int16_t)tl_ptr_refcount(object); }

static void* attacked_object(const judgement* j)
{
	return j->cell->param == NO_PARAM ? NULL : j->a->fixtures[j->cell->param].object;
}

static void* other_object(const judgement* j)
{
	for (int i = 0; i < MATRIX_PARAMS; i++)
		if (i != j->cell->param && j->a->fixtures[i].object != NULL) return j->a->fixtures[i].object;
	return NULL;
}

void judge_counts(judgement* j)
{
	record* r = j->record;
	/* What was dead before has no count: its memory may be another object's now. */
	r->count = j->before < 0 ? (int16_t)j->before : count_of(attacked_object(j));
	r->other = j->other_before < 0 ? (int16_t)j->other_before : count_of(other_object(j));
	if (is_failure(j) && !returns_what_was_done(function_of(j->cell)) &&
	    (r->count != j->before || r->other != j->other_before))
		r->faults |= FAULT_COUNT;
}

void judge_before(judgement* j)
{
	j->before = count_of(attacked_object(j));
	j->other_before = count_of(other_object(j));
}

/* Numbers that say how much memory there is, how long a text, how much ever happened, which slot an object has. */
static bool varies(const matrix_function* f)
{
	static const char* const parts[] = {
		"_memory_",        "_json",          "_openmetrics",   "_dump",     "tl_get_",    "tl_registry_total",
		"tl_registry_num", "tl_leak_report", "tl_track_count", "tl_ref_of", "tl_weak_of", "tl_weak_share"};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (strstr(f->name, parts[i]) != NULL) return true;
	return f->result == MATRIX_RETURNS_POINTER || f->result == MATRIX_RETURNS_REAL;
}

void judge(judgement* j)
{
	const matrix_function* f = function_of(j->cell);
	record* r = j->record;
	bool may_ask = place_answers(j->job->place, j->job->path);
	r->last = (int8_t)tl_last_status();
	r->status = f->result == MATRIX_RETURNS_STATUS ? (int8_t)j->result : 0;
	r->value = varies(f) || f->result == MATRIX_RETURNS_STATUS ? 0 : (int64_t)j->result;
	if (reports_status(f)) return;
	r->faults |= (uint16_t)(faults_of_status(j) | faults_of_place(j));
	if (is_failure(j)) r->faults |= (uint16_t)faults_of_message(j);
	if (f->result == MATRIX_RETURNS_POINTER) r->class = class_of(j, j->result, may_ask);
	r->outputs = outputs_of(j, may_ask);
	if (may_ask) judge_counts(j);
}
