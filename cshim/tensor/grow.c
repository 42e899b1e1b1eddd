/* Tensors that grow along their first axis, while there is room where their elements are. What needs other memory, and
 * what is refused, is Go's (runtime/tensor/grow.go). */
#include "tensor.h"

/* A tensor that has become smaller keeps a quarter of its room and a span. The clock takes the rest from a range once the
 * tensor has left nothing more for a while (runtime/heap/ranges.go). Without membarrier Go takes it at once. A tensor in a
 * slot keeps the whole slot. */
static inline bool leaves(const tl_tensor_header* h, uint64_t bytes, uint64_t has)
{
	return has - bytes >= has / 4 + TL_SPAN_BYTES && h->data - tlc_g.heap_base >= tlc_g.heap_bytes;
}

/* Takes so many bytes of the room. The clock that takes some of it lowers what the header tells, has every thread pass a
 * barrier and then reads nbytes. So the clock sees the new size, or this thread sees the lower room and returns false
 * (docs/model/tails.pml). */
static inline bool take(tl_tensor_header* h, uint64_t bytes, uint64_t room)
{
	const uint64_t had = h->nbytes;
	__atomic_store_n(&h->nbytes, bytes, __ATOMIC_RELAXED);
	atomic_signal_fence(memory_order_seq_cst);
	if (TLC_LIKELY(h->flags == TL_TENSOR_CONTIGUOUS || bytes <= had)) return true;
	if (TLC_LIKELY(__atomic_load_n(&h->deleter_context, __ATOMIC_RELAXED) == room)) return true;
	__atomic_store_n(&h->nbytes, had, __ATOMIC_RELAXED);
	return false;
}

/* How many bytes of elements fit; 0: ask Go. With TL_DEBUG a red zone begins behind those in a slot. A header that was
 * overwritten since Go wrote where the elements stand apart, and how far they may reach, is Go's, too. */
static inline uint64_t room(const tl_tensor_header* h, uint32_t class)
{
	const uint32_t grown = TL_TENSOR_GROWN | TL_TENSOR_CONTIGUOUS;
	const uint64_t sum = h->data ^ h->deleter_context ^ TL_TENSOR_MARK;
	if (tlc_tensor_is_whole(h)) {
		const bool knows = tlc_g.debug == 0 && h->data == (uintptr_t)h + TLC_TENSOR_HEADER;
		return knows ? tlc_slot_bytes((uintptr_t)h, class) - TLC_TENSOR_HEADER : 0;
	}
	return h->flags == grown && h->device == 0 && h->base == sum ? h->deleter_context : 0;
}

/* The bytes of an extent of the first axis; false: there is no such tensor, or Go has to look. */
static inline bool bytes_of(const tl_tensor_header* h, int64_t extent, uint64_t* numel, uint64_t* bytes)
{
	const uint32_t rank = h->rank;
	const uint64_t size = tlc_dtype_bytes[h->dtype];
	if (TLC_UNLIKELY(rank - 1 >= TL_MAX_RANK || extent < 0 || size == 0)) return false;
	uint64_t n = (uint64_t)extent;
	for (uint32_t i = 1; i < rank; i++)
		if (TLC_UNLIKELY(__builtin_mul_overflow(n, (uint64_t)h->shape[i], &n))) return false;
	*numel = n;
	return (n != 0 || extent == 0) && !__builtin_mul_overflow(n, size, bytes); /* rows without bytes are Go's */
}

/* Leaves what is behind so many bytes to the clock, if it is much. The clock stops when no tensor has left anything. After it
 * has cleared `ticking` it looks once more, so it sees a mark that was stored before tlc_heap_watch. */
static __attribute__((noinline)) bool shrink(tl_tensor_header* h, uint64_t bytes, uint64_t room)
{
	tl_heap* heap = tlc_g.heap;
	const bool left = leaves(h, bytes, room);
	if (left && TLC_PEEK(heap->barriers) == 0) return false;
	take(h, bytes, room);
	if (!left) return true;
	__atomic_store_n(&h->mark, (uint64_t)1 + TLC_PEEK(heap->clock), __ATOMIC_RELEASE); /* after the size */
	tlc_heap_watch(heap);
	return true;
}

/* False: ask Go, nothing changed. */
static inline __attribute__((always_inline)) bool resize(tl_tensor* tensor, int64_t extent, bool zero)
{
	const tl_context* c = tlc_tls;
	tl_record* r;
	uint32_t class;
	uint64_t numel, bytes;
	tl_tensor_header* h = (tl_tensor_header*)(void*)tensor;
	if (TLC_UNLIKELY(!tlc_slot_at(c, (uintptr_t)tensor, &r, &class) || !tlc_is_fast(c))) return false;
	if (TLC_UNLIKELY(TLC_PEEK(r->type_flags) != TL_TYPE_TENSOR)) return false;
	const uint32_t sh = TLC_LOAD(r->sh);
	if (TLC_UNLIKELY((sh & TL_SH_FLAGS) != (TL_SH_ALIVE | TL_SH_MERGED) || tlc_sh_count(sh) != 1)) return false;
	const uint64_t fit = room(h, class), had = h->nbytes;
	if (TLC_UNLIKELY(fit == 0 || !bytes_of(h, extent, &numel, &bytes) || bytes > fit)) return false;
	const bool is_less = bytes < had && h->flags != TL_TENSOR_CONTIGUOUS;
	if (TLC_UNLIKELY(is_less ? !shrink(h, bytes, fit) : !take(h, bytes, fit))) return false;
	if (zero && bytes > had) memset((char*)h->data + had, 0, bytes - had);
	h->shape[0] = extent;
	h->numel = numel;
	return true;
}

tl_status tl_tensor_resize(tl_tensor* tensor, int64_t extent)
{
	return TLC_LIKELY(resize(tensor, extent, false)) ? TL_OK : slow_tensor_resize(tensor, extent);
}

tl_status tl_tensor_resize_zeros(tl_tensor* tensor, int64_t extent)
{
	return TLC_LIKELY(resize(tensor, extent, true)) ? TL_OK : slow_tensor_resize_zeros(tensor, extent);
}
