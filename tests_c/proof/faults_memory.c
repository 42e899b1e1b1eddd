/* Registered memory, workspaces, NumPy's blocks, memory pools and devices. */
#include "faults.h"

static void* made;

static bool is(void* p)
{
	made = p;
	return p != NULL;
}

/* ---- registered memory ------------------------------------------------------------------- */

enum { MANY = 300 };
static void* many[MANY];
static size_t sizes[MANY];
static bool registered; /* all of them */

static void malloc_many(void)
{
	for (int i = 0; i < MANY; i++) {
		sizes[i] = (size_t)(40 + i % 7 * 1000);
		many[i] = malloc(sizes[i]);
	}
	registered = false;
}

static void free_many(void)
{
	for (int i = 0; i < MANY && !registered; i++) free(many[i]);
}

static void unregister_lent(void) { CHECK_OK(tl_registry_unregister(lent)); }
static void unregister_made(void) { CHECK_OK(tl_registry_unregister(made)); }
static void unregister_many(void) { CHECK_INT(tl_registry_unregister_many(many, MANY), MANY); }
static void unregister_names(void)
{
	void* names[] = {lent, lent + 100, lent + 1000, lent + 4999};
	CHECK_INT(tl_registry_unregister_many(names, 4), 4);
}

static bool new_array(void) { return is(tl_registry_new_array(1000, 24)); }
static bool register_block(void) { return taken_if(ok(tl_registry_register(lent, LENT_BYTES, TL_ALLOC_MALLOC))); }
static bool register_custom(void)
{
	return taken_if(ok(tl_registry_register_custom(lent, LENT_BYTES, world_deleter, &world_deleter_context)));
}

static bool register_buffer(void)
{
	void* names[] = {lent + 100, lent + 1000, lent + 4999};
	return taken_if(ok(tl_registry_register_buffer(lent, LENT_BYTES, names, 3, TL_ALLOC_MALLOC, NULL)));
}

static bool register_custom_buffer(void)
{
	void* names[] = {lent + 100, lent + 1000, lent + 4999};
	return taken_if(ok(
		tl_registry_register_custom_buffer(lent, LENT_BYTES, names, 3, world_deleter, &world_deleter_context, NULL)));
}

static bool add_alias(void) { return ok(tl_registry_add_alias(w.shared_id, made = (char*)w.shared + 2000)); }
static bool register_many(void)
{
	return registered = ok(tl_registry_register_many(many, sizes, MANY, TL_ALLOC_MALLOC));
}
static bool aligned_alloc_(void) { return is(tl_aligned_alloc(3000, 512)); }
static void aligned_free(void) { CHECK_OK(tl_aligned_free(made)); }

static tl_workspace* workspace;
static bool create_workspace(void) { return ok(tl_workspace_create(5, 3000, 128, &workspace)); }
static void destroy_workspace(void) { CHECK_OK(tl_workspace_destroy(workspace)); }

static bool numpy_malloc(void) { return is(tl_numpy_malloc(NULL, 900)); }
static bool numpy_malloc_large(void) { return is(tl_numpy_malloc(NULL, 90000)); }
static bool numpy_calloc(void) { return is(tl_numpy_calloc(NULL, 30, 40)); }
static void numpy_free(void) { tl_numpy_free(NULL, made, 0); }

static void numpy_block(void)
{
	made = tl_numpy_malloc(NULL, 500);
	memset(made, 0x33, 500);
}

static bool numpy_realloc(void)
{
	char* grown = tl_numpy_realloc(NULL, made, 80000);
	if (grown == NULL) return false;
	for (int i = 0; i < 500; i++) CHECK_INT(grown[i], 0x33);
	return is(grown);
}

