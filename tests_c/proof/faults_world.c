/* The bystanders: something live of every family, and all that can be read of it. */
#include "dl.h"
#include "faults.h"
#include "sparse.h"

world w;
void* live[LIVE];
char world_deleter_context;

/* ---- making it ------------------------------------------------------------------------- */

static void destroyed(void* object)
{
	(void)object;
	w.destroyed++;
}

void world_deleter(void* memory, void* ctx)
{
	CHECK_PTR(ctx, &world_deleter_context);
	w.deleted++;
	free(memory);
}

static void fill(void* memory, size_t bytes, unsigned seed)
{
	for (size_t i = 0; i < bytes; i++) ((unsigned char*)memory)[i] = (unsigned char)(seed + i * 7 + i / 251);
}

static const size_t plain_bytes[PLAIN] = {24, 100, 700, 5000, 60000, 100000};

static void make_objects(void)
{
	static const size_t offsets[2] = {0, 8};
	tl_type_desc pair = {"pair", 32, offsets, 2, NULL, 0}, fragile = {"fragile", 48, offsets, 2, destroyed, 0};
	CHECK_OK(tl_type_define(&pair, &w.pair));
	CHECK_OK(tl_type_define(&fragile, &w.fragile));
	for (int i = 0; i < PLAIN; i++) {
		w.plain[i] = tl_mem_alloc(plain_bytes[i]);
		CHECK(w.plain[i] != NULL);
		CHECK_OK(tl_mem_register(w.plain[i]));
		for (int n = 0; n <= i % 3; n++) tl_ptr_acquire(w.plain[i]);
		fill(w.plain[i], plain_bytes[i], (unsigned)i);
	}
}

/* A pair that the scope holds, with one more reference of ours and these two of its own. */
static void** pair_of(tl_type type, void* first, void* second)
{
	void** made = tl_object_new(type);
	CHECK(made != NULL);
	made[0] = tl_ptr_acquire(first);
	made[1] = tl_ptr_acquire(second);
	made[2] = (void*)0x5555;
	return made;
}

static void make_graph(void)
{
	w.block = malloc(200);
	fill(w.block, 200, 9);
	CHECK_OK(tl_mem_register_struct(w.block));
	tl_ptr_acquire(w.block);
	w.vec = tl_vec_new(0);
	for (int i = 0; i < 4; i++) CHECK_OK(tl_vec_push(w.vec, i == 2 ? w.block : w.plain[i]));
	w.leaf = pair_of(w.fragile, w.plain[0], w.vec);
	w.root = pair_of(w.pair, w.leaf, NULL);
	for (int i = 0; i < 12; i++)
		w.root = pair_of(i % 2 ? w.pair : w.fragile, w.root, i % 3 ? w.plain[i % PLAIN] : w.vec);
	w.leaf[1] = tl_ptr_acquire(w.root); /* a cycle; the Vec keeps what it had */
	CHECK_OK(tl_ptr_release(w.vec));
}

static void make_foreign(void)
{
	w.shared = malloc(4096);
	fill(w.shared, 4096, 3);
	w.aliases[0] = (char*)w.shared + 64;
	w.aliases[1] = (char*)w.shared + 1024;
	CHECK_OK(tl_registry_register_buffer(w.shared, 4096, w.aliases, 2, TL_ALLOC_MALLOC, &w.shared_id));
	w.custom = malloc(64);
	CHECK_OK(tl_registry_register_custom(w.custom, 64, world_deleter, &world_deleter_context));
	w.array = tl_registry_new_array(100, 8);
	w.aligned = tl_aligned_alloc(1000, 256);
	w.zero = tl_aligned_alloc(64, 64);
	CHECK(w.array != NULL && w.aligned != NULL && w.zero != NULL);
	CHECK_OK(tl_registry_register(w.aligned, 1000, TL_ALLOC_ALIGNED));
	CHECK_OK(tl_workspace_create(3, 500, 64, &w.workspace));
	w.numpy_small = tl_numpy_malloc(NULL, 300);
	w.numpy_large = tl_numpy_calloc(NULL, 1000, 100);
	CHECK(w.numpy_small != NULL && w.numpy_large != NULL);
}

