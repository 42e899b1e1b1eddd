/* Which cells there are, and what they are called:
 *
 *     tl_vec_push:element=vec_data            one argument attacked, the others valid
 *     tl_vec_push:element=vec_data:others=null  the other pointers NULL
 *     tl_vec_push                             all valid
 *     tl_vec_get:index=-1 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "matrix.h"

/* One kind in so many is also tried with the other pointers NULL. */
enum { OTHERS_NULL_EVERY = 4 };

static bool has_other_pointers(const matrix_function* f, int param)
{
	for (int i = 0; i < f->count; i++)
		if (i != param && is_pointer(&f->params[i])) return true;
	return false;
}

static int kinds_of(const matrix_param* p)
{
	if (is_attacked(p)) return pointer_kind_count;
	return p->role == MATRIX_INTEGER ? integer_kind_count : 1;
}

static bool suits(const matrix_function* f, int param, int kind)
{
	const matrix_param* p = &f->params[param];
	if (is_attacked(p)) return kind_suits(&pointer_kinds[kind], f, p);
	return p->role != MATRIX_INTEGER || integer_suits(kind, f, param);
}

/* ---- choice ----------------------------------------------------------------------------- */

typedef struct choice {
	uint64_t seed, below; /* a cell is chosen whose hash is not above */
	cell* cells;
	int count, room;
} choice;

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

static void consider(choice* into, cell c, bool always)
{
	uint64_t number =
		(uint64_t)c.function << 40 | (uint64_t)(uint8_t)c.param << 32 | (uint64_t)c.kind << 8 | c.others_null;
	if (!always && mixed(number ^ mixed(into->seed)) > into->below) return;
	if (into->count == into->room) {
		into->room = into->room * 2 + 1024;
		into->cells = realloc(into->cells, (size_t)into->room * sizeof *into->cells);
		if (into->cells == NULL) abort();
	}
	into->cells[into->count++] = c;
}

cell* cells_choose(double scale, uint64_t seed, int* count)
{
	choice into = {.seed = seed, .below = scale >= 1 ? UINT64_MAX : (uint64_t)(scale * 18446744073709551615.0)};
	for (int f = 0; f < matrix_function_count; f++) {
		const matrix_function* function = &matrix_functions[f];
		consider(&into, (cell){(uint16_t)f, NO_PARAM, 0, 0}, true);
		if (has_other_pointers(function, NO_PARAM)) consider(&into, (cell){(uint16_t)f, NO_PARAM, 1, 0}, false);
		for (int p = 0; p < function->count; p++)
			for (int k = 0; k < kinds_of(&function->params[p]); k++) {
				if (!suits(function, p, k)) continue;
				consider(&into, (cell){(uint16_t)f, (int8_t)p, 0, (uint16_t)k}, false);
				if (k % OTHERS_NULL_EVERY == 0 && has_other_pointers(function, p))
					consider(&into, (cell){(uint16_t)f, (int8_t)p, 1, (uint16_t)k}, false);
			}
	}
	*count = into.count;
	return into.cells;
}

/* ---- names ----------------------------------------------------------------------------- */

void cell_name(const cell* c, char* name)
{
	const matrix_function* f = function_of(c);
	const char* others = c->others_null ? ":others=null" : "";
	if (c->param == NO_PARAM) {
		snprintf(name, CELL_NAME_BYTES, "%s%s", f->name, others);
		return;
	}
	const matrix_param* p = &f->params[c->param];
	if (is_attacked(p))
		snprintf(name, CELL_NAME_BYTES, "%s:%s=%s%s", f->name, p->name, pointer_kinds[c->kind].name, others);
	else if (p->role == MATRIX_INTEGER && p->is_signed)
		snprintf(name, CELL_NAME_BYTES, "%s:%s=%" PRId64 "%s", f->name, p->name, (int64_t)integer_kind(c->kind),
		         others);
	else if (p->role == MATRIX_INTEGER)
		snprintf(name, CELL_NAME_BYTES, "%s:%s=%" PRIu64 "%s", f->name, p->name, integer_kind(c->kind), others);
	else
		snprintf(name, CELL_NAME_BYTES, "%s:%s=%s%s", f->name, p->name, p->role == MATRIX_BOOL ? "true" : "null",
		         others);
}

cell* cells_named(const char* name, int* count)
{
	char other[CELL_NAME_BYTES];
	size_t length = strcspn(name, "*");
	int all, found = 0;
	cell* cells = cells_choose(1, 0, &all);
	for (int i = 0; i < all; i++) {
		cell_name(&cells[i], other);
		if (strncmp(name, other, length) == 0 && (name[length] == '*' || other[length] == 0)) cells[found++] = cells[i];
	}
	*count = found;
	return cells;
}

/* ---- what a cell wants ---------------------------------------------------------------------- */

static const pointer_kind* attacked_kind(const cell* c)
{
	bool attacked = c->param != NO_PARAM && is_attacked(&function_of(c)->params[c->param]);
	return attacked ? &pointer_kinds[c->kind] : NULL;
}

static bool has_flag(const cell* c, uint32_t flag)
{
	const pointer_kind* kind = attacked_kind(c);
	return kind != NULL && (kind->flags & flag) != 0;
}

bool cell_is_dead(const cell* c)
{
	const pointer_kind* kind = attacked_kind(c);
	return kind != NULL && kind->ripen != NULL;
}

bool cell_is_loose(const cell* c) { return has_flag(c, KIND_LOOSE); }
bool cell_is_unsettled(const cell* c) { return has_flag(c, KIND_UNSETTLED); }

bool cell_needs_stack(const cell* c)
{
	static const char* const names[] = {"tl_mem_get_buffer",
	                                    "tl_tensor_in_slot",
	                                    "tl_mem_function_exit",
	                                    "tl_mem_frame_exit",
	                                    "tl_arena_alloc",
	                                    "tl_arena_malloc",
	                                    "tl_arena_contains",
	                                    "tl_arena_set_offset",
	                                    "tl_arena_get_offset",
	                                    "tl_arena_reset",
	                                    "tl_arena_free",
	                                    "tl_arena_get_capacity",
	                                    NULL};
	return is_among(function_of(c), names) || has_flag(c, KIND_STACK);
}

bool cell_stands_alone(const cell* c)
{
	static const char* const names[] = {"tl_shutdown",
	                                    "tl_mem_manager_shutdown",
	                                    "tl_thread_detach",
	                                    "tl_configure",
	                                    "tl_set_error_callback",
	                                    "tl_mem_enter_scope",
	                                    "tl_mem_exit_scope",
	                                    "tl_mem_exit_scopes_to",
	                                    "tl_mem_function_enter",
	                                    "tl_mem_function_exit",
	                                    "tl_mem_frame_enter",
	                                    "tl_mem_frame_exit",
	                                    "tl_arena_init",
	                                    "tl_arena_alloc",
	                                    "tl_arena_malloc",
	                                    "tl_arena_free",
	                                    "tl_arena_reset",
	                                    "tl_arena_set_offset",
	                                    "tl_mem_get_buffer",
	                                    "tl_tensor_in_slot",
	                                    "tl_mem_set_limit",
	                                    "tl_mem_set_out_of_memory_callback",
	                                    "tl_pool_set_limits",
	                                    "tl_tag_push",
	                                    "tl_tag_pop",
	                                    "tl_trace_start",
	                                    "tl_trace_stop",
	                                    "tl_mem_purge",
	                                    "tl_mem_collect_cycles",
	                                    NULL};
	return is_among(function_of(c), names);
}
