/* Fixtures that are handles: memory pools and their blocks, plans, workspaces. And the
 * world that all fixtures live in: types, a device, an interpreter. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpreter.h"
#include "matrix.h"

/* ---- the world ------------------------------------------------------------------------- */

/* No processor reaches an address of the device; what it has lies this much below. */
static const uintptr_t FAR = (uintptr_t)1 << 61;

int32_t world_device;
tl_type world_type, world_destructor_type;
void* world_immortals[WORLD_IMMORTALS];
void (*world_during)(void);
void (*world_destroying)(void);

static void once(void (**what)(void))
{
	void (*call)(void) = *what;
	*what = NULL;
	if (call != NULL) call();
}

static void* far_allocate(void* ctx, size_t bytes)
{
	char* block = bytes > 64 << 20 ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
	(void)ctx;
	once(&world_during);
	return block == NULL ? NULL : (void*)((uintptr_t)block + FAR);
}

static void far_deallocate(void* ctx, void* block, size_t bytes)
{
	(void)ctx;
	(void)bytes;
	once(&world_during);
	free((void*)((uintptr_t)block - FAR));
}

static void* near_address(const void* p) { return (void*)((uintptr_t)p - FAR); }

static int32_t moved(void* to, const void* from, size_t bytes)
{
	once(&world_during);
	memmove(to, from, bytes);
	return TL_OK;
}

static int32_t from_host(void* ctx, void* to, const void* from, size_t bytes)
{
	(void)ctx;
	return moved(near_address(to), from, bytes);
}

static int32_t to_host(void* ctx, void* to, const void* from, size_t bytes)
{
	(void)ctx;
	return moved(to, near_address(from), bytes);
}

static int32_t within(void* ctx, void* to, const void* from, size_t bytes)
{
	(void)ctx;
	return moved(near_address(to), near_address(from), bytes);
}

static void* host_allocate(void* ctx, size_t bytes)
{
	void* block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	(void)ctx;
	once(&world_during);
	return block == MAP_FAILED ? NULL : block;
}

static void host_deallocate(void* ctx, void* block, size_t bytes)
{
	(void)ctx;
	once(&world_during);
	munmap(block, bytes);
}

tl_device_allocator world_allocator(void)
{
	return (tl_device_allocator){sizeof(tl_device_allocator), "matrix", 64, NULL, host_allocate, host_deallocate};
}

static void destroyed(void* object)
{
	(void)object;
	once(&world_destroying);
}

const tl_python_api* world_python(void)
{
	static tl_python_api python;
	python = interpreter();
	return &python;
}

const char* world_path(void)
{
	static char path[256];
	const char* folder = getenv(WORLD_FOLDER);
	if (path[0] == 0) snprintf(path, sizeof path, "%s/%d", folder == NULL ? "/tmp" : folder, (int)getpid());
	return path;
}

static void make_immortals(void)
{
	void* made[WORLD_IMMORTALS] = {tl_mem_new(64), tl_object_new(world_type),
	                               tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, SHAPE_RANK, matrix_shape)};
	for (int i = 0; i < WORLD_IMMORTALS; i++) {
		tl_ptr_make_immortal(made[i]);
		world_immortals[i] = made[i];
	}
}

void world_open(void)
{
	static const size_t fields[] = {0};
	tl_type_desc plain = {.name = "pair", .size = 64, .pointer_offsets = fields, .num_pointers = 1};
	tl_type_desc ended = plain;
	tl_device_allocator far = {sizeof far, "npu:0", 64, NULL, far_allocate, far_deallocate};
	tl_device_copier copier = {.struct_size = sizeof copier,
	                           .total_bytes = 1 << 30,
	                           .from_host = from_host,
	                           .to_host = to_host,
	                           .within = within};
	ended.destructor = destroyed;
	ended.name = "destroyed";
	if (tl_type_define(&plain, &world_type) != TL_OK || tl_type_define(&ended, &world_destructor_type) != TL_OK ||
	    tl_device_register(&far, &copier, &world_device) != TL_OK || tl_python_attach(world_python()) != TL_OK) {
		fprintf(stderr, "matrix: the worker cannot begin: %s\n", tl_last_error());
		exit(2);
	}
	make_immortals();
	world_path(); /* also where a child asks for it first */
}

/* ---- memory pools ------------------------------------------------------------------------ */

enum { POOL_HANDLE, POOL_DESTROYED, POOL_BLOCK, POOL_FREED, POOL_FOREIGN_BLOCK, POOL_DEAD_BLOCK };

static tl_memory_pool* new_pool(void)
{
	tl_memory_pool* pool = NULL;
	tl_device_allocator a = world_allocator();
	tl_memory_pool_create(&a, 65536, &pool);
	return pool;
}

void make_pool(fixture* f, intptr_t which, intptr_t offset)
{
	tl_memory_pool* pool = new_pool();
	f->absent = pool == NULL;
	f->pool = pool;
	if (which >= POOL_BLOCK) f->pointer = (char*)tl_memory_pool_allocate(pool, 256) + offset;
	else f->pointer = (void*)((uintptr_t)pool + (uintptr_t)offset);
	if (which == POOL_FREED) tl_memory_pool_deallocate(pool, (char*)f->pointer - offset);
	if (which == POOL_DEAD_BLOCK) tl_memory_pool_reset(pool);
	if (which != POOL_DESTROYED && which != POOL_DEAD_BLOCK) return;
	f->absent = tl_memory_pool_destroy(pool) != TL_OK;
	f->pool = NULL;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Two buffers, solved. */
static tl_plan* new_plan(void)
{
	tl_plan* plan = NULL;
	if (tl_plan_create(&plan) != TL_OK) return NULL;
	tl_plan_add_buffer(plan, 4096, 64, 0, 2);
	tl_plan_add_buffer(plan, 4096, 64, 1, 3);
	tl_plan_solve(plan, 0);
	return plan;
}

/* 0 live, 1 destroyed, 2 destroyed and its place taken by another. */
void make_plan(fixture* f, intptr_t which, intptr_t offset)
{
	tl_plan* plan = new_plan();
	f->absent = plan == NULL;
	f->plan = plan;
	f->pointer = (void*)((uintptr_t)plan + (uintptr_t)offset);
	if (which == 0 || f->absent) return;
	f->absent = tl_plan_destroy(plan) != TL_OK;
	f->plan = which == 2 ? new_plan() : NULL;
}

/* ---- workspaces --------------------------------------------------------------------------- */

/* 0 the handle, 1 a block. */
void make_workspace(fixture* f, intptr_t which, intptr_t offset)
{
	tl_workspace* workspace = NULL;
	f->absent = tl_workspace_create(2, 256, 64, &workspace) != TL_OK;
	if (f->absent) return;
	f->object = f->owned[0] = workspace;
	f->pointer = (char*)workspace + offset;
	if (which == 1) f->pointer = (char*)tl_workspace_get(workspace, 1) + offset;
}
