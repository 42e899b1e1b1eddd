/* Sparse matrices: lines that slices and transposes share, block by block. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { MOST_LINES = 12, MOST_WIDTH = 20 };

/* What the lines of a matrix were made of; slices and transposes show the same. */
typedef struct content {
	int uses;
	int32_t value_dtype, index_dtype;
	int64_t lines, width, nonzeros;
	int64_t offsets[MOST_LINES + 1], indices[MOST_LINES * MOST_WIDTH];
	double values[MOST_LINES * MOST_WIDTH];
} content;

struct matrix {
	content* of;
	int64_t first, lines; /* of the content's */
	int32_t format;
	bool known; /* values and indices were written */
	uint32_t flags;
};

void matrix_free(matrix* m)
{
	if (m != NULL && --m->of->uses == 0) free(m->of);
	free(m);
}

static content* draw_content(world* w)
{
	content* c = calloc(1, sizeof *c);
	if (c == NULL) abort();
	c->value_dtype = chance(w, 50) ? TL_DTYPE_F32 : TL_DTYPE_F64;
	c->index_dtype = chance(w, 50) ? TL_DTYPE_I32 : TL_DTYPE_I64;
	c->lines = (int64_t)draw(w, MOST_LINES + 1);
	c->width = 1 + (int64_t)draw(w, MOST_WIDTH);
	for (int64_t i = 0; i < c->lines; i++) {
		for (int64_t k = 0; k < c->width && !chance(w, 10); k++) {
			if (chance(w, 60)) continue;
			c->indices[c->nonzeros] = k;
			c->values[c->nonzeros++] = (double)draw(w, 1000);
		}
		c->offsets[i + 1] = c->nonzeros;
	}
	return c;
}

/* ---- arrays as the library wants them ------------------------------------------------------------ */

static void put_index(const content* c, char* at, int64_t i, int64_t value)
{
	if (c->index_dtype == TL_DTYPE_I32) ((int32_t*)(void*)at)[i] = (int32_t)value;
	else ((int64_t*)(void*)at)[i] = value;
}

static void put_value(const content* c, char* at, int64_t i, double value)
{
	if (c->value_dtype == TL_DTYPE_F32) ((float*)(void*)at)[i] = (float)value;
	else ((double*)(void*)at)[i] = value;
}

typedef struct arrays {
	char *values, *indices, *offsets;
	lease* lease; /* of all three; the values come first */
} arrays;

static arrays arrays_of(const content* c)
{
	size_t each = (size_t)(c->nonzeros + 1) * 8;
	arrays a = {.lease = lend(2 * each + (size_t)(c->lines + 1) * 8)};
	a.values = a.lease->memory;
	a.indices = a.values + each;
	a.offsets = a.indices + each;
	for (int64_t i = 0; i < c->nonzeros; i++) {
		put_value(c, a.values, i, c->values[i]);
		put_index(c, a.indices, i, c->indices[i]);
	}
	for (int64_t i = 0; i <= c->lines; i++) put_index(c, a.offsets, i, c->offsets[i]);
	return a;
}

static void end_lease(lease* l)
{
	free(l->memory);
	free(l);
}

/* Compares a line with what was put in. */
static void compare_line(world* w, const content* c, int64_t line, const char* values, const char* indices)
{
	int64_t first = c->offsets[line];
	for (int64_t i = first; i < c->offsets[line + 1]; i++) {
		int64_t k = i - first;
		double value = c->value_dtype == TL_DTYPE_F32 ? (double)((const float*)(const void*)values)[k]
		                                              : ((const double*)(const void*)values)[k];
		int64_t index = c->index_dtype == TL_DTYPE_I32 ? ((const int32_t*)(const void*)indices)[k]
		                                               : ((const int64_t*)(const void*)indices)[k];
		want_int(w, index, c->indices[i], "an index");
		want_true(w, value == c->values[i], "a value as it was put in");
	}
}

/* ---- matrices and their blocks ------------------------------------------------------------------------ */

static item* found(item* holder, const void* at)
{
	for (size_t i = 0; i < holder->refs_len; i++)
		if (holder->refs[i]->at == at) return holder->refs[i];
	return NULL;
}

/* The matrix whose table of blocks is shown. */
static item* table_of(item* it) { return it->refs_len == 1 && it->refs[0]->kind == SPARSE ? it->refs[0] : it; }

