/* Drivers of the rest: the library itself, memory pools, the registry, workspaces, NumPy, lists and tracking. */
#include "kinds.h"
#include "tl_inline.h"

/* ---- the library */

DRIVE(tl_version) { CALL(CHECK(tl_version() != NULL)); }
DRIVE(tl_abi_version) { CALL(CHECK(tl_abi_version() != 0)); }
DRIVE(tl_is_started) { CALL(CHECK(tl_is_started())); }
DRIVE(tl_last_status) { CALL((void)tl_last_status()); }
DRIVE(tl_clear_error) { CALL(tl_clear_error()); }
DRIVE(tl_context) { CALL((void)tl_context(TL_INLINE_VERSION)); }
DRIVE(tl_context_address) { CALL((void)tl_context_address(TL_INLINE_VERSION)); }

DRIVE(tl_status_string)
{
	tl_status status = (tl_status)below(w, 40);
	CALL(CHECK(tl_status_string(status) != NULL));
}

DRIVE(tl_symbols)
{
	size_t count;
	CALL(CHECK(tl_symbols(&count) != NULL));
}

/* ---- memory pools; the pool is that of all threads */

static void** place(kinds_world* w) { return &w->pool_blocks[below(w, KINDS_HELD)]; }

DRIVE(tl_memory_pool_allocate)
{
	void** block = place(w);
	size_t bytes = kinds_bytes(w);
	if (*block != NULL) CHECK_OK(tl_memory_pool_deallocate(kinds_pool, *block));
	CALL(CHECK((*block = tl_memory_pool_allocate(kinds_pool, bytes)) != NULL));
}

DRIVE(tl_memory_pool_deallocate)
{
	void** block = place(w);
	void* old = *block;
	CHECK((*block = tl_memory_pool_allocate(kinds_pool, kinds_bytes(w))) != NULL);
	if (old == NULL) return;
	CALL(CHECK_OK(tl_memory_pool_deallocate(kinds_pool, old)));
}

/* ---- the registry */

static void* malloced(kinds_world* w, size_t* bytes) { return malloc(*bytes = kinds_bytes(w)); }

DRIVE(tl_registry_new_array)
{
	size_t count = 1 + (size_t)kinds_length(w), bytes_each = 1 + below(w, 100);
	void* array;
	(void)kinds_noted(w, count * bytes_each);
	CALL(array = tl_registry_new_array(count, bytes_each));
	CHECK_OK(tl_registry_unregister(array));
}

DRIVE(tl_registry_register)
{
	size_t bytes;
	void* block = malloced(w, &bytes);
	CALL(CHECK_OK(tl_registry_register(block, bytes, TL_ALLOC_MALLOC)));
	CHECK_OK(tl_registry_unregister(block));
}

static void free_block(void* block, void* ctx)
{
	(void)ctx;
	free(block);
}

DRIVE(tl_registry_register_custom)
{
	size_t bytes;
	void* block = malloced(w, &bytes);
	CALL(CHECK_OK(tl_registry_register_custom(block, bytes, free_block, NULL)));
	CHECK_OK(tl_registry_unregister(block));
}

DRIVE(tl_registry_unregister)
{
	size_t bytes;
	void* block = malloced(w, &bytes);
	CHECK_OK(one_in(w, 2) ? tl_registry_register(block, bytes, TL_ALLOC_MALLOC)
	                      : tl_registry_register_custom(block, bytes, free_block, NULL));
	CALL(CHECK_OK(tl_registry_unregister(block)));
}

static void* array(kinds_world* w)
{
	if (w->array == NULL) {
		w->array = malloced(w, &w->array_bytes);
		CHECK_OK(tl_registry_register_buffer(w->array, w->array_bytes, NULL, 0, TL_ALLOC_MALLOC, &w->buffer));
	}
	return w->array;
}

DRIVE(tl_registry_add_alias)
{
	char* alias = array(w);
	alias += below(w, w->array_bytes);
	CALL(CHECK_OK(tl_registry_add_alias(w->buffer, alias)));
	CHECK_OK(tl_registry_unregister(alias));
}

DRIVE(tl_registry_is_registered)
{
	void* pointer = one_in(w, 2) ? array(w) : kinds_nobody(w);
	CALL((void)tl_registry_is_registered(pointer));
}

