/* One hot operation, N times: `calls NAME N`. Instructions at N and at 2N give those of one; start-up cancels. */
#include "calls.h"

#include <stdlib.h>
#include <string.h>
#include <tl_runtime.h>

/* The loop alone, to be taken off the others. */
EACH(loop, __asm__ volatile("" :: : "memory"))

/* The least that a call of the slow path costs: in and out of Go. */
EACH(cgo_call, tl_init())

static void count(long n, void* object)
{
	for (long i = 0; i < n; i++) {
		tl_ptr_acquire(object);
		tl_ptr_release(object);
	}
}

OPERATION(acquire_release)
{
	tl_mem_enter_scope();
	count(n, tl_mem_new(64));
	tl_mem_exit_scope();
}

OPERATION(acquire_release_unbiased)
{
	tl_mem_enter_scope();
	void* object = tl_mem_new(64);
	tl_ptr_share(object);
	count(n, object);
	tl_mem_exit_scope();
}

OPERATION(acquire_release_floating)
{
	void* object = tl_mem_alloc(64);
	count(n, object);
	tl_ptr_release(object);
}

OPERATION(ref_acquire_release)
{
	tl_mem_enter_scope();
	tl_ref ref = tl_ref_of(tl_mem_new(64));
	for (long i = 0; i < n; i++) {
		tl_ref_acquire(ref);
		tl_ref_release(ref);
	}
	tl_mem_exit_scope();
}

static void upgrade_and_release(long n, tl_ref (*weak_of)(void*))
{
	tl_mem_enter_scope();
	tl_ref weak = weak_of(tl_mem_new(64));
	for (long i = 0; i < n; i++) {
		tl_weak_get(weak);
		tl_ref_release(weak);
	}
	tl_mem_exit_scope();
}

OPERATION(weak_get_release) { upgrade_and_release(n, tl_weak_of); }
OPERATION(weak_get_release_shared) { upgrade_and_release(n, tl_weak_share); }

OPERATION(ref_get)
{
	void* object = tl_mem_alloc(64);
	tl_ref ref = tl_ref_of(object);
	for (long i = 0; i < n; i++) tl_ref_get(ref);
	tl_ref_release(ref);
}

OPERATION(check)
{
	void* object = tl_mem_alloc(64);
	for (long i = 0; i < n; i++) tl_ptr_check(object);
	tl_ptr_release(object);
}

OPERATION(scope)
{
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		tl_mem_exit_scope();
	}
}

OPERATION(scope_of_8)
{
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		for (int k = 0; k < 8; k++) tl_mem_new(64);
		tl_mem_exit_scope();
	}
}

OPERATION(scope_mixed)
{
	static const size_t sizes[8] = {64, 24, 96, 160, 32, 256, 64, 128};
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		for (int k = 0; k < 8; k++) tl_mem_new(sizes[k]);
		tl_mem_exit_scope();
	}
}

/* No two scopes in a row are alike. */
OPERATION(scope_alternating)
{
	for (long i = 0; i < n; i++) {
		size_t bytes = i % 2 == 0 ? 64 : 96;
		tl_mem_enter_scope();
		for (int k = 0; k < 8; k++) tl_mem_new(bytes);
		tl_mem_exit_scope();
	}
}

/* A node with two nodes and a name each: the scope holds all of them, and the root dies first. */
OPERATION(typed_tree)
{
	tl_type type = node_type();
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		node* nodes[3];
		for (int k = 0; k < 3; k++) {
			nodes[k] = tl_object_new(type);
			nodes[k]->name = tl_ptr_acquire(tl_mem_new(16));
		}
		nodes[2]->left = tl_ptr_acquire(nodes[0]);
		nodes[2]->right = tl_ptr_acquire(nodes[1]);
		tl_mem_exit_scope();
	}
}

/* The same, dropped by its last reference. */
OPERATION(typed_release)
{
	tl_type type = node_type();
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		node* root = tl_ptr_acquire(tl_object_new(type));
		root->left = tl_ptr_acquire(tl_object_new(type));
		root->right = tl_ptr_acquire(tl_object_new(type));
		tl_mem_exit_scope();
		tl_ptr_release(root);
	}
}

EACH(alloc_release, tl_ptr_release(tl_mem_alloc(64)))

EACH(alloc_release_70000, tl_ptr_release(tl_mem_alloc(70000)))

EACH(alloc_release_mixed, tl_ptr_release(tl_mem_alloc((size_t)65536 >> i % 16)))

EACH(alloc_free, tl_mem_free(tl_mem_alloc(64)))

OPERATION(malloc_free)
{
	void* (*volatile allocate)(size_t) = malloc;
	for (long i = 0; i < n; i++) free(allocate(64));
}

OPERATION(malloc_of_8)
{
	void* (*volatile allocate)(size_t) = malloc;
	for (long i = 0; i < n; i++) {
		void* objects[8];
		for (int k = 0; k < 8; k++) objects[k] = allocate(64);
		for (int k = 8; k-- > 0;) free(objects[k]);
	}
}

OPERATION(unregister_register)
{
	tl_mem_enter_scope();
	void* object = tl_mem_new(64);
	for (long i = 0; i < n; i++) {
		tl_mem_unregister(object);
		tl_mem_register_struct(object);
	}
	tl_mem_exit_scope();
}

