/* Cells with a type: their fields end with them, and are shared with them. */
#include <stddef.h>

#include "inlined.h"

typedef struct node {
	struct node *left, *right;
	void* object;
	int64_t value;
} node;

static tl_type node_type, list_type, holder_type, noisy_type;

static tl_type define(const char* name, size_t size, size_t pointers, void (*destructor)(void*))
{
	const size_t offsets[] = {0, 8, 16};
	const tl_type_desc description = {
		.name = name, .size = size, .pointer_offsets = offsets, .num_pointers = pointers, .destructor = destructor};
	tl_type type;
	CHECK_OK(tl_type_define(&description, &type));
	return type;
}

static int noises;
static void* in_destructor; /* a cell that it frees */

static void make_noise(void* object)
{
	(void)object;
	noises++;
	if (in_destructor != NULL) CHECK_OK(tl_cell_free(in_destructor));
	in_destructor = NULL;
}

static node* new_node(node* left, node* right)
{
	node* n = tl_cell_new_typed(node_type);
	CHECK(n != NULL && n->left == NULL && n->right == NULL && n->object == NULL && n->value == 0);
	n->left = left;
	n->right = right;
	return n;
}

static void end(void* cell)
{
	CHECK(tl_cell_drop(cell));
	CHECK_OK(tl_cell_free(cell));
}

static uint64_t live(void) { return check_take_balance().objects; }

/* ---- fields ------------------------------------------------------------------------------ */

static node* tree_of(int depth)
{
	if (depth == 0) return NULL;
	node* left = tree_of(depth - 1);
	return new_node(left, depth % 3 == 0 && left != NULL ? tl_cell_dup(left) : tree_of(depth - 1));
}

TEST(a_tree_ends_with_its_root)
{
	const uint64_t before = live();
	for (int round = 0; round < 3; round++) {
		node *tree = tree_of(10), *kept = tl_cell_dup(tree->left);
		end(tree);
		CHECK(live() > before && tl_cell_is_unique(kept) && kept->left != NULL);
		end(kept);
		CHECK_INT(live(), before);
	}
}

/* Memory that was used before is cleared. */
TEST(a_new_one_is_zeroed)
{
	static const size_t sizes[] = {24, 32, 33, 496, 497, 3000, 65520, 65521, 65536, 65537, 300000};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const tl_type type = define("sized", sizes[i], 3, NULL);
		for (int round = 0; round < 3; round++) {
			unsigned char* cell = tl_cell_new_typed(type);
			CHECK(cell != NULL && (uintptr_t)cell % 16 == 0);
			CHECK_INT(((uint32_t*)cell)[-1], 0);
			for (size_t at = 0; at < sizes[i]; at++)
				if (cell[at] != 0) CHECK_INT(at, -1);
			memset(cell + 24, 0xFF, sizes[i] - 24);
			end(cell);
		}
	}
}

TEST(operations_are_those_of_cells)
{
	node* n = new_node(NULL, NULL);
	CHECK(tl_inl_cell_is_unique(n) && tl_cell_is_unique(n));
	CHECK_PTR(tl_inl_cell_dup(n), n);
	CHECK(!tl_inl_cell_is_unique(n));
	CHECK_FAILS(tl_cell_free(n), TL_E_BUSY);
	CHECK(!tl_inl_cell_drop(n));
	CHECK(tl_inl_cell_drop(n));
	n->left = new_node(NULL, NULL);
	tl_inl_thread thread = begin();
	CHECK_OK(tl_inl_cell_free(&thread, n)); /* makes the call, which drops the field */
}

