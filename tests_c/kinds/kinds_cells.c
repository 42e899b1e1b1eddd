/* Cells, with a type and without. */
#include "kinds.h"

/* Of one thread, or of several; with two references. */
static void* cell_of(kinds_world* w)
{
	void* cell = tl_cell_new(kinds_bytes(w));
	CHECK(cell != NULL);
	if (one_in(w, 3)) CHECK_OK(tl_cell_share(cell));
	return tl_cell_dup(cell);
}

static void end_cell(void* cell)
{
	while (!tl_cell_drop(cell)) {}
	CHECK_OK(tl_cell_free(cell));
}

DRIVE(tl_cell_new)
{
	size_t bytes = kinds_bytes(w);
	void* cell;
	CALL(cell = tl_cell_new(bytes));
	CHECK_OK(tl_cell_free(cell));
}

DRIVE(tl_cell_new_typed)
{
	void* cell;
	(void)w;
	CALL(cell = tl_cell_new_typed(kinds_fields));
	CHECK(cell != NULL);
	CHECK_OK(tl_cell_free(cell));
}

/* Of cells, of a type or without, and of an object. */
static void** list_of_cells(kinds_world* w)
{
	void** list = NULL;
	for (uint64_t length = below(w, 20) + 1; length > 0; length--) {
		void** cell = tl_cell_new_typed(kinds_fields);
		CHECK(cell != NULL);
		cell[0] = list;
		if (one_in(w, 4)) cell[1] = one_in(w, 2) ? tl_cell_new(kinds_bytes(w)) : tl_mem_alloc(40);
		list = cell;
	}
	return list;
}

DRIVE(tl_cell_free)
{
	void* cell = one_in(w, 2) ? list_of_cells(w) : cell_of(w);
	if (!tl_cell_is_unique(cell)) CHECK(!tl_cell_drop(cell));
	CALL(CHECK_OK(tl_cell_free(cell)));
}

#define COUNTS_CELL(name, wanted)          \
	DRIVE(name)                            \
	{                                      \
		void* cell = cell_of(w);           \
		CALL(CHECK(name(cell) == wanted)); \
		end_cell(cell);                    \
	}
COUNTS_CELL(tl_cell_dup, cell)
COUNTS_CELL(tl_cell_is_unique, false)
COUNTS_CELL(tl_cell_drop, false)

DRIVE(tl_cell_share)
{
	void* cell = one_in(w, 2) ? list_of_cells(w) : cell_of(w);
	CALL(CHECK_OK(tl_cell_share(cell)));
	end_cell(cell);
}
