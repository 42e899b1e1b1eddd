/* A copy is a walk over axes, each with a step in either array. It is brought into the simplest form that visits the same
 * elements: without axes of one element, forwards through the target, its largest step outermost, and with neighbours
 * joined where one continues the other. What is left has two inner axes, a plane, which is copied by element size:
 *
 *	line    the axis with the smallest step in the target
 *	rows    the axis with the smallest step in the source, if that is another one, else the axis outside of line
 *
 * Where these differ, as in a transposed matrix, the plane is copied in tiles that stay in the nearest cache (Lam,
 * Rothberg and Wolf, "The cache performance and optimizations of blocked algorithms", ASPLOS 1991). */
#include "copy.h"

#include <stdbool.h>
#include <string.h>

/* Lines below SHORT elements, or below COPIED_BYTES without gaps, cost more to begin than to copy: then they go along the
 * rows, LONG elements at a time. */
enum { SHORT = 16, COPIED_BYTES = 32, LONG = 512 };

/* Lines of one element are filled in blocks from so many bytes on. */
enum { BLOCK = 16, FILLED_BYTES = 64 };

/* The largest elements of tiles that are copied by way of a buffer; rows and elements in each of other tiles. */
enum { TURNED_BYTES = 4, HIGH = 16, WIDE = 32 };

/* Elements on a side of a tile with a buffer, which is on the caller's stack and may take little of it (docs/limits.md). */
#define TURNED(size) ((size) == 1 ? 64 : 32)

#define INLINE static inline __attribute__((always_inline))

typedef struct axis {
	int64_t extent;
	int64_t to, from; /* steps in bytes */
} axis;

typedef struct walk {
	char* to;
	const char* from;
	size_t size;
	int count; /* of axes */
	axis axes[TL_MAX_RANK];
} walk;

/* ---- lines ------------------------------------------------------------------------------ */

INLINE void put(char* to, const char* from, size_t size) { __builtin_memcpy(to, from, size); }

/* Size is a constant, and so are the steps where it matters. */
INLINE void step(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t extent, size_t size)
{
	for (; extent >= 4; extent -= 4) {
		put(to, from, size);
		put(to + to_step, from + from_step, size);
		put(to + 2 * to_step, from + 2 * from_step, size);
		put(to + 3 * to_step, from + 3 * from_step, size);
		to += 4 * to_step;
		from += 4 * from_step;
	}
	for (; extent > 0; extent--, to += to_step, from += from_step) put(to, from, size);
}

/* Repeats an element, in at least a block. */
INLINE void fill(char* to, const char* from, int64_t extent, size_t size)
{
	char block[BLOCK];
	const int64_t all = extent * (int64_t)size;
	for (size_t i = 0; i < BLOCK; i += size) put(block + i, from, size);
	step(to, BLOCK, block, 0, all / BLOCK, BLOCK);
	put(to + all - BLOCK, block, BLOCK);
}

INLINE void copy_line(char* to, const char* from, axis a, int64_t extent, size_t size)
{
	const int64_t dense = (int64_t)size;
	if (a.to != dense) step(to, a.to, from, a.from, extent, size);
	else if (a.from == dense) memcpy(to, from, (size_t)extent * size);
	else if (a.from == 0 && extent * dense >= FILLED_BYTES) fill(to, from, extent, size);
	else step(to, dense, from, a.from, extent, size);
}

/* ---- planes ------------------------------------------------------------------------------ */

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

INLINE int64_t pace(int64_t step) { return step < 0 ? -step : step; }

/* Copies the part of a plane that has so many rows and so many elements in each. */
INLINE void copy_tile(char* to, const char* from, axis rows, int64_t high, axis line, int64_t wide, size_t size)
{
	for (; high > 0; high--, to += rows.to, from += rows.from) copy_line(to, from, line, wide, size);
}

/* The same by way of a buffer, for which the tile is not too large: every part of a row of either array is read or written
 * at once. Otherwise the parts of many rows would have to stay in the cache, where those of powers of two have one place. */
INLINE void turn_tile(char* to, const char* from, axis rows, int64_t high, axis line, int64_t wide, size_t size)
{
	const int64_t dense = (int64_t)size, pitch = (TURNED(size) + 1) * dense;
	char buffer[TURNED(TURNED_BYTES) * (TURNED(TURNED_BYTES) + 1) * TURNED_BYTES];
	_Static_assert(sizeof buffer >= TURNED(1) * (TURNED(1) + 1), "a tile of bytes is in the buffer");
	for (int64_t k = 0; k < wide; k++)
		copy_line(buffer + k * pitch, from + k * line.from, (axis){high, dense, rows.from}, high, size);
	for (int64_t i = 0; i < high; i++)
		copy_line(to + i * rows.to, buffer + i * dense, (axis){wide, line.to, pitch}, wide, size);
}