static void make_tensors(void)
{
	const int64_t shape[2] = {20, 30}, row[1] = {50};
	w.tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	fill(tl_tensor_data(w.tensor), 2400, 5);
	w.view = tl_view_slice(w.tensor, 0, 2, 18, 3);
	w.lent = tl_tensor_from_buffer(TL_DTYPE_U8, TL_DEVICE_CPU, 1, row, malloc(50), NULL, world_deleter,
	                               &world_deleter_context);
	w.far_away = tl_tensor_to(w.tensor, w.far_device);
	w.on_cuda = tl_tensor_to(w.tensor, w.cuda);
	w.exported = tl_tensor_to_dlpack(w.tensor, false);
	CHECK(w.view != NULL && w.lent != NULL && w.far_away != NULL && w.on_cuda != NULL && w.exported != NULL);
	w.matrix = sparse_sample();
	w.part = tl_sparse_slice(w.matrix, 1, 4);
	CHECK(w.matrix != NULL && w.part != NULL);
}

static void make_pools_and_plans(void)
{
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(TL_DEVICE_CPU), 1 << 16, &w.pool));
	for (int i = 0; i < 3; i++) {
		w.pool_blocks[i] = tl_memory_pool_allocate(w.pool, (size_t)(100 + 3000 * i));
		fill(w.pool_blocks[i], (size_t)(100 + 3000 * i), (unsigned)i);
	}
	w.torch = tl_torch_malloc(5000, 0, NULL);
	CHECK(w.torch != NULL);
	CHECK_OK(tl_plan_create(&w.plan));
	for (int64_t i = 0; i < 6; i++) CHECK_INT(tl_plan_add_buffer(w.plan, (size_t)(64 + 100 * i), 64, i, i + 3), i);
	CHECK_OK(tl_plan_solve(w.plan, 0));
}

static void make_frames(void)
{
	CHECK_OK(tl_arena_init(4096));
	w.arena = tl_arena_alloc(100);
	w.slot = tl_mem_get_buffer(1, 500);
	w.frame = tl_mem_frame_enter(256);
	fill(w.arena, 100, 1);
	fill(w.slot, 500, 2);
	fill(w.frame, 256, 3);
}

static void note_live(void)
{
	void* all[] = {w.plain[0],
	               w.plain[1],
	               w.plain[2],
	               w.plain[3],
	               w.plain[4],
	               w.plain[5],
	               w.root,
	               w.leaf,
	               w.vec,
	               w.block,
	               w.shared,
	               w.aliases[0],
	               w.aliases[1],
	               w.custom,
	               w.array,
	               w.aligned,
	               w.zero,
	               w.tensor,
	               w.view,
	               w.lent,
	               w.far_away,
	               w.on_cuda,
	               w.exported,
	               w.matrix,
	               w.part,
	               w.pool,
	               w.pool_blocks[0],
	               w.pool_blocks[1],
	               w.workspace,
	               w.plan,
	               w.numpy_small,
	               w.numpy_large,
	               w.slot,
	               w.frame,
	               w.arena,
	               tl_tensor_data(w.tensor),
	               tl_tensor_data(w.lent),
	               w.torch};
	for (int i = 0; i < LIVE; i++) live[i] = all[(size_t)i % (sizeof all / sizeof *all)];
}

void world_make(void)
{
	CHECK_OK(tl_mem_function_enter(3));
	CHECK_OK(tl_tag_push("the world"));
	make_objects();
	make_graph();
	make_foreign();
	make_tensors();
	make_pools_and_plans();
	make_frames();
	note_live();
	if (check_failures != 0) exit(1);
}

/* ---- lending ------------------------------------------------------------------------------ */

char* lent;
static bool taken;

void lend(void)
{
	lent = malloc(LENT_BYTES);
	taken = false;
}

bool taken_if(bool good) { return taken = good; }

void take_back(void)
{
	if (!taken) free(lent);
}

/* ---- ending it ------------------------------------------------------------------------- */

void world_end(void)
{
	tl_torch_free(w.torch, 5000, 0, NULL);
	CHECK_OK(tl_plan_destroy(w.plan));
	for (int i = 0; i < 3; i++) CHECK_OK(tl_memory_pool_deallocate(w.pool, w.pool_blocks[i]));
	CHECK_OK(tl_memory_pool_destroy(w.pool));
	w.exported->deleter(w.exported);
	tl_numpy_free(NULL, w.numpy_small, 300);
	tl_numpy_free(NULL, w.numpy_large, 100000);
	CHECK_OK(tl_workspace_destroy(w.workspace));
	CHECK_OK(tl_aligned_free(w.zero));
	void* all[] = {w.shared, w.aliases[0], w.aliases[1], w.custom, w.array, w.aligned};
	CHECK_INT(tl_registry_unregister_many(all, 6), 6);
	CHECK_OK(tl_ptr_release(w.block));
	for (int i = 0; i < PLAIN; i++)
		for (int n = 0; n <= i % 3; n++) CHECK_OK(tl_ptr_release(w.plain[i]));
	CHECK_OK(tl_tag_pop());
	CHECK_OK(tl_mem_function_exit());
	CHECK_OK(tl_arena_free());
	CHECK(tl_mem_collect_cycles() > 0);
}