/* A block of a new matrix is a tensor like any other, held by the matrix. */
static item* new_block(world* w, tl_tensor* at)
{
	item* it = item_new(w, TENSOR, at, 0);
	tl_tensor_info now = {.struct_size = sizeof now};
	shape* s = calloc(1, sizeof *s);
	if (s == NULL) abort();
	want(w, tl_tensor_info_get(at, &now), GOOD);
	*s = (shape){.dtype = now.dtype,
	             .rank = now.rank,
	             .numel = now.numel,
	             .data = now.data,
	             .flags = now.flags & ~(uint32_t)TL_TENSOR_FLAG_CONTIGUOUS};
	memcpy(s->dims, now.shape, sizeof(int64_t) * (size_t)now.rank);
	memcpy(s->strides, now.strides, sizeof(int64_t) * (size_t)now.rank);
	it->shape = s;
	it->count = 0;
	return it;
}

/* Every block that the matrix shows is held by it: one of another matrix's, or a new one. */
static void take_blocks(world* w, item* it, item* from)
{
	tl_sparse_info info = {.struct_size = sizeof info};
	want(w, tl_sparse_info_get((tl_sparse*)it->at, &info), GOOD);
	for (int64_t i = 0; i < info.blocks; i++) {
		tl_sparse_block_info now = {.struct_size = sizeof now};
		want(w, tl_sparse_block((tl_sparse*)it->at, i, &now), GOOD);
		item* held = from != NULL ? found(table_of(from), now.memory) : new_block(w, now.memory);
		want_true(w, held != NULL, "a block of the matrix");
		retain(w, held);
		add_ref(it, held);
	}
}

static item* matrix_made(world* w, tl_sparse* at, unsigned set, const matrix* like)
{
	item* it = made(w, SPARSE, at, 32, set);
	if (it == NULL) return NULL;
	it->bytes = 0;
	it->matrix = malloc(sizeof *it->matrix);
	if (it->matrix == NULL) abort();
	*it->matrix = *like;
	like->of->uses++;
	enlist_new(w, it);
	memory_unknown(w);
	return it;
}

static bool is_matrix(const operand* o) { return o->it != NULL && o->it->life == LIVE && o->it->kind == SPARSE; }

static operand draw_matrix(world* w, unsigned* set)
{
	operand o = chance(w, 90) ? operand_of(pick(w, K(SPARSE))) : draw_operand(w, COUNTED);
	*set = refusal_for(&o, K(SPARSE));
	if (o.it != NULL && o.it->life == ZERO) *set |= S(TL_E_UNSUPPORTED);
	return o;
}

static void check_info(world* w, const item* it)
{
	const matrix* m = it->matrix;
	const content* c = m->of;
	tl_sparse_info now = {.struct_size = sizeof now};
	bool csr = m->format == TL_SPARSE_CSR;
	note(w, "tl_sparse_info_get(%s)", name(it));
	want(w, tl_sparse_info_get((tl_sparse*)it->at, &now), GOOD);
	want_int(w, csr ? now.rows : now.columns, m->lines, "lines");
	want_int(w, csr ? now.columns : now.rows, c->width, "width");
	want_int(w, now.nonzeros, c->offsets[m->first + m->lines] - c->offsets[m->first], "nonzeros");
	want_int(w, now.format, m->format, "format");
	want_int(w, now.value_dtype, c->value_dtype, "value_dtype");
	want_int(w, now.index_dtype, c->index_dtype, "index_dtype");
	want_int(w, now.flags, m->flags, "flags");
}

/* ---- making them ------------------------------------------------------------------------------------------ */

static const tl_sparse_options* draw_options(world* w)
{
	static const tl_sparse_options of[] = {{sizeof(tl_sparse_options), 2, 1, 5},
	                                       {sizeof(tl_sparse_options), 1, 1, 1},
	                                       {sizeof(tl_sparse_options), 0, 0, 0}};
	return chance(w, 30) ? NULL : &ONE_OF(w, of);
}

