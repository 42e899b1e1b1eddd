/* What the records of all workers say: faults of single cells, and paths that differ. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "matrix.h"

/* One line for each function, parameter and sort of failure; the others are counted. */
typedef struct failure {
	uint16_t function;
	int8_t param;
	uint16_t sort; /* a fault, or one of: */
	int cells;
	int cell; /* the first one */
	place place;
	path path;
} failure;

enum { SORT_CRASHED = 0x1000, SORT_HUNG, SORT_UNREACHED, SORT_DIFFERS, SORT_DEBUG_DIFFERS };

typedef struct findings {
	const cell* cells;
	record* (*records)[PATHS];
	failure* all;
	int count, room;
	int64_t tried, failed, left_out;
} findings;

static failure* failure_of(findings* f, int index, uint16_t sort)
{
	const cell* c = &f->cells[index];
	for (int i = f->count - 1; i >= 0; i--)
		if (f->all[i].function == c->function && f->all[i].param == c->param && f->all[i].sort == sort)
			return &f->all[i];
	if (f->count == f->room) {
		f->room = f->room * 2 + 256;
		f->all = realloc(f->all, (size_t)f->room * sizeof *f->all);
		if (f->all == NULL) abort();
	}
	f->all[f->count] = (failure){.function = c->function, .param = c->param, .sort = sort, .cell = index};
	return &f->all[f->count++];
}

static void note(findings* f, int index, place p, path d, uint16_t sort)
{
	failure* known = failure_of(f, index, sort);
	if (known->cells++ == 0) {
		known->place = p;
		known->path = d;
	}
}

/* ---- one cell -------------------------------------------------------------------------------- */

static bool look_at(findings* f, int index, place p, path d)
{
	const record* r = &f->records[p][d][index];
	if (r->state == LEFT_OUT) f->left_out++;
	if (r->state == LEFT_OUT) return true;
	f->tried++;
	if (r->state == CRASHED) note(f, index, p, d, SORT_CRASHED);
	if (r->state == HUNG) note(f, index, p, d, SORT_HUNG);
	if (r->state == NOT_RUN) note(f, index, p, d, SORT_UNREACHED);
	for (uint16_t fault = 1; fault != 0 && r->state == RAN; fault = (uint16_t)(fault << 1))
		if (r->faults & fault) note(f, index, p, d, fault);
	return r->state == RAN && r->faults == 0;
}

static bool refuses_an_address(int status)
{
	return status == TL_E_UNKNOWN_POINTER || status == TL_E_INTERIOR_POINTER || status == TL_E_NOT_LIVE ||
	       status == TL_E_UNSUPPORTED;
}

static bool agree(const record* a, const record* b)
{
	if (a->state != RAN || b->state != RAN) return true; /* told already */
	return a->status == b->status && a->last == b->last && a->class == b->class && a->outputs == b->outputs &&
	       a->count == b->count && a->other == b->other && a->value == b->value;
}

/* TL_DEBUG lays objects out with red zones and keeps what was released from being used
 * again, so that addresses in or behind an object deserve another refusal; it moves what is
 * resized, says how many bytes were asked for, keeps no tensors, and tracks, which the functions named tell. */
static bool agrees_debugged(const cell* c, const record* a, const record* b)
{
	static const char* const names[] = {"tl_pool_acquire",
	                                    "tl_pool_acquire_compat",
	                                    "tl_leak_report",
	                                    "tl_leak_report_since",
	                                    "tl_leak_report_except",
	                                    "tl_leak_report_asking",
	                                    "tl_mem_check_all",
	                                    "tl_mem_realloc",
	                                    "tl_numpy_realloc",
	                                    "tl_mem_usable_size",
	                                    "tl_tensor_capacity",
	                                    "tl_ptr_reuse",
	                                    NULL};
	if (is_among(function_of(c), names) || cell_is_dead(c) ||
	    (refuses_an_address(a->last) && refuses_an_address(b->last)))
		return true;
	return agree(a, b);
}

/* Whether paths are compared. In two places the documentation tells what each answers;
 * what is found by arithmetic may be an object in one process and none in another. */