static const step foreigns[] = {
	{.name = "tl_registry_new_array", .call = new_array, .undo = unregister_made},
	{.name = "tl_registry_register",
     .call = register_block,
     .before = lend,
     .undo = unregister_lent,
     .finally = take_back},
	{.name = "tl_registry_register_custom",
     .call = register_custom,
     .before = lend,
     .undo = unregister_lent,
     .finally = take_back},
	{.name = "tl_registry_register_buffer",
     .call = register_buffer,
     .before = lend,
     .undo = unregister_names,
     .finally = take_back},
	{.name = "tl_registry_register_custom_buffer",
     .call = register_custom_buffer,
     .before = lend,
     .undo = unregister_names,
     .finally = take_back},
	{.name = "tl_registry_add_alias", .call = add_alias, .undo = unregister_made},
	{.name = "tl_registry_register_many",
     .call = register_many,
     .before = malloc_many,
     .undo = unregister_many,
     .finally = free_many},
	{.name = "tl_aligned_alloc", .call = aligned_alloc_, .undo = aligned_free},
	{.name = "tl_workspace_create", .call = create_workspace, .undo = destroy_workspace},
	{.name = "tl_numpy_malloc", .call = numpy_malloc, .undo = numpy_free},
	{.name = "tl_numpy_malloc", .call = numpy_malloc_large, .undo = numpy_free},
	{.name = "tl_numpy_calloc", .call = numpy_calloc, .undo = numpy_free},
	{.name = "tl_numpy_realloc", .call = numpy_realloc, .before = numpy_block, .finally = numpy_free}};
const steps foreign_steps = {foreigns, sizeof foreigns / sizeof *foreigns};

/* ---- memory pools ------------------------------------------------------------------------ */

static tl_memory_pool* pool;

static bool create_pool(void)
{
	const tl_device_allocator allocator = own_device_allocator();
	return ok(tl_memory_pool_create(&allocator, 10000, &pool));
}

static bool create_cuda_pool(void) { return ok(tl_memory_pool_create(tl_device_allocator_for(w.cuda), 10000, &pool)); }
static void destroy_pool(void) { CHECK_OK(tl_memory_pool_destroy(pool)); }
static void own_pool(void) { CHECK(create_pool()); }
static void cuda_pool(void) { CHECK(create_cuda_pool()); }
static bool allocate_within(void) { return is(tl_memory_pool_allocate(pool, 3000)); }
static bool allocate_beyond(void) { return is(tl_memory_pool_allocate(pool, 300000)); }
static bool allocate_async(void) { return is(tl_memory_pool_allocate_async(pool, 50000, NULL)); }
static void free_made(void) { CHECK_OK(tl_memory_pool_deallocate(pool, made)); }

/* So many blocks that the tables of the pool have no record left. */
enum { SMALL = 20000 };
static void* small[SMALL];
static int smalls;

static void fill_tables(void)
{
	const tl_device_allocator allocator = own_device_allocator();
	CHECK_OK(tl_memory_pool_create(&allocator, 1 << 20, &pool));
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0"));
	for (smalls = 0; smalls < SMALL && (small[smalls] = tl_memory_pool_allocate(pool, 64)) != NULL; smalls++) {}
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
}

static void free_small(void)
{
	while (smalls > 0) CHECK_OK(tl_memory_pool_deallocate(pool, small[--smalls]));
	destroy_pool();
}

static bool given_back;
static void cuda_block(void)
{
	cuda_pool();
	CHECK(is(tl_memory_pool_allocate_async(pool, 50000, NULL)));
	given_back = false;
}

static bool deallocate_async(void) { return given_back = ok(tl_memory_pool_deallocate_async(pool, made, NULL)); }

static void end_cuda_block(void)
{
	if (!given_back) free_made();
	destroy_pool();
}

static bool torch_malloc(void) { return is(tl_torch_malloc(70000, 0, NULL)); }
static void torch_free(void) { tl_torch_free(made, 70000, 0, NULL); }

static const step pools[] = {{.name = "tl_memory_pool_create", .call = create_pool, .undo = destroy_pool},
                             {.name = "tl_memory_pool_create", .call = create_cuda_pool, .undo = destroy_pool},
                             {.name = "tl_memory_pool_allocate",
                              .call = allocate_within,
                              .before = own_pool,
                              .undo = free_made,
                              .finally = destroy_pool},
                             {.name = "tl_memory_pool_allocate",
                              .call = allocate_beyond,
                              .before = own_pool,
                              .undo = free_made,
                              .finally = destroy_pool},
                             {.name = "tl_memory_pool_allocate",
                              .call = allocate_within,
                              .before = fill_tables,
                              .undo = free_made,
                              .finally = free_small},
                             {.name = "tl_memory_pool_allocate_async",
                              .call = allocate_async,
                              .before = cuda_pool,
                              .undo = free_made,
                              .finally = destroy_pool},
                             {.name = "tl_memory_pool_deallocate_async",
                              .call = deallocate_async,
                              .before = cuda_block,
                              .finally = end_cuda_block},
                             {.name = "tl_torch_malloc", .call = torch_malloc, .undo = torch_free}};
