/* One hot operation, N times: `calls NAME N`. Instructions at N and at 2N give those of one; start-up cancels. */
#include <stdlib.h>
#include <string.h>
#include <tl_runtime.h>

#define OPERATION __attribute__((noinline, noclone)) static void

/* The loop alone, to be taken off the others. */
OPERATION op_loop(long n)
{
	for (long i = 0; i < n; i++) __asm__ volatile("" ::: "memory");
}

/* The least that a call of the slow path costs: in and out of Go. */
OPERATION op_cgo_call(long n)
{
	for (long i = 0; i < n; i++) tl_init();
}

OPERATION op_acquire_release(long n)
{
	tl_mem_enter_scope();
	void* object = tl_mem_new(64);
	for (long i = 0; i < n; i++) {
		tl_ptr_acquire(object);
		tl_ptr_release(object);
	}
	tl_mem_exit_scope();
}

OPERATION op_acquire_release_unbiased(long n)
{
	tl_mem_enter_scope();
	void* object = tl_mem_new(64);
	tl_ptr_share(object);
	for (long i = 0; i < n; i++) {
		tl_ptr_acquire(object);
		tl_ptr_release(object);
	}
	tl_mem_exit_scope();
}

OPERATION op_check(long n)
{
	void* object = tl_mem_alloc(64);
	for (long i = 0; i < n; i++) tl_ptr_check(object);
	tl_ptr_release(object);
}

OPERATION op_scope(long n)
{
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		tl_mem_exit_scope();
	}
}

OPERATION op_scope_of_8(long n)
{
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		for (int k = 0; k < 8; k++) tl_mem_new(64);
		tl_mem_exit_scope();
	}
}

OPERATION op_alloc_release(long n)
{
	for (long i = 0; i < n; i++) tl_ptr_release(tl_mem_alloc(64));
}

OPERATION op_alloc_free(long n)
{
	for (long i = 0; i < n; i++) tl_mem_free(tl_mem_alloc(64));
}

OPERATION op_malloc_free(long n)
{
	void* (*volatile allocate)(size_t) = malloc;
	for (long i = 0; i < n; i++) free(allocate(64));
}

OPERATION op_malloc_of_8(long n)
{
	void* (*volatile allocate)(size_t) = malloc;
	for (long i = 0; i < n; i++) {
		void* objects[8];
		for (int k = 0; k < 8; k++) objects[k] = allocate(64);
		for (int k = 8; k-- > 0;) free(objects[k]);
	}
}

OPERATION op_unregister_register(long n)
{
	tl_mem_enter_scope();
	void* object = tl_mem_new(64);
	for (long i = 0; i < n; i++) {
		tl_mem_unregister(object);
		tl_mem_register_struct(object);
	}
	tl_mem_exit_scope();
}

OPERATION op_malloc_register_struct(long n)
{
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		tl_mem_register_struct(malloc(64));
		tl_mem_exit_scope();
	}
}

/* A malloc and a free are part of it. */
static void register_pairs(long n, size_t bytes)
{
	for (long i = 0; i < n; i++) {
		void* block = malloc(bytes);
		tl_registry_register(block, bytes, TL_ALLOC_MALLOC);
		tl_registry_unregister(block);
	}
}

static void register_beside(long n, size_t live)
{
	for (size_t i = 0; i < live; i++)
		tl_registry_register_custom((char*)((uintptr_t)1 << 44) + i * 128, 64, (tl_deleter)(uintptr_t)abort, NULL);
	register_pairs(n, 64);
}

OPERATION op_registry_pair(long n) { register_beside(n, 1000); }
OPERATION op_registry_pair_1e6(long n) { register_beside(n, 1000000); }
OPERATION op_registry_pair_4096(long n) { register_pairs(n, 4096); }

/* A block that ends in the next unit of the registry. malloc returns it again each time. */
OPERATION op_registry_pair_2_units(long n)
{
	uintptr_t block, last;
	do {
		block = (uintptr_t)malloc(64);
		last = block + 63;
	} while (block >> 10 == last >> 10 || block >> 16 != last >> 16);
	free((void*)block);
	register_pairs(n, 64);
}

OPERATION op_registry_acquire_release(long n)
{
	void* block = malloc(64);
	tl_registry_register(block, 64, TL_ALLOC_MALLOC);
	for (long i = 0; i < n; i++) {
		tl_ptr_acquire(block);
		tl_ptr_release(block);
	}
}

OPERATION op_registry_hit(long n)
{
	register_beside(1, 1000);
	for (long i = 0; i < n; i++) tl_registry_is_registered((char*)((uintptr_t)1 << 44) + 128 * (i % 1000));
}

OPERATION op_registry_alias(long n)
{
	char* block = malloc(4096);
	uint64_t id = 0;
	tl_registry_register_buffer(block, 4096, NULL, 0, TL_ALLOC_MALLOC, &id);
	for (long i = 0; i < n; i++) {
		tl_registry_add_alias(id, block + 64);
		tl_registry_unregister(block + 64);
	}
}