/* ---- reading it ------------------------------------------------------------------------ */

enum { FIGURES = 256 };

struct snapshot {
	int count;
	struct {
		char what[48];
		uint64_t value;
		strictness until; /* the laxest comparison that looks at it */
	} of[FIGURES];
};

static void note(snapshot* s, const char* what, int number, uint64_t value)
{
	if (s->count == FIGURES) abort();
	snprintf(s->of[s->count].what, sizeof s->of[s->count].what, "%s %d", what, number);
	s->of[s->count].until = HEAP_TAKEN;
	s->of[s->count++].value = value;
}

static void note_until(snapshot* s, strictness until, const char* what, int number, uint64_t value)
{
	note(s, what, number, value);
	s->of[s->count - 1].until = until;
}

/* FNV-1a, eight bytes at a time: most of a run is this. */
static uint64_t contents(const void* memory, size_t bytes)
{
	const uint64_t prime = 0x100000001b3u;
	uint64_t hash = 0xcbf29ce484222325u, word;
	size_t i = 0;
	for (; i + sizeof word <= bytes; i += sizeof word) {
		memcpy(&word, (const char*)memory + i, sizeof word);
		hash = (hash ^ word) * prime;
	}
	for (; i < bytes; i++) hash = (hash ^ ((const unsigned char*)memory)[i]) * prime;
	return hash;
}

static void note_objects(snapshot* s)
{
	for (int i = 0; i < PLAIN; i++) {
		note(s, "count of plain", i, (uint64_t)tl_ptr_refcount(w.plain[i]));
		note(s, "contents of plain", i, contents(w.plain[i], plain_bytes[i]));
	}
	int at = 0;
	for (void** node = w.root; at < 14; node = node[0], at++) {
		note(s, "count in the graph", at, (uint64_t)tl_ptr_refcount(node));
		note(s, "contents of the graph", at, contents(node, 24));
	}
	note(s, "count of the Vec", 0, (uint64_t)tl_ptr_refcount(w.vec));
	note(s, "elements", 0, (uint64_t)tl_vec_len(w.vec));
	for (int64_t i = 0; i < tl_vec_len(w.vec); i++)
		note(s, "element", (int)i, (uint64_t)(uintptr_t)tl_vec_get(w.vec, i));
	note_until(s, NOTHING_CHANGED, "destructors", 0, (uint64_t)w.destroyed);
	note_until(s, NOTHING_CHANGED, "deleters", 0, (uint64_t)w.deleted);
}

static void note_foreign(snapshot* s)
{
	void* all[] = {w.block, w.shared, w.aliases[0], w.aliases[1], w.custom, w.array, w.aligned, w.workspace};
	for (int i = 0; i < 8; i++) {
		tl_alloc_info info = {.struct_size = sizeof info};
		CHECK_OK(tl_registry_info(all[i], &info));
		note(s, "count of foreign", i, info.count);
		note(s, "count of its block", i, info.block_count);
		note(s, "addresses of its block", i, info.addresses);
		note(s, "bytes of its block", i, info.bytes);
	}
	note(s, "contents of a buffer", 0, contents(w.shared, 4096));
	note(s, "registered bytes", 0, tl_registry_total_bytes());
	note(s, "registered pointers", 0, tl_registry_num_pointers());
	note(s, "registered buffers", 0, tl_registry_num_buffers());
	note(s, "count of a small block", 0, (uint64_t)tl_ptr_refcount(w.numpy_small));
	note(s, "contents of the frame", 0, contents(w.frame, 256));
	note(s, "contents of the slot", 0, contents(w.slot, 500));
	note(s, "contents of the arena", 0, contents(w.arena, 100));
}

