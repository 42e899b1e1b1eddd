/* The rare cases of shapes.h and views.h, and what Go calls. */
#include "../base/generated_dtypes.h"
#include "dlpack.h"
#include "views.h"
#include "tl_runtime.h"

#define BYTES(name, bytes, kind, arrow) [TL_DTYPE_##name] = bytes,
const uint8_t tlc_dtype_bytes[UINT8_MAX + 1] = {TLC_EACH_DTYPE(BYTES)};

enum { DL_INT, DL_UINT, DL_FLOAT, DL_BFLOAT = 4, DL_COMPLEX, DL_BOOL };

#define DL_TYPE(name, bytes, kind, arrow) [TL_DTYPE_##name] = {DL_##kind, 8 * bytes, 1},
const tl_dl_type tlc_dl_types[UINT8_MAX + 1] = {TLC_EACH_DTYPE(DL_TYPE)};

/* ---- what is rare, or long ------------------------------------------------------------------ */

/* A position between 0 and the extent; for a slice that runs backwards, between -1 and the extent - 1. */
static inline int64_t clamp(int64_t position, int64_t extent, int64_t step)
{
	const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? (int64_t)((uint64_t)extent - 1) : extent;
	position = tlc_from_start(position, extent);
	position = position < low ? low : position;
	return position > high ? high : position;
}

tlc_part tlc_any_part(int64_t extent, int64_t start, int64_t stop, int64_t step)
{
	const int64_t first = clamp(start, extent, step), last = clamp(stop, extent, step);
	const uint64_t ahead = (uint64_t)last - (uint64_t)first, distance = step < 0 ? -ahead : ahead,
				   pace = tlc_pace(step);
	if ((int64_t)distance <= 0) return (tlc_part){first, 0};
	return (tlc_part){first, (int64_t)(pace == 1 ? distance : (distance - 1) / pace + 1)};
}

int64_t tlc_measure_apart(uint64_t size, int64_t rank, const int64_t* shape, uint64_t* numel)
{
	return tlc_measure(size, rank, shape, numel);
}

int64_t tlc_first_apart(int64_t last, const int64_t* shape, const int64_t* asked)
{
	int64_t i = 0;
	while (i < last && (shape[i] == 1 || shape[i] == asked[i] || asked[i] == TLC_OPEN_EXTENT)) i++;
	return i;
}

/* Neighbouring axes that are steps of one regular walk. */
typedef struct run {
	uint64_t length, stride;
} run;

/* The run that ends with axis *last, which moves in front of it. Axes of one element belong to any run. */
static inline run next_run(const tlc_walk* w, int64_t* last)
{
	run r = {1, 0};
	for (; *last >= 0; --*last) {
		const uint64_t extent = (uint64_t)w->shape[*last], stride = (uint64_t)w->strides[*last];
		if (extent == 1) continue;
		if (r.length != 1 && stride != r.length * r.stride) break;
		if (r.length == 1) r.stride = stride;
		r.length *= extent;
	}
	return r;
}

void tlc_keep(tlc_walk* w, int64_t rank, const int64_t* shape, const int64_t* strides)
{
	w->rank = rank;
	__builtin_memcpy(w->shape, shape, sizeof w->shape);
	__builtin_memcpy(w->strides, strides, sizeof w->strides);
}

/* Each run has to be divided among axes of its own, last ones first. */
bool tlc_follow(const tlc_walk* w, int64_t rank, const int64_t* shape, int64_t* strides)
{
	int64_t last = w->rank - 1;
	run r = next_run(w, &last);
	for (int64_t i = rank; i-- > 0;) {
		const uint64_t extent = (uint64_t)shape[i];
		if (extent != 1 && r.length == 1) r = next_run(w, &last);
		strides[i] = (int64_t)r.stride;
		if (extent == 1) continue;
		if (TLC_UNLIKELY(extent == 0 || r.length % extent != 0)) return false;
		r.length /= extent;
		r.stride *= extent;
	}
	return true;
}

/* ---- functions for Go ------------------------------------------------------------------------ */

static inline const int64_t* array_at(int64_t address) { return (const int64_t*)address; }

static uint32_t change(tlc_view* v, uint32_t operation, const int64_t* n)
{
	switch (operation) {
	case TL_VIEW_RESHAPE: return tlc_reshape(v, n[0], array_at(n[1]));
	case TL_VIEW_BROADCAST_TO: return tlc_broadcast(v, n[0], array_at(n[1]));
	case TL_VIEW_PERMUTE: return tlc_permute(v, n[0], array_at(n[1]));
	case TL_VIEW_TRANSPOSE: return tlc_transpose(v, n[0], n[1]);
	case TL_VIEW_SLICE: return tlc_slice(v, n[0], n[1], n[2], n[3]);
	case TL_VIEW_SLICE_AXES: return tlc_slice_axes(v, n[0], array_at(n[1]), array_at(n[2]), array_at(n[3]));
	case TL_VIEW_SQUEEZE: return tlc_squeeze(v, n[0]);
	default: return tlc_expand(v, n[0]);
	}
}

uint32_t tlc_make_view(tl_tensor_header* to, const tl_tensor_header* from, uint32_t operation, int64_t* numbers)
{
	tlc_view v = {.size = 0};
	uint32_t why = tlc_begin_view(&v, from, to);
	if (why == TL_VIEW_GRANTED) why = change(&v, operation, numbers);
	if (why == TL_VIEW_GRANTED) tlc_end_view(&v);
	else __builtin_memcpy(numbers, v.numbers, sizeof v.numbers);
	return why;
}

int64_t tlc_compact(uint64_t size, int64_t rank, int64_t* shape, int64_t* strides, uint64_t* numel)
{
	const int64_t axis = tlc_measure(size, rank, shape, numel);
	tlc_lay_out(shape, strides, rank, shape);
	return axis;
}
