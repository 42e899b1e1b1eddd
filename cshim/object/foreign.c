/* The registry's public functions that have a fast path, and operator delete. */
#include "fast.h"
#include "../stacks/symbols.h"

/* ---- operator delete ------------------------------------------------------------------
 *
 * This library is linked with no C++ runtime. A process that registers memory of new has one. Its
 * functions are looked up at the first registration and kept, because a block has to be freed by
 * the runtime that was there when it was registered. */

typedef void (*delete_function)(void*);

static _Atomic(delete_function) deleters[2]; /* of TL_FOREIGN_NEW_ARRAY and TL_FOREIGN_NEW_SCALAR, once found */

static __attribute__((noinline)) delete_function find_deleter(uint32_t kind)
{
	static const char* const names[] = {"_ZdaPv", "_ZdlPv"};
	uint32_t i = kind - TL_FOREIGN_NEW_ARRAY;
	if (i >= 2) return NULL;
	void* library; /* never closed: the address stays good */
	delete_function f = (delete_function)tlc_find_cxx(names[i], &library);
	atomic_store_explicit(&deleters[i], f, memory_order_relaxed);
	return f;
}

static inline delete_function deleter_of(uint32_t kind)
{
	uint32_t i = kind - TL_FOREIGN_NEW_ARRAY;
	delete_function f = i < 2 ? atomic_load_explicit(&deleters[i], memory_order_relaxed) : NULL;
	return TLC_LIKELY(f != NULL) ? f : find_deleter(kind);
}

/* The address of a kind's operator delete. 0: no C++ runtime is loaded, or the kind has none. */
uintptr_t tlc_deleter_of(uint32_t kind) { return (uintptr_t)deleter_of(kind); }

/* The function was found when the block was registered, so there is one. */
void tlc_free_new(uintptr_t p, uint32_t kind)
{
	delete_function f = deleter_of(kind);
	if (f != NULL) f((void*)p);
}

/* ---- blocks with a record -------------------------------------------------------------- */

/* What a search found, made anew by a function that got it in registers. */
static inline tlc_lookup lookup_again(tl_shard* s, tl_region* bucket, tl_unit* u, tl_foreign_entry* e, uintptr_t p)
{
	return (tlc_lookup){.shard = s, .bucket = bucket, .unit = u, .entry = e, .at = tlc_start(p)};
}

int tlc_end_linked(tl_shard* s, tl_region* bucket, tl_unit* u, tl_foreign_entry* e, uintptr_t p, tlc_ended* ended)
{
	return tlc_end_here(lookup_again(s, bucket, u, e, p), p, ended);
}

/* ---- one owner --------------------------------------------------------------------------- */

static inline bool is_freeable(tl_alloc_kind kind)
{
	return kind == TL_ALLOC_MALLOC || kind == TL_ALLOC_ALIGNED || deleter_of((uint32_t)kind) != NULL;
}

static inline bool register_block(uintptr_t p, size_t bytes, tl_alloc_kind kind)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_is_fast(c) || p < TL_LOWEST_ADDRESS || tlc_is_kept(p))) return false;
	if (TLC_UNLIKELY((p | (p + bytes)) >> TLC_PROGRAM_BITS != 0)) return false;
	if (TLC_UNLIKELY(!is_freeable(kind) || !tlc_foreign_insert(p, bytes, (uint32_t)kind))) return false;
	c->foreign_adopted++;
	return true;
}

tl_status tl_registry_register(void* pointer, size_t bytes, tl_alloc_kind kind)
{
	tl_context* c = tlc_tls;
	uint64_t left;
	/* The slow path samples. The bytes are counted before the block is registered: the call that is
	 * sampled then does nothing here. */
	if (TLC_UNLIKELY(__builtin_sub_overflow(c->tracking.left, bytes, &left)))
		return slow_registry_register(pointer, bytes, kind);
	if (TLC_UNLIKELY(!register_block((uintptr_t)pointer, bytes, kind)))
		return slow_registry_register(pointer, bytes, kind);
	c->tracking.left = left;
	return TL_OK;
}

static inline tl_status unregistered(int result, const tlc_ended* ended, void* pointer)
{
	if (TLC_UNLIKELY(result != TLC_GONE)) return result == TLC_OK ? TL_OK : slow_registry_unregister(pointer);
	tlc_free_ended(tlc_tls, ended);
	return TL_OK;
}