static void note_tensors(snapshot* s)
{
	tl_tensor* all[] = {w.tensor, w.view, w.lent, w.far_away, w.on_cuda};
	for (int i = 0; i < 5; i++) {
		tl_tensor_info info = {.struct_size = sizeof info};
		CHECK_OK(tl_tensor_info_get(all[i], &info));
		note(s, "count of tensor", i, (uint64_t)tl_ptr_refcount(all[i]));
		note(s, "what is told of tensor", i, contents(&info.data, sizeof info - sizeof info.struct_size));
		note(s, "shape of tensor", i,
		     contents(info.shape, (size_t)info.rank * 8) ^ contents(info.strides, (size_t)info.rank * 8));
	}
	note(s, "contents of the tensor", 0, contents(tl_tensor_data(w.tensor), 2400));
	note(s, "count of the matrix", 0, (uint64_t)tl_ptr_refcount(w.matrix));
	note(s, "count of its part", 0, (uint64_t)tl_ptr_refcount(w.part));
	note(s, "the matrix is whole", 0, tl_sparse_validate(w.matrix) == TL_OK && tl_sparse_validate(w.part) == TL_OK);
	void *values, *indices;
	int64_t length;
	CHECK_OK(tl_sparse_row(w.matrix, 4, &values, &indices, &length));
	note(s, "a row of it", 0, contents(values, (size_t)length * 8) ^ contents(indices, (size_t)length * 4));
}

static void note_pools(snapshot* s)
{
	tl_memory_pool_stats of = {.struct_size = sizeof of};
	CHECK_OK(tl_memory_pool_stats_get(w.pool, &of));
	note(s, "bytes of the pool's blocks", 0, of.current_usage);
	note(s, "blocks of the pool", 0, of.num_allocations - of.num_deallocations);
	for (int i = 0; i < 3; i++) note(s, "contents of block", i, contents(w.pool_blocks[i], (size_t)(100 + 3000 * i)));
	note(s, "buffers of the plan", 0, (uint64_t)tl_plan_num_buffers(w.plan));
	note(s, "its frame", 0, tl_plan_frame_bytes(w.plan));
	for (int64_t i = 0; i < 6; i++) note(s, "offset of buffer", (int)i, tl_plan_offset(w.plan, i));
}

static void note_counters(snapshot* s)
{
	tl_stats of = {.struct_size = sizeof of};
	CHECK_OK(tl_stats_get(&of));
	/* What a device keeps is lent to the tensor pool, and not in use. */
	of.pool_blocks_live -= (uint64_t)tl_get_gpu_free_count();
	of.pool_block_bytes -= (uint64_t)tl_get_gpu_free_bytes();
	const uint64_t figures[] = {of.live_objects,
	                            of.live_bytes,
	                            of.foreign_live,
	                            of.tensors_live,
	                            of.plain_live,
	                            of.typed_live,
	                            of.vecs_live,
	                            of.sparse_live,
	                            of.tensor_bytes,
	                            of.foreign_bytes,
	                            of.registry_buffers,
	                            of.pool_blocks_live,
	                            of.pool_block_bytes,
	                            of.frame_bytes,
	                            of.arena_bytes,
	                            of.scope_entries,
	                            of.scope_entries_skipped,
	                            of.in_use_bytes};
	for (int i = 0; i < (int)(sizeof figures / sizeof *figures); i++)
		note_until(s, SOMETHING_DIED, "figure of tl_stats", i, figures[i]);
	note(s, "scopes", 0, (uint64_t)tl_get_scope_depth());
	note(s, "the arena's offset", 0, (uint64_t)tl_arena_get_offset());
	note(s, "the arena's capacity", 0, (uint64_t)tl_arena_get_capacity());
}

snapshot* snapshot_take(void)
{
	snapshot* s = calloc(1, sizeof *s);
	if (s == NULL) abort();
	note_objects(s);
	note_foreign(s);
	note_tensors(s);
	note_pools(s);
	note_counters(s);
	return s;
}

bool snapshot_same(snapshot* before, snapshot* after, strictness how, const char* when)
{
	bool same = before->count == after->count;
	for (int i = 0; i < before->count && i < after->count; i++) {
		if (before->of[i].until < how || before->of[i].value == after->of[i].value) continue;
		same = false;
		fprintf(stderr, "%s: %s was %" PRIu64 ", is %" PRIu64 "\n", when, before->of[i].what, before->of[i].value,
		        after->of[i].value);
	}
	free(before);
	free(after);
	return same;
}