static void create(world* w)
{
	content* c = draw_content(w);
	int32_t format = (int32_t)draw(w, 2);
	matrix m = {.of = c, .lines = c->lines, .format = format};
	int64_t lengths[MOST_LINES + 1], rows = format == TL_SPARSE_CSR ? c->lines : c->width,
									 columns = format == TL_SPARSE_CSR ? c->width : c->lines;
	bool odd = chance(w, 5) && c->lines > 0;
	item* it;
	for (int64_t i = 0; i < c->lines; i++) lengths[i] = c->offsets[i + 1] - c->offsets[i];
	if (odd) lengths[0] = chance(w, 50) ? -1 : c->width + 1;
	note(w, "tl_sparse_create(%" PRId64 " x %" PRId64 ", %" PRId64 ")", rows, columns, c->nonzeros);
	it = matrix_made(w,
	                 tl_sparse_create(format, rows, columns, c->value_dtype, c->index_dtype, lengths, draw_options(w)),
	                 odd ? BAD_SIZE : GOOD, &m);
	if (it == NULL) {
		free(c);
		return;
	}
	take_blocks(w, it, NULL);
	for (int64_t i = 0; i < c->lines; i++) {
		void *values, *indices;
		int64_t length;
		want(w, tl_sparse_row((tl_sparse*)it->at, i, &values, &indices, &length), GOOD);
		want_int(w, length, lengths[i], "the length of a line");
		for (int64_t k = 0; k < length; k++) {
			put_value(c, values, k, c->values[c->offsets[i] + k]);
			put_index(c, indices, k, c->indices[c->offsets[i] + k]);
		}
	}
	check_info(w, it);
}

static void from_arrays(world* w)
{
	content* c = draw_content(w);
	int32_t format = (int32_t)draw(w, 2);
	matrix m = {.of = c, .lines = c->lines, .format = format};
	arrays a = arrays_of(c);
	bool odd = c->nonzeros > 0 && chance(w, 6);
	tl_sparse* at;
	if (odd) put_index(c, chance(w, 50) ? a.indices : a.offsets, 0, chance(w, 50) ? -1 : c->width + 5);
	note(w, "tl_sparse_from_cs%c(%" PRId64 " lines of %" PRId64 ", %" PRId64 "%s)", format == TL_SPARSE_CSR ? 'r' : 'c',
	     c->lines, c->width, c->nonzeros, odd ? ", something wrong" : "");
	if (format == TL_SPARSE_CSR)
		at = tl_sparse_from_csr(c->lines, c->width, c->nonzeros, c->value_dtype, c->index_dtype, a.values, a.indices,
		                        a.offsets, draw_options(w));
	else
		at = tl_sparse_from_csc(c->width, c->lines, c->nonzeros, c->value_dtype, c->index_dtype, a.values, a.indices,
		                        a.offsets, draw_options(w));
	item* it = matrix_made(w, at, odd ? BAD_SIZE : GOOD, &m);
	end_lease(a.lease);
	if (it == NULL) {
		free(c);
		return;
	}
	take_blocks(w, it, NULL);
	check_info(w, it);
}

/* One block over the program's own arrays, which the last matrix or array gives back. */
static void wrap(world* w)
{
	content* c = draw_content(w);
	int32_t format = (int32_t)draw(w, 2);
	uint32_t read_only = chance(w, 30) ? TL_TENSOR_FLAG_READ_ONLY : 0;
	matrix m = {.of = c, .lines = c->lines, .format = format, .flags = TL_TENSOR_FLAG_LENT | read_only};
	arrays a = arrays_of(c);
	tl_sparse* at;
	note(w, "tl_sparse_wrap(%" PRId64 " lines of %" PRId64 ", %" PRId64 ")", c->lines, c->width, c->nonzeros);
	at = tl_sparse_wrap(format, format == TL_SPARSE_CSR ? c->lines : c->width,
	                    format == TL_SPARSE_CSR ? c->width : c->lines, c->nonzeros, c->value_dtype, c->index_dtype,
	                    a.values, a.indices, a.offsets, read_only, lent_back, a.lease);
	item* it = matrix_made(w, at, GOOD, &m);
	if (it == NULL) {
		end_lease(a.lease);
		free(c);
		return;
	}
	take_blocks(w, it, NULL);
	want_int(w, (int64_t)it->refs_len, 1, "blocks");
	a.lease->id = it->refs[0]->id;
	it->refs[0]->shape->lease = a.lease;
	check_info(w, it);
}

/* ---- others over the same lines ------------------------------------------------------------------------------ */

static bool blocks_may_be_held(const item* table)
{
	for (size_t i = 0; i < table->refs_len; i++)
		if (!may_hold(table->refs[i])) return false;
	return true;
}