const steps pool_steps = {pools, sizeof pools / sizeof *pools};

/* ---- devices ----------------------------------------------------------------------------- */

static char here[5000];

static bool allocate_there(int32_t device)
{
	const tl_device_allocator* a = tl_device_allocator_for(device);
	return a != NULL && is(a->allocate(a->ctx, 20000));
}

static void give_back(int32_t device)
{
	const tl_device_allocator* a = tl_device_allocator_for(device);
	a->deallocate(a->ctx, made, 20000);
}

static bool allocate_cpu(void) { return allocate_there(TL_DEVICE_CPU); }
static bool allocate_far(void) { return allocate_there(w.far_device); }
static void give_back_cpu(void) { give_back(TL_DEVICE_CPU); }
static void give_back_far(void) { give_back(w.far_device); }
static bool copy_there(void)
{
	return ok(tl_device_copy(w.far_device, tl_tensor_data(w.far_away), TL_DEVICE_CPU, tl_tensor_data(w.tensor), 2400));
}
static bool copy_back(void)
{
	return ok(tl_device_copy(TL_DEVICE_CPU, here, w.far_device, tl_tensor_data(w.far_away), 2400));
}
static bool copy_across(void)
{
	return ok(tl_device_copy(w.cuda, tl_tensor_data(w.on_cuda), w.far_device, tl_tensor_data(w.far_away), 2400));
}
static bool fill(void) { return ok(tl_device_fill(TL_DEVICE_CPU, here, 7, sizeof here)); }
static void* far_memory;

static void take_far_memory(void)
{
	CHECK(allocate_far());
	far_memory = made;
}

static void give_far_memory(void)
{
	made = far_memory;
	give_back_far();
}

static bool fill_far(void) { return ok(tl_device_fill(w.far_device, far_memory, 7, 20000)); }

static bool memory_info(void)
{
	uint64_t free_bytes, total;
	return ok(tl_device_memory_info(w.cuda, &free_bytes, &total));
}

static bool set_limit(void)
{
	return ok(tl_mem_set_limit(TL_MEM_OWN_ALLOCATORS, (uint64_t)1 << 40, (uint64_t)1 << 41));
}
static void no_limit(void) { CHECK_OK(tl_mem_set_limit(TL_MEM_OWN_ALLOCATORS, 0, 0)); }
static bool never(int32_t device, size_t requested, uint32_t attempt, void* ctx)
{
	(void)device, (void)requested, (void)attempt, (void)ctx;
	return false;
}

static bool set_callback(void) { return ok(tl_mem_set_out_of_memory_callback(never, NULL)); }
static void no_callback(void) { CHECK_OK(tl_mem_set_out_of_memory_callback(NULL, NULL)); }

static const step devices[] = {
	{.name = "tl_device_allocator_for", .call = allocate_cpu, .undo = give_back_cpu},
	{.name = "tl_device_allocator_for", .call = allocate_far, .undo = give_back_far},
	{.name = "tl_device_copy", .call = copy_there},
	{.name = "tl_device_copy", .call = copy_back},
	{.name = "tl_device_copy", .call = copy_across},
	{.name = "tl_device_fill", .call = fill},
	{.name = "tl_device_fill", .call = fill_far, .before = take_far_memory, .finally = give_far_memory},
	{.name = "tl_device_memory_info", .call = memory_info},
	{.name = "tl_mem_set_limit", .call = set_limit, .undo = no_limit},
	{.name = "tl_mem_set_out_of_memory_callback", .call = set_callback, .undo = no_callback}};
const steps device_steps = {devices, sizeof devices / sizeof *devices};