static bool compares(const cell* c, place p)
{
	return p != PLACE_CHILD && p != PLACE_HANDLER && !cell_is_unsettled(c) && !cell_is_loose(c);
}

static void look_across(findings* f, int index, place p)
{
	record* const* paths = f->records[p];
	const cell* c = &f->cells[index];
	bool good = true;
	for (path d = 0; d < PATHS; d++)
		if (!look_at(f, index, p, d)) good = false;
	if (compares(c, p) && !agree(&paths[PATH_FAST][index], &paths[PATH_SLOW][index])) {
		note(f, index, p, PATH_SLOW, SORT_DIFFERS);
		good = false;
	}
	if (compares(c, p) && !agrees_debugged(c, &paths[PATH_SLOW][index], &paths[PATH_DEBUG][index])) {
		note(f, index, p, PATH_DEBUG, SORT_DEBUG_DIFFERS);
		good = false;
	}
	if (!good) f->failed++;
}

/* ---- telling ------------------------------------------------------------------------------------ */

static const char* sort_text(uint16_t sort)
{
	switch (sort) {
	case SORT_CRASHED: return "crashed";
	case SORT_HUNG: return "hung";
	case SORT_UNREACHED: return "was not reached";
	case SORT_DIFFERS: return "the paths differ";
	case SORT_DEBUG_DIFFERS: return "TL_DEBUG differs";
	default: return fault_text(sort);
	}
}

static void tell_record(const char* title, const record* r)
{
	static const char* const states[] = {"not run", "ran", "crashed", "hung", "left out"};
	static const char* const classes[] = {"-", "NULL", "argument", "object", "other"};
	printf("    %-5s %s", title, states[r->state]);
	if (r->state == CRASHED) printf(" (signal %d)", r->signal);
	printf(", returned %s (%lld), last %s, ", tl_status_string(r->status), (long long)r->value,
	       tl_status_string(r->last));
	printf("before %s, pointer %s, ", tl_status_string(r->before), classes[r->class]);
	printf("outputs %o, counts %d %d\n", (unsigned)r->outputs, r->count, r->other);
}

static void tell(const findings* f, const failure* x)
{
	char name[CELL_NAME_BYTES];
	cell_name(&f->cells[x->cell], name);
	printf("FAILED: %s (%d cells): %s, in the place %s, path %s\n", sort_text(x->sort), x->cells, name,
	       place_names[x->place], path_names[x->path]);
	for (path d = 0; d < PATHS; d++) tell_record(path_names[d], &f->records[x->place][d][x->cell]);
	const char* program = program_invocation_short_name;
	printf("    repeat: build/cmake/tests_c/proof/%s '%s' %s\n", program, name, place_names[x->place]);
	printf("    repeat with its neighbours: build/cmake/tests_c/proof/%s '%s*' %s\n", program,
	       function_of(&f->cells[x->cell])->name, place_names[x->place]);
}

/* A single cell is told although nothing failed. */
static void tell_all(const findings* f)
{
	for (place p = 0; p < PLACES; p++)
		for (path d = 0; d < PATHS && f->records[p][PATH_FAST] != NULL; d++) {
			if (d == 0) printf("%s\n", place_names[p]);
			tell_record(path_names[d], &f->records[p][d][0]);
		}
}

int report(const cell* cells, int count, record* records[PLACES][PATHS], double scale, uint64_t seed)
{
	findings f = {.cells = cells, .records = records};
	for (int i = 0; i < count; i++)
		for (place p = 0; p < PLACES; p++)
			if (records[p][PATH_FAST] != NULL) look_across(&f, i, p);
	for (int i = 0; i < f.count; i++) tell(&f, &f.all[i]);
	if (count == 1 && f.count == 0) tell_all(&f);
	if (f.count > 0) printf("seed: PROVE_SEED=%llu PROVE_SCALE=%g\n", (unsigned long long)seed, scale);
	printf("proof: %lld calls tried, %lld failed, %lld skipped: ", (long long)f.tried, (long long)f.failed,
	       (long long)f.left_out);
	printf("%d functions, %d kinds of pointers, %d of integers\n", matrix_function_count, pointer_kind_count,
	       integer_kind_count);
	free(f.all);
	return f.failed != 0;
}