OPERATION op_function(long n)
{
	for (long i = 0; i < n; i++) {
		tl_mem_function_enter(0);
		tl_mem_function_exit();
	}
}

OPERATION op_function_4_slots(long n)
{
	for (long i = 0; i < n; i++) {
		tl_mem_function_enter(4);
		for (int slot = 0; slot < 4; slot++) tl_mem_get_buffer(slot, 256);
		tl_mem_function_exit();
	}
}

OPERATION op_planned_frame(long n)
{
	for (long i = 0; i < n; i++) {
		tl_mem_frame_enter(512);
		tl_mem_frame_exit();
	}
}

OPERATION op_arena_alloc_8(long n)
{
	tl_arena_init(1 << 16);
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		for (int k = 0; k < 8; k++) tl_arena_alloc(64);
		tl_mem_exit_scope();
	}
	tl_arena_free();
}

OPERATION op_tensor_acquire_release(long n)
{
	const int64_t shape[2] = {64, 64};
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	for (long i = 0; i < n; i++) {
		tl_tensor_acquire(tensor);
		tl_tensor_release(tensor);
	}
	tl_tensor_free(tensor);
}

OPERATION op_tensor_empty_free(long n)
{
	const int64_t shape[2] = {64, 64};
	for (long i = 0; i < n; i++) tl_tensor_free(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape));
}

OPERATION op_tensor_in_slot(long n)
{
	const int64_t shape[2] = {64, 64};
	for (long i = 0; i < n; i++) {
		tl_mem_function_enter(1);
		tl_tensor_in_slot(0, TL_DTYPE_F32, 2, shape);
		tl_mem_function_exit();
	}
}

/* Addresses where nothing is: a pool does not touch its memory, and valgrind has no such room. */
static void* grant(void* ctx, size_t bytes)
{
	(void)ctx, (void)bytes;
	return (void*)((uintptr_t)1 << 44);
}

static void take_back(void* ctx, void* memory, size_t bytes) { (void)ctx, (void)memory, (void)bytes; }

static tl_memory_pool* new_pool(void)
{
	const tl_device_allocator allocator = {sizeof allocator, "nothing", 64, NULL, grant, take_back};
	tl_memory_pool* pool = NULL;
	if (tl_memory_pool_create(&allocator, (size_t)64 << 30, &pool) != TL_OK) exit(2);
	return pool;
}

OPERATION op_pool_pair(long n)
{
	tl_memory_pool* pool = new_pool();
	for (long i = 0; i < n; i++) tl_memory_pool_deallocate(pool, tl_memory_pool_allocate(pool, 4096));
}

static size_t draw(uint64_t* random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(*random >> 33);
}

/* Any of `live` blocks goes, one of another size comes: 256 bytes to 64 KiB, small ones more often. */
static void replace(long n, size_t live)
{
	tl_memory_pool* pool = new_pool();
	void** blocks = malloc(live * sizeof *blocks);
	uint64_t random = 1;
	for (size_t i = 0; i < live; i++) blocks[i] = tl_memory_pool_allocate(pool, 65536 >> draw(&random) % 9);
	for (long i = 0; i < n; i++) {
		void** block = &blocks[draw(&random) % live];
		tl_memory_pool_deallocate(pool, *block);
		*block = tl_memory_pool_allocate(pool, (65536 >> draw(&random) % 8) - draw(&random) % 256);
	}
	free(blocks);
}

OPERATION op_pool_replace_1e3(long n) { replace(n, 1000); }
OPERATION op_pool_replace_1e4(long n) { replace(n, 10000); }
OPERATION op_pool_replace_1e6(long n) { replace(n, 1000000); }

static const struct {
	const char* name;
	void (*run)(long n);
} operations[] = {
#define NAMED(name) {#name, op_##name}
	NAMED(loop),
	NAMED(cgo_call),
	NAMED(acquire_release),
	NAMED(acquire_release_unbiased),
	NAMED(check),
	NAMED(scope),
	NAMED(scope_of_8),
	NAMED(alloc_release),
	NAMED(alloc_free),
	NAMED(malloc_free),
	NAMED(malloc_of_8),
	NAMED(unregister_register),
	NAMED(malloc_register_struct),
	NAMED(registry_pair),
	NAMED(registry_pair_1e6),
	NAMED(registry_pair_2_units),
	NAMED(registry_pair_4096),
	NAMED(registry_acquire_release),
	NAMED(registry_hit),
	NAMED(registry_alias),
	NAMED(function),
	NAMED(function_4_slots),
	NAMED(planned_frame),
	NAMED(arena_alloc_8),
	NAMED(tensor_acquire_release),
	NAMED(tensor_empty_free),
	NAMED(tensor_in_slot),
	NAMED(pool_pair),
	NAMED(pool_replace_1e3),
	NAMED(pool_replace_1e4),
	NAMED(pool_replace_1e6),
#undef NAMED
};

int main(int argc, char** argv)
{
	if (argc != 3 || tl_init() != TL_OK) return 2;
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (strcmp(operations[i].name, argv[1]) == 0) return operations[i].run(atol(argv[2])), 0;
	return 2;
}