static void slice(world* w)
{
	static const int64_t places[] = {0, 1, 2, -1, -2, 5, 100, -100, INT64_MIN, INT64_MAX};
	unsigned set;
	operand o = draw_matrix(w, &set);
	int64_t start = ONE_OF(w, places), stop = ONE_OF(w, places), low, high;
	item* it;
	tl_sparse* at;
	if (is_matrix(&o) && !blocks_may_be_held(table_of(o.it))) return;
	note(w, "tl_sparse_slice(%s, %" PRId64 ", %" PRId64 ")", o.name, start, stop);
	at = tl_sparse_slice((tl_sparse*)o.at, start, stop);
	if (!is_matrix(&o)) {
		want_pointer(w, at, NULL, "the result");
		want_last(w, set);
		return;
	}
	matrix m = *o.it->matrix;
	low = start < 0 ? (start < -m.lines ? 0 : start + m.lines) : start > m.lines ? m.lines : start;
	high = stop < 0 ? (stop < -m.lines ? 0 : stop + m.lines) : stop > m.lines ? m.lines : stop;
	m.first += low;
	m.lines = high > low ? high - low : 0;
	it = matrix_made(w, at, GOOD, &m);
	if (it == NULL) return;
	take_blocks(w, it, o.it);
	check_info(w, it);
}

static void transpose(world* w)
{
	unsigned set;
	operand o = draw_matrix(w, &set);
	item* it;
	tl_sparse* at;
	if (is_matrix(&o) && !may_hold(table_of(o.it))) return;
	note(w, "tl_sparse_transpose(%s)", o.name);
	at = tl_sparse_transpose((tl_sparse*)o.at);
	if (!is_matrix(&o)) {
		want_pointer(w, at, NULL, "the result");
		want_last(w, set);
		return;
	}
	matrix m = *o.it->matrix;
	m.format = m.format == TL_SPARSE_CSR ? TL_SPARSE_CSC : TL_SPARSE_CSR;
	it = matrix_made(w, at, GOOD, &m);
	if (it == NULL) return;
	retain(w, table_of(o.it));
	add_ref(it, table_of(o.it));
	check_info(w, it);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static void row(world* w)
{
	unsigned set;
	operand o = draw_matrix(w, &set);
	const matrix* m = is_matrix(&o) ? o.it->matrix : NULL;
	int64_t i = m == NULL ? 0 : (int64_t)draw(w, (uint64_t)m->lines + 2) - 1, length = -1;
	bool in_range = m != NULL && i >= 0 && i < m->lines;
	void *values, *indices;
	if (m != NULL) set = in_range ? GOOD : BAD_SIZE;
	note(w, "tl_sparse_row(%s, %" PRId64 ")", o.name, i);
	if (want(w, tl_sparse_row((tl_sparse*)o.at, i, &values, &indices, &length), set) != TL_OK || m == NULL) return;
	want_int(w, length, m->of->offsets[m->first + i + 1] - m->of->offsets[m->first + i], "the length");
	compare_line(w, m->of, m->first + i, values, indices);
}

static void validate(world* w)
{
	unsigned set;
	operand o = draw_matrix(w, &set);
	note(w, "tl_sparse_validate(%s)", o.name);
	want(w, tl_sparse_validate((tl_sparse*)o.at), set);
	if (is_matrix(&o)) check_info(w, o.it);
}

static void to_contiguous(world* w)
{
	unsigned set;
	operand o = draw_matrix(w, &set);
	tl_tensor* out[3] = {NULL, NULL, NULL};
	if (!is_matrix(&o)) return;
	const matrix* m = o.it->matrix;
	const content* c = m->of;
	note(w, "tl_sparse_to_contiguous(%s)", o.name);
	if (want_memory(w, tl_sparse_to_contiguous((tl_sparse*)o.at, &out[0], &out[1], &out[2]), GOOD) != TL_OK) return;
	for (int i = 0; i < 3; i++) {
		int64_t n = i == 2 ? m->lines + 1 : c->offsets[m->first + m->lines] - c->offsets[m->first];
		shape s = {.dtype = i == 0 ? c->value_dtype : c->index_dtype, .rank = 1, .dims = {n}};
		tensor_rows(&s);
		item* it = tensor_own(w, out[i], GOOD, &s);
		tensor_check(w, it);
	}
	for (int64_t i = 0; i < m->lines; i++) {
		int64_t skip = c->offsets[m->first + i] - c->offsets[m->first];
		compare_line(w, c, m->first + i, (char*)tl_tensor_data(out[0]) + skip * (int64_t)dtype_bytes(c->value_dtype),
		             (char*)tl_tensor_data(out[1]) + skip * (int64_t)dtype_bytes(c->index_dtype));
	}
	for (int i = 0; i < 3; i++) tensor_fill(w->items[w->items_len - 1 - (size_t)i]);
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {create,    from_arrays,   from_arrays, wrap, slice, slice,
	                                        transpose, to_contiguous, row,         row,  row,   validate};
	size_t i = (size_t)draw(w, sizeof steps / sizeof *steps);
	if (i > 7 || !crowded(w)) steps[i](w);
}

const family sparse_family = {"sparse", 6, step, NULL, NULL};