/* Objects are released, and cells without a type are freed. */
TEST(a_field_is_a_cell_or_an_object)
{
	void *object = tl_mem_alloc(100), *plain = tl_mem_alloc(100);
	node* n = new_node(tl_cell_new(40), tl_cell_new(200));
	n->object = object;
	CHECK_OK(tl_ptr_inc_ref(plain));
	node* m = new_node(n, NULL);
	m->object = plain;
	tl_cell_dup(n->right);
	node* shared = n->right;
	CHECK_COUNT(plain, 2);
	end(m);
	CHECK_COUNT(plain, 1);
	CHECK_DEAD(object);
	CHECK(tl_cell_is_unique(shared));
	CHECK_OK(tl_cell_free(shared));
	CHECK_OK(tl_mem_free(plain));
}

/* What is no reference is passed over, as in an object. */
TEST(a_wild_field_is_passed_over)
{
	static int64_t outside[8];
	char *object = tl_mem_alloc(64), *cell = tl_cell_new(64);
	if (!is_option("TL_DEBUG", "1")) {
		node* n = new_node((void*)(object + 16), (void*)(cell + 16));
		n->object = outside;
		end(n);
		end(new_node((void*)(cell - 16), (void*)8));
	}
	CHECK_COUNT(object, 1);
	CHECK(tl_cell_is_unique(cell));
	CHECK_OK(tl_cell_free(cell));
	CHECK_OK(tl_mem_free(object));
}

TEST(a_chain_needs_no_stack)
{
	const int length = is_fast() ? 1000000 : 20000;
	const uint64_t before = live();
	node* chain = NULL;
	for (int i = 0; i < length; i++) chain = new_node(chain, NULL);
	end(chain);
	CHECK_INT(live(), before);
	for (int i = 0; i < length; i++) chain = new_node(i == 0 ? NULL : chain, NULL);
	CHECK_OK(tl_cell_share(chain));
	int shared = 0;
	for (node* n = chain; n != NULL; n = n->left) shared += ((int32_t*)n)[-2] == -1;
	CHECK_INT(shared, length);
	end(chain);
	CHECK_INT(live(), before);
}

/* Objects that a cell held run their destructors when all cells have ended, and may free cells themselves. */
TEST(destructors_run_behind_the_end)
{
	node *first = new_node(NULL, NULL), *second = new_node(first, NULL), *other = new_node(new_node(NULL, NULL), NULL);
	const uint64_t before = live();
	noises = 0;
	for (int i = 0; i < 2; i++) {
		void** object = tl_object_new(noisy_type);
		CHECK_OK(tl_mem_unregister(object));
		(i == 0 ? first : second)->object = object;
	}
	in_destructor = other;
	end(second);
	CHECK_INT(noises, 2);
	CHECK_INT(live(), before - 4);
}

/* A Vec and a typed object in a field end with it, and what they held. */
TEST(objects_in_fields_end_with_theirs)
{
	const uint64_t before = live();
	node* n = new_node(NULL, NULL);
	void **holder = tl_object_new(holder_type), *vec = tl_vec_new(2), *inner = tl_mem_new(64);
	CHECK_OK(tl_vec_push(vec, inner));
	CHECK_OK(tl_mem_unregister(inner));
	CHECK_OK(tl_ptr_release(inner)); /* the Vec's alone */
	holder[0] = vec;
	CHECK_OK(tl_mem_unregister(vec));
	CHECK_OK(tl_mem_unregister(holder));
	n->object = holder;
	CHECK(live() > before);
	end(n);
	CHECK_INT(live(), before);
}

/* ---- threads --------------------------------------------------------------------------- */

static void* end_in_thread(void* cell)
{
	if (tl_inl_cell_drop(cell)) CHECK_OK(tl_cell_free(cell));
	return NULL;
}

enum { THREADS = 4 };

/* The threads hold trees with a part in common, which ends with the last of them. */
TEST(shared_trees_end_on_any_thread)
{
	const uint64_t before = live();
	for (int round = 0; round < 20; round++) {
		pthread_t threads[THREADS];
		node* trees[THREADS];
		node* common = tree_of(7);
		for (int i = 0; i < THREADS; i++) {
			trees[i] = new_node(tl_cell_dup(common), i % 2 ? tree_of(3) : NULL);
			CHECK_OK(tl_cell_share(trees[i]));
		}
		CHECK(!tl_cell_drop(common));
		for (int i = 0; i < THREADS; i++) threads[i] = start_thread(end_in_thread, trees[i]);
		for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
		CHECK_INT(live(), before);
	}
}