INLINE void copy_plane(char* to, const char* from, axis rows, axis line, size_t size)
{
	const bool crossed = line.from != 0 && rows.from != 0 && pace(rows.from) < pace(line.from);
	const bool dense = line.to == (int64_t)size && line.from == (int64_t)size;
	if (!crossed && line.extent >= least(dense ? COPIED_BYTES / (int64_t)size : SHORT, rows.extent)) {
		copy_tile(to, from, rows, rows.extent, line, line.extent, size);
		return;
	}
	const bool turned = crossed && size <= TURNED_BYTES && least(rows.extent, line.extent) >= 2 * SHORT;
	const int64_t wide = turned ? TURNED(size) : !crossed || rows.extent < SHORT ? LONG : WIDE;
	const int64_t high = turned ? TURNED(size) : line.extent < SHORT ? LONG : HIGH;
	for (int64_t i = 0; i < rows.extent; i += high) {
		const int64_t n = least(high, rows.extent - i);
		for (int64_t k = 0; k < line.extent; k += wide) {
			char* t = to + i * rows.to + k * line.to;
			const char* f = from + i * rows.from + k * line.from;
			const int64_t m = least(wide, line.extent - k);
			if (turned) turn_tile(t, f, rows, n, line, m, size);
			else if (m < n) copy_tile(t, f, line, m, rows, n, size);
			else copy_tile(t, f, rows, n, line, m, size);
		}
	}
}

static void plane_1(char* to, const char* from, axis rows, axis line) { copy_plane(to, from, rows, line, 1); }
static void plane_2(char* to, const char* from, axis rows, axis line) { copy_plane(to, from, rows, line, 2); }
static void plane_4(char* to, const char* from, axis rows, axis line) { copy_plane(to, from, rows, line, 4); }
static void plane_8(char* to, const char* from, axis rows, axis line) { copy_plane(to, from, rows, line, 8); }
static void plane_16(char* to, const char* from, axis rows, axis line) { copy_plane(to, from, rows, line, 16); }

static void copy_one_plane(const walk* w, char* to, const char* from)
{
	const axis rows = w->axes[w->count - 2], line = w->axes[w->count - 1];
	switch (w->size) {
	case 1: plane_1(to, from, rows, line); break;
	case 2: plane_2(to, from, rows, line); break;
	case 4: plane_4(to, from, rows, line); break;
	case 8: plane_8(to, from, rows, line); break;
	default: plane_16(to, from, rows, line);
	}
}

/* ---- walks ------------------------------------------------------------------------------- */

/* Inserts an axis, so that steps in the target get smaller. */
INLINE void insert(walk* w, axis a)
{
	int at = w->count++;
	if (a.to < 0) {
		w->to += a.to * (a.extent - 1);
		w->from += a.from * (a.extent - 1);
		a.to = -a.to;
		a.from = -a.from;
	}
	for (; at > 0 && w->axes[at - 1].to < a.to; at--) w->axes[at] = w->axes[at - 1];
	w->axes[at] = a;
}

static void join(walk* w)
{
	int kept = 0;
	for (int i = 1; i < w->count; i++) {
		const axis in = w->axes[i], *out = &w->axes[kept];
		if (out->to == in.to * in.extent && out->from == in.from * in.extent)
			w->axes[kept] = (axis){out->extent * in.extent, in.to, in.from};
		else w->axes[++kept] = in;
	}
	w->count = w->count == 0 ? 0 : kept + 1;
}

/* Lines of 2, 4, 8 or 16 bytes without gaps are elements of that size. */
static void widen(walk* w)
{
	if (w->count == 0) return;
	const axis* line = &w->axes[w->count - 1];
	const int64_t size = (int64_t)w->size;
	if (line->to != size || line->from != size || line->extent > 16 / size) return;
	if ((line->extent & (line->extent - 1)) != 0) return;
	w->size *= (size_t)line->extent;
	w->count--;
}

/* Has two axes at least, the last two of which are rows and line. */
static void choose_plane(walk* w)
{
	for (int i = w->count; i < 2; i++) {
		w->axes[i] = w->axes[0];
		w->axes[0] = (axis){1, 0, 0};
		w->count = i + 1;
	}
	int rows = w->count - 2;
	const int64_t line = pace(w->axes[w->count - 1].from);
	for (int i = rows; i-- > 0;) {
		const int64_t step = pace(w->axes[i].from);
		if (step != 0 && step < line && step < pace(w->axes[rows].from)) rows = i;
	}
	const axis chosen = w->axes[rows];
	for (; rows < w->count - 2; rows++) w->axes[rows] = w->axes[rows + 1];
	w->axes[rows] = chosen;
}

static void copy_planes(const walk* w)
{
	int64_t index[TL_MAX_RANK] = {0};
	char* to = w->to;
	const char* from = w->from;
	for (int i;;) {
		copy_one_plane(w, to, from);
		for (i = w->count - 3; i >= 0; i--) {
			const axis* a = &w->axes[i];
			to += a->to;
			from += a->from;
			if (++index[i] < a->extent) break;
			to -= a->to * a->extent;
			from -= a->from * a->extent;
			index[i] = 0;
		}
		if (i < 0) return;
	}
}

void tlc_copy_elements(uintptr_t to, const int64_t* to_strides, const tlc_elements* from)
{
	walk w = {.to = (char*)to, .from = (const char*)from->data, .size = from->size};
	for (int64_t i = 0; i < from->rank; i++) {
		const int64_t size = (int64_t)from->size;
		if (from->shape[i] != 1) insert(&w, (axis){from->shape[i], to_strides[i] * size, from->strides[i] * size});
	}
	join(&w);
	widen(&w);
	choose_plane(&w);
	copy_planes(&w);
}

void tlc_reach(const tlc_elements* of, uintptr_t* low, uintptr_t* high)
{
	uint64_t before;
	const uint64_t span = tlc_span(of->size, of->rank, of->shape, of->strides, &before);
	*low = of->data - before;
	*high = *low + span;
}