OPERATION(malloc_register_struct)
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

OPERATION(registry_pair) { register_beside(n, 1000); }
OPERATION(registry_pair_1e6) { register_beside(n, 1000000); }
OPERATION(registry_pair_4096) { register_pairs(n, 4096); }

/* A block that ends in the next unit of the registry. malloc returns it again each time. */
OPERATION(registry_pair_2_units)
{
	uintptr_t block, last;
	do {
		block = (uintptr_t)malloc(64);
		last = block + 63;
	} while (block >> 10 == last >> 10 || block >> 16 != last >> 16);
	free((void*)block);
	register_pairs(n, 64);
}

OPERATION(registry_acquire_release)
{
	void* block = malloc(64);
	tl_registry_register(block, 64, TL_ALLOC_MALLOC);
	count(n, block);
}

OPERATION(registry_hit)
{
	register_beside(1, 1000);
	for (long i = 0; i < n; i++) tl_registry_is_registered((char*)((uintptr_t)1 << 44) + 128 * (i % 1000));
}

OPERATION(registry_alias)
{
	char* block = malloc(4096);
	uint64_t id = 0;
	tl_registry_register_buffer(block, 4096, NULL, 0, TL_ALLOC_MALLOC, &id);
	for (long i = 0; i < n; i++) {
		tl_registry_add_alias(id, block + 64);
		tl_registry_unregister(block + 64);
	}
}

static void let_go(void* pointer, void* ctx) { (void)pointer, (void)ctx; }

static void custom_pairs(long n, size_t bytes)
{
	char* block = malloc(2 * bytes);
	char* p = (char*)(((uintptr_t)block + bytes - 1) / bytes * bytes);
	for (long i = 0; i < n; i++) {
		tl_registry_register_custom(p, bytes, let_go, NULL);
		tl_registry_unregister(p);
	}
	free(block);
}

/* Blocks of twelve units of one region of the registry that come and go in turn. */
OPERATION(registry_custom_in_turn)
{
	enum { UNIT = 1 << 10, UNITS = 12 };
	char* p = (char*)((uintptr_t)1 << 44);
	for (long i = 0; i < n; i++) {
		char* block = p + i % UNITS * UNIT;
		tl_registry_register_custom(block, 64, let_go, NULL);
		tl_registry_unregister(block);
	}
}

OPERATION(registry_custom) { custom_pairs(n, 64); }
OPERATION(registry_custom_4096) { custom_pairs(n, 4096); }

enum { NAMES = 1000000, STRIDE = 16 };

/* A shared block with a million names; any of them gets another reference and loses it, or a new name comes and goes. */
static char* names_of_one_block(uint64_t* id)
{
	char* block = (char*)((uintptr_t)1 << 44);
	void** names = malloc(NAMES * sizeof *names);
	for (size_t i = 0; i < NAMES; i++) names[i] = block + i * STRIDE;
	tl_registry_register_buffer(block, (size_t)NAMES * STRIDE, names, NAMES, TL_ALLOC_MALLOC, id);
	free(names);
	return block;
}

static void any_name(long n, size_t offset)
{
	uint64_t id = 0, random = 1;
	char* block = names_of_one_block(&id);
	for (long i = 0; i < n; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		char* name = block + (random >> 33) % NAMES * STRIDE + offset;
		tl_registry_add_alias(id, name);
		tl_registry_unregister(name);
	}
}

OPERATION(registry_alias_1e6) { any_name(n, 0); }
OPERATION(registry_new_alias_1e6) { any_name(n, 4); }

OPERATION(registry_info_1e6)
{
	uint64_t id = 0;
	char* block = names_of_one_block(&id);
	tl_alloc_info info = {.struct_size = sizeof info};
	for (long i = 0; i < n; i++) tl_registry_info(block + i % NAMES * STRIDE, &info);
}

OPERATION(function)
{
	for (long i = 0; i < n; i++) {
		tl_mem_function_enter(0);
		tl_mem_function_exit();
	}
}

OPERATION(function_4_slots)
{
	for (long i = 0; i < n; i++) {
		tl_mem_function_enter(4);
		for (int slot = 0; slot < 4; slot++) tl_mem_get_buffer(slot, 256);
		tl_mem_function_exit();
	}
}

OPERATION(planned_frame)
{
	for (long i = 0; i < n; i++) {
		tl_mem_frame_enter(512);
		tl_mem_frame_exit();
	}
}

OPERATION(arena_alloc_8)
{
	tl_arena_init(1 << 16);
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		for (int k = 0; k < 8; k++) tl_arena_alloc(64);
		tl_mem_exit_scope();
	}
	tl_arena_free();
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

OPERATION(pool_pair)
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

OPERATION(pool_replace_1e3) { replace(n, 1000); }
OPERATION(pool_replace_1e4) { replace(n, 10000); }
OPERATION(pool_replace_1e6) { replace(n, 1000000); }

operation* operations;

int main(int argc, char** argv)
{
	if (argc != 3 || tl_init() != TL_OK) return 2;
	const operation* o = operations;
	while (o != NULL && strcmp(o->name, argv[1]) != 0) o = o->next;
	if (o == NULL) return 2;
	o->run(atol(argv[2]));
	return 0;
}