TEST(share_reaches_what_types_say)
{
	if (is_option("TL_DEBUG", "1")) return; /* every cell is born shared */
	void* object = tl_mem_alloc(40);
	void* untyped = tl_cell_new(40);
	node *leaf = new_node(NULL, untyped), *ring = new_node(leaf, NULL), *root = new_node(ring, tl_cell_dup(leaf));
	root->object = object;
	ring->right = tl_cell_dup(ring); /* a cycle: it is taken apart below */
	CHECK_OK(tl_cell_share(root));
	node* const all[] = {root, ring, leaf, untyped};
	static const int counts[] = {-1, -2, -2, -1};
	for (int i = 0; i < 4; i++) CHECK_INT(((int32_t*)all[i])[-2], counts[i]);
	CHECK_COUNT(object, 1);
	CHECK(!tl_cell_drop(ring->right));
	ring->right = NULL;
	end(root);
}

static void* end_elsewhere(void* cell)
{
	end(cell);
	return NULL;
}

TEST(another_thread_ends_a_tree)
{
	const uint64_t before = live();
	for (int i = 0; i < 5; i++) run_thread(end_elsewhere, tree_of(8));
	CHECK_INT(live(), before);
}

/* ---- what is refused --------------------------------------------------------------------- */

TEST(what_has_no_cells)
{
	CHECK_REFUSED(tl_cell_new_typed(0), NULL, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_cell_new_typed(1), NULL, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_cell_new_typed(~0u), NULL, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_cell_new_typed(noisy_type), NULL, TL_E_UNSUPPORTED);
	static size_t many[2049];
	for (size_t i = 0; i < 2049; i++) many[i] = 8 * i;
	const tl_type_desc description = {.name = "many", .size = 8 * 2049, .pointer_offsets = many, .num_pointers = 2049};
	tl_type type;
	CHECK_OK(tl_type_define(&description, &type));
	CHECK_REFUSED(tl_cell_new_typed(type), NULL, TL_E_UNSUPPORTED);
}

/* The type of their slots is nobody's: whoever guesses its number is refused. */
TEST(the_type_of_slots_is_not_defined)
{
	const tl_type type = define("guessed", 40, 1, NULL), slots = type + 1;
	void *cell = tl_cell_new_typed(type), *block = malloc(64);
	CHECK_REFUSED(tl_object_new(slots), NULL, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_cell_new_typed(slots), NULL, TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_register_struct_typed(block, slots), TL_E_INVALID_ARGUMENT);
	free(block);
	CHECK(define("guessed next", 40, 1, NULL) != slots);
	end(cell);
}

TEST(a_typed_cell_is_nothing_to_the_rest)
{
	char* cell = (char*)new_node(NULL, NULL);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_FAILS(tl_mem_register_struct(cell), TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_mem_free(cell), TL_E_INTERIOR_POINTER);
	CHECK_REFUSED(tl_mem_deep_clone(cell), NULL, TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_mem_free(cell - 16), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_ptr_release(cell - 16), TL_E_NOT_LIVE);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_mem_collect_cycles(), 0);
	if (!is_option("TL_DEBUG", "1")) { /* a typed object does not hold it */
		void** holder = tl_object_new(list_type);
		holder[0] = cell;
		CHECK_OK(tl_mem_unregister(holder));
		CHECK_OK(tl_mem_free(holder));
	}
	CHECK(tl_cell_is_unique(cell));
	CHECK_OK(tl_cell_free(cell));
	CHECK_REFUSED(tl_cell_drop(cell), false, TL_E_NOT_LIVE);
	CHECK_FAILS(tl_cell_free(cell), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_cell_share(cell), TL_E_NOT_LIVE);
}