DRIVE(tl_aligned_alloc)
{
	size_t bytes = kinds_bytes(w), alignment = (size_t)1 << below(w, 13);
	void* block;
	CALL(block = tl_aligned_alloc(bytes, alignment));
	CHECK_OK(tl_aligned_free(block));
}

DRIVE(tl_aligned_free)
{
	void* block = tl_aligned_alloc(kinds_bytes(w), (size_t)1 << below(w, 13));
	CALL(CHECK_OK(tl_aligned_free(block)));
}

/* ---- workspaces */

static tl_workspace* workspace(kinds_world* w)
{
	if (w->workspace == NULL) CHECK_OK(tl_workspace_create(4, kinds_bytes_to(w, 1 << 20), 64, &w->workspace));
	return w->workspace;
}

DRIVE(tl_workspace_get)
{
	const tl_workspace* of = workspace(w);
	CALL(CHECK(tl_workspace_get(of, 3) != NULL));
}

DRIVE(tl_workspace_bytes)
{
	const tl_workspace* of = workspace(w);
	CALL(CHECK(tl_workspace_bytes(of) != 0));
}

/* ---- NumPy and Python */

static void* other_block(kinds_world* w, void* block)
{
	void **place = &w->numpy_blocks[below(w, KINDS_HELD)], *old = *place;
	CHECK(block != NULL);
	*place = block;
	return old;
}

static void end_block(kinds_world* w, void* block)
{
	void* old = other_block(w, block);
	if (old != NULL) tl_numpy_free(NULL, old, 0);
}

DRIVE(tl_numpy_malloc)
{
	size_t bytes = kinds_bytes(w);
	void* block;
	CALL(block = tl_numpy_malloc(NULL, bytes));
	end_block(w, block);
}

DRIVE(tl_numpy_calloc)
{
	size_t bytes = kinds_bytes(w);
	void* block;
	CALL(block = tl_numpy_calloc(NULL, 1, bytes));
	w->touched += bytes;
	end_block(w, block);
}

DRIVE(tl_numpy_realloc)
{
	size_t bytes = kinds_bytes(w), more = kinds_bytes(w);
	void* block = tl_numpy_malloc(NULL, bytes);
	CALL(block = tl_numpy_realloc(NULL, block, more));
	w->touched += bytes < more ? bytes : more;
	end_block(w, block);
}

DRIVE(tl_numpy_free)
{
	size_t bytes = kinds_bytes(w);
	void* block = tl_numpy_malloc(NULL, bytes);
	block = other_block(w, block);
	if (block != NULL) CALL(tl_numpy_free(NULL, block, bytes));
}

DRIVE(tl_numpy_handler) { CALL((void)tl_numpy_handler()); }

DRIVE(tl_python_site)
{
	void* object = kinds_object(w);
	CALL((void)tl_python_site(object));
	kinds_drop(w, object);
}

DRIVE(tl_python_capsule) { w->apart = "needs an interpreter"; }
DRIVE(tl_python_arrow) { w->apart = "needs an interpreter"; }
DRIVE(tl_python_registered) { w->apart = "needs an interpreter"; }

/* ---- lists */

DRIVE(tl_deferred_push)
{
	void* list = NULL;
	tl_deferred node = {NULL, &list};
	CALL(tl_deferred_push(w, &node));
	CHECK_PTR(list, &node);
}

DRIVE(tl_deferred_take)
{
	void *list = NULL, *taken;
	tl_deferred node = {NULL, &list};
	tl_deferred_push(w, &node);
	CALL(taken = tl_deferred_take(&list));
	CHECK_PTR(taken, &node);
}

/* ---- diagnostics */

#define NOTES(name, call)               \
	DRIVE(name)                         \
	{                                   \
		void* object = kinds_object(w); \
		CALL(call);                     \
		kinds_drop(w, object);          \
	}
NOTES(tl_log_alloc, CHECK_OK(tl_log_alloc(object, 8, __FILE__, __LINE__)))
NOTES(tl_log_free, CHECK_OK(tl_log_free(object, __FILE__, __LINE__)))
NOTES(tl_track_site, (void)tl_track_site(object, __FILE__, __LINE__))

DRIVE(tl_trace_mem) { CALL(CHECK_OK(tl_trace_mem("here"))); }
DRIVE(tl_track_count) { CALL(CHECK(tl_track_count() != NULL)); }
