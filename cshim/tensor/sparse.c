/* Sparse matrices: the place of a line, and the properties of a matrix. */
#include "sparse.h"

#include "tensor.h"

enum { CSC = TL_SPARSE_CSC };

/* The header at p, if record and mark show a live matrix there. */
static inline const tl_sparse_header* marked(uintptr_t p, uint32_t* class)
{
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_find_slot(p, &r, class))) return NULL;
	if (TLC_UNLIKELY(TLC_LOAD(r->type_flags) != TL_TYPE_SPARSE || !tlc_is_live_object(r))) return NULL;
	const tl_sparse_header* h = (const tl_sparse_header*)p;
	return TLC_LIKELY(h->mark == (p ^ TL_SPARSE_MARK)) ? h : NULL;
}

/* Whether the table of h->blocks blocks lies inside the object of h. */
static inline bool has_table(const tl_sparse_header* h, uint32_t class)
{
	uint64_t bytes = sizeof *h + h->blocks * sizeof(tl_sparse_part);
	if (TLC_LIKELY(class <= TL_CLASS_SMALL)) return h->blocks <= 1024 && bytes <= tlc_g.classes[class].size;
	return h->blocks < tlc_g.heap_bytes / sizeof(tl_sparse_part) && bytes <= tlc_slot_bytes((uintptr_t)h, class);
}

/* The matrix whose table h shows. */
static __attribute__((noinline)) const tl_sparse_header* parent_of(const tl_sparse_header* h)
{
	uint32_t class;
	const tl_sparse_header* parent = marked(h->parent, &class);
	bool sound = parent != NULL && parent->parent == 0 && parent->blocks == h->blocks && has_table(parent, class);
	return sound ? parent : NULL;
}

/* The header of a matrix and its table; NULL: ask Go. Budget: 9 loads, 8 branches. */
static inline const tl_sparse_header* header(const tl_sparse* matrix, const tl_sparse_part** table)
{
	uint32_t class;
	const tl_sparse_header* h = TLC_LIKELY(tlc_is_fast(tlc_tls)) ? marked((uintptr_t)matrix, &class) : NULL;
	if (TLC_UNLIKELY(h == NULL)) return NULL;
	const tl_sparse_header* from = h;
	if (TLC_UNLIKELY(h->parent != 0)) from = parent_of(h);
	else if (TLC_UNLIKELY(!has_table(h, class))) from = NULL;
	if (TLC_UNLIKELY(from == NULL)) return NULL;
	*table = (const tl_sparse_part*)(from + 1);
	return h;
}

/* The block that has a line; there is one. */
static inline const tl_sparse_part* block_of(const tl_sparse_header* h, const tl_sparse_part* low, uint64_t line)
{
	for (uint64_t n = h->blocks; n > 1;) {
		uint64_t half = n / 2;
		low = low[half].first_line <= line ? low + half : low;
		n -= half;
	}
	return low;
}

static inline int64_t offset_at(const tl_sparse_header* h, const tl_sparse_part* b, uint64_t k)
{
	return h->index_dtype == TL_DTYPE_I32 ? ((const int32_t*)b->offsets)[k] : ((const int64_t*)b->offsets)[k];
}

/* Where the elements of the part b of a table end in its block. */
static inline int64_t end_of(const tl_sparse_header* h, const tl_sparse_part* table, const tl_sparse_part* b)
{
	uint64_t next = b + 1 < table + h->blocks ? b[1].first_element : h->nonzeros;
	return (int64_t)(b->begin + next - b->first_element);
}

static inline bool is_optional(const void* out) { return out == NULL || (uintptr_t)out >= TL_LOWEST_ADDRESS; }

static inline void* element(uintptr_t array, int64_t i, uint8_t dtype)
{
	return array != 0 ? (void*)(array + (uint64_t)i * tlc_dtype_bytes[dtype]) : NULL;
}

/* Budget: that of header, 8 loads and a step for each halving of the blocks. */
tl_status tl_sparse_row(const tl_sparse* matrix, int64_t i, void** out_values, void** out_indices, int64_t* out_length)
{
	const tl_sparse_part* table;
	const tl_sparse_header* h = header(matrix, &table);
	if (TLC_UNLIKELY(h == NULL || (uint64_t)i >= h->lines)) goto ask_go;
	if (TLC_UNLIKELY(!is_optional(out_values) || !is_optional(out_indices) || !is_optional(out_length))) goto ask_go;
	const tl_sparse_part* b = block_of(h, table, (uint64_t)i);
	uint64_t k = (uint64_t)i - b->first_line;
	int64_t low = offset_at(h, b, k), high = offset_at(h, b, k + 1);
	if (TLC_UNLIKELY(low < (int64_t)b->begin || high < low || high > end_of(h, table, b))) goto ask_go;
	if (out_values != NULL) *out_values = element(b->values, low, h->value_dtype);
	if (out_indices != NULL) *out_indices = element(b->indices, low, h->index_dtype);
	if (out_length != NULL) *out_length = high - low;
	return TL_OK;
ask_go:
	return slow_sparse_row(matrix, i, out_values, out_indices, out_length);
}

/* Budget: that of header, 11 stores. */
tl_status tl_sparse_info_get(const tl_sparse* matrix, tl_sparse_info* out_info)
{
	const tl_sparse_part* table;
	const tl_sparse_header* h = header(matrix, &table);
	if (TLC_UNLIKELY(h == NULL || (uintptr_t)out_info < TL_LOWEST_ADDRESS || out_info->struct_size < sizeof *out_info))
		return slow_sparse_info_get(matrix, out_info);
	uint64_t index = tlc_dtype_bytes[h->index_dtype];
	uint64_t element_bytes = tlc_dtype_bytes[h->value_dtype] + index;
	*out_info = (tl_sparse_info){
		.struct_size = sizeof *out_info,
		.rows = (int64_t)(h->format == CSC ? h->minor : h->lines),
		.columns = (int64_t)(h->format == CSC ? h->lines : h->minor),
		.nonzeros = (int64_t)h->nonzeros,
		.blocks = (int64_t)h->blocks,
		.bytes = h->bytes,
		.payload_bytes = h->nonzeros * element_bytes + (h->lines + 1) * index,
		.format = h->format,
		.value_dtype = h->value_dtype,
		.index_dtype = h->index_dtype,
		.flags = h->flags,
	};
	return TL_OK;
}