/* One reference of several, or a floating one. */
static __attribute__((noinline)) tl_status unregister_rest(tl_shard* locked, void* pointer)
{
	tlc_ended ended;
	if (locked != NULL) tlc_shard_unlock(locked);
	int result = tlc_foreign_release((uintptr_t)pointer, &ended);
	return unregistered(result, &ended, pointer);
}

/* At an entry with a record, whose shard is locked. */
static __attribute__((noinline)) tl_status unregister_linked(tl_shard* s, tl_region* bucket, tl_unit* u,
                                                             tl_foreign_entry* e, void* pointer)
{
	uintptr_t p = (uintptr_t)pointer;
	tlc_lookup x = lookup_again(s, bucket, u, e, p);
	tlc_ended ended;
	int result = TLC_LIKELY(e->count == 1)
	                 ? tlc_end_here(x, p, &ended)
	                 : tlc_drop_at(x, p, TLC_DROP_RELEASE, tlc_effect_of(e, TLC_DROP_RELEASE, 0), tlc_here, &ended);
	if (TLC_UNLIKELY(result == TLC_AGAIN)) return unregister_rest(NULL, pointer);
	return unregistered(result, &ended, pointer);
}

static __attribute__((noinline)) tl_status not_registered(void* pointer)
{
	tl_status why;
	const bool is_ours = tlc_is_kept((uintptr_t)pointer);
	if (pointer == NULL) return TL_OK;
	if (!is_ours && tlc_refuse_missed(TLC_MISS, TL_FN_tl_registry_unregister, pointer, &why)) return why;
	return slow_registry_unregister(pointer);
}

tl_status tl_registry_unregister(void* pointer)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_is_fast(c))) return slow_registry_unregister(pointer);
	tlc_lookup x = tlc_lock_entry((uintptr_t)pointer);
	if (TLC_UNLIKELY(x.entry == NULL)) return not_registered(pointer);
	if (TLC_UNLIKELY(x.entry->link != 0)) return unregister_linked(x.shard, x.bucket, x.unit, x.entry, pointer);
	uint32_t kind = tlc_end_at(&x, (uintptr_t)pointer, 0, 0);
	if (TLC_UNLIKELY(kind == TLC_NO_KIND)) return unregister_rest(x.entry != NULL ? x.shard : NULL, pointer);
	tlc_free_foreign(c, (uintptr_t)pointer, kind);
	return TL_OK;
}

/* ---- deleters and aliases ---------------------------------------------------------------- */

static inline bool register_custom(uintptr_t p, size_t bytes, tl_deleter deleter, void* ctx)
{
	tl_context* c = tlc_tls;
	uint32_t gen;
	if (TLC_UNLIKELY(!tlc_is_fast(c) || p < TL_LOWEST_ADDRESS || tlc_is_kept(p))) return false;
	if (TLC_UNLIKELY((p | (p + bytes)) >> TL_FOREIGN_ADDRESS_BITS != 0 || deleter == NULL || tlc_forked()))
		return false;
	const tlc_owner own = {TL_BLOCK_CUSTOM, (uintptr_t)deleter, (uintptr_t)ctx};
	const uint64_t as = (uint64_t)TL_FOREIGN_CUSTOM << TL_FOREIGN_KIND_SHIFT;
	if (TLC_UNLIKELY(!tlc_insert_new(p, bytes, as, &own, &gen, NULL))) return false;
	c->foreign_adopted++;
	return true;
}

tl_status tl_registry_register_custom(void* pointer, size_t bytes, tl_deleter deleter, void* ctx)
{
	tl_context* c = tlc_tls;
	uint64_t left; /* as in tl_registry_register */
	if (TLC_UNLIKELY(__builtin_sub_overflow(c->tracking.left, bytes, &left)))
		return slow_registry_register_custom(pointer, bytes, deleter, ctx);
	if (TLC_UNLIKELY(!register_custom((uintptr_t)pointer, bytes, deleter, ctx)))
		return slow_registry_register_custom(pointer, bytes, deleter, ctx);
	c->tracking.left = left;
	return TL_OK;
}