/* ---- reports ----------------------------------------------------------------------------- */

static int count_of(const char* text, const char* in)
{
	int n = 0;
	while ((in = strstr(in, text)) != NULL) n++, in++;
	return n;
}

TEST(a_leak_report_names_the_type)
{
	static char report[1 << 16];
	char path[] = "/tmp/tl_cells_XXXXXX";
	close(mkstemp(path));
	const bool was_on = is_option("TL_TRACK", "1");
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	const uint64_t before = *tl_track_count();
	node* root = new_node(new_node(NULL, NULL), NULL);
	node *ring = new_node(NULL, NULL), *other = new_node(ring, NULL);
	ring->left = tl_cell_dup(other);
	CHECK(!tl_cell_drop(other)); /* the ring has the rest */
	CHECK_INT(tl_leak_report_since(path, before), 4);
	FILE* file = fopen(path, "r");
	report[fread(report, 1, sizeof report - 1, file)] = 0;
	fclose(file);
	unlink(path);
	CHECK(strstr(report, "cell of node") != NULL);
	CHECK_INT(count_of("a cell: tl_cell_drop or tl_cell_free is missing", report), 1);
	CHECK_INT(count_of("a cycle of cells", report), 1);
	CHECK_INT(count_of("Indirect leak of", report), 2);
	ring->left = NULL;
	end(root);
	end(other);
	CHECK_OK(tl_configure("TL_TRACK", was_on ? "1" : "0"));
}

static uint64_t live_of_types(void)
{
	const tl_stats stats = check_stats();
	return stats.typed_live;
}

TEST(statistics_count_types)
{
	const uint64_t before = live_of_types(), objects = live();
	node* tree = tree_of(6);
	CHECK_INT(live_of_types() - before, live() - objects);
	CHECK(live_of_types() > before);
	end(tree);
	CHECK_INT(live_of_types(), before);
}

static void* begin_trace(void* unused)
{
	(void)unused;
	CHECK_OK(tl_trace_start("/dev/null"));
	return NULL;
}

/* The end of the grown tensor enters Go, which learns of the trace and takes the fast path from this thread, while the node
 * below still waits for its end. */
TEST(a_trace_that_begins_meanwhile_leaves_nothing_behind)
{
	const int64_t none = 0;
	int64_t before = live_of_types();
	void* inner = tl_cell_new(24);
	tl_tensor* grown = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &none);
	CHECK_OK(tl_tensor_reserve(grown, 1 << 20));
	node* root = new_node(new_node(inner, NULL), (void*)grown);
	pthread_t other = start_thread(begin_trace, NULL);
	pthread_join(other, NULL);
	CHECK_OK(tl_cell_free(root));
	CHECK_OK(tl_trace_stop());
	CHECK(!tl_cell_is_unique(inner));
	CHECK_STATUS(tl_last_status(), TL_E_NOT_LIVE);
	CHECK_INT(live_of_types(), before);
}

TEST(debug_checks_each_end)
{
	if (!is_option("TL_DEBUG", "1")) return;
	node* n = new_node(NULL, NULL);
	CHECK_OK(tl_cell_free(n));
	CHECK_FAILS(tl_cell_free(n), TL_E_NOT_LIVE);
	CHECK(strstr(tl_last_error(), "allocated at\n    #0 0x") != NULL);
	n = new_node(new_node(NULL, NULL), NULL);
	((char*)n->left)[sizeof *n] = 1; /* beyond its end */
	CHECK_FAILS(tl_cell_free(n), TL_E_CORRUPTED);
}

int main(void)
{
	node_type = define("node", sizeof(node), 3, NULL);
	list_type = define("list", 40, 1, NULL);
	holder_type = define("holder", 24, 1, NULL);
	noisy_type = define("noisy", 16, 0, make_noise);
	return check_tests();
}