tl_status tl_registry_add_alias(uint64_t buffer_id, void* alias)
{
	tl_context* c = tlc_tls;
	bool fresh = false;
	if (TLC_UNLIKELY(!tlc_is_fast(c) || tlc_forked() ||
	                 tlc_add_alias(buffer_id, (uintptr_t)alias, &fresh, NULL) != TLC_OK))
		return slow_registry_add_alias(buffer_id, alias);
	c->foreign_adopted += fresh;
	return TL_OK;
}

/* ---- memory that the registry allocates ------------------------------------------------ */

/* A block that is registered for the caller, or at zero. NULL: the slow path says why there is none. */
static inline __attribute__((always_inline)) void* new_block(tl_context* c, size_t bytes, size_t alignment, bool held)
{
	if (TLC_UNLIKELY(!tlc_is_fast(c) || bytes - 1 >= TL_FOREIGN_BYTES)) return NULL;
	void* block = NULL;
	if (TLC_UNLIKELY(tlc_host.aligned(&block, alignment, bytes) != 0)) return NULL;
	const uintptr_t p = (uintptr_t)block;
	const bool entered = held ? tlc_foreign_insert(p, bytes, TL_FOREIGN_ALIGNED)
	                          : tlc_registry_insert_at_zero(p, bytes, TL_FOREIGN_ALIGNED) == TLC_OK;
	if (TLC_UNLIKELY(!entered)) {
		tlc_host.free_aligned(block);
		return NULL;
	}
	c->foreign_adopted++;
	return tlc_spend(c, bytes) ? tlc_sampled_foreign(c, block, bytes) : block;
}

void* tl_registry_new_array(size_t count, size_t element_bytes)
{
	size_t bytes;
	bool fits = !__builtin_mul_overflow(count, element_bytes, &bytes);
	void* array = TLC_LIKELY(fits) ? new_block(tlc_tls, bytes, 64, true) : NULL;
	return TLC_LIKELY(array != NULL) ? array : slow_registry_new_array(count, element_bytes);
}

void* tl_aligned_alloc(size_t bytes, size_t alignment)
{
	bool power = alignment != 0 && (alignment & (alignment - 1)) == 0 && alignment <= TL_FOREIGN_BYTES;
	void* block = TLC_LIKELY(power) ? new_block(tlc_tls, bytes, alignment < 16 ? 16 : alignment, false) : NULL;
	return TLC_LIKELY(block != NULL) ? block : slow_aligned_alloc(bytes, alignment);
}

tl_status tl_aligned_free(void* pointer)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_is_fast(c))) return slow_aligned_free(pointer);
	if (TLC_UNLIKELY(pointer == NULL)) return TL_OK;
	if (TLC_UNLIKELY(tlc_foreign_free_aligned((uintptr_t)pointer) != TLC_GONE)) return slow_aligned_free(pointer);
	tlc_free_foreign(c, (uintptr_t)pointer, TL_FOREIGN_ALIGNED);
	return TL_OK;
}

/* A thread without a context may ask before another thread has made the table. */
static inline bool has_table(void) { return TLC_LIKELY(tlc_shared != &tlc_g); }

bool tl_registry_is_registered(const void* pointer)
{
	if (TLC_LIKELY(!tlc_is_inside())) return has_table() && tlc_foreign_known((uintptr_t)pointer);
	tlc_fail(TL_E_BUSY, TL_FN_tl_registry_is_registered, pointer);
	return false;
}

/* ---- workspaces ---------------------------------------------------------------------------- */

static const tl_workspace* live_workspace(const tl_workspace* w, uint32_t function)
{
	if (w == NULL || (has_table() && tlc_foreign_type((uintptr_t)w) == TL_FOREIGN_WORKSPACE)) return w;
	tlc_fail(TL_E_UNKNOWN_POINTER, function, w);
	return NULL;
}

void* tl_workspace_get(const tl_workspace* workspace, size_t rank)
{
	const tl_workspace* w = live_workspace(workspace, TL_FN_tl_workspace_get);
	if (w == NULL) {
		if (workspace == NULL) tl_clear_error();
		return NULL;
	}
	if (TLC_LIKELY(rank < w->count)) return (char*)w->base + rank * w->stride;
	tlc_fail(TL_E_INVALID_ARGUMENT, TL_FN_tl_workspace_get, NULL);
	return NULL;
}

size_t tl_workspace_bytes(const tl_workspace* workspace)
{
	const tl_workspace* w = live_workspace(workspace, TL_FN_tl_workspace_bytes);
	return w != NULL ? w->bytes_each : 0;
}
