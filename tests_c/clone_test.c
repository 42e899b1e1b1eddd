/* Section Objects, deep clone: sharing and cycles inside the copy are those of
 * the original; tensors and foreign memory are shared. */
#include "check.h"

struct node {
	void *first, *second;
	int64_t number;
};

static tl_type node_type;

static struct node* new_node(int64_t number)
{
	struct node* node = tl_object_new(node_type);
	node->number = number;
	return node;
}

TEST(plain_bytes_are_copied)
{
	CHECK_OK(tl_mem_enter_scope());
	char* object = tl_mem_new(100);
	strcpy(object, "content");
	char* copy = tl_mem_deep_clone(object);
	CHECK(copy != NULL && copy != object);
	CHECK(strcmp(copy, "content") == 0);
	CHECK_COUNT(copy, 1);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(copy);
}

TEST(sharing_inside_the_copy)
{
	CHECK_OK(tl_mem_enter_scope());
	struct node* top = new_node(1);
	struct node* leaf = new_node(2);
	top->first = tl_ptr_acquire(leaf);
	top->second = tl_ptr_acquire(leaf);
	struct node* copy = tl_mem_deep_clone(top);
	CHECK(copy->first == copy->second && copy->first != leaf);
	CHECK_INT(((struct node*)copy->first)->number, 2);
	CHECK_COUNT(copy, 1);
	CHECK_COUNT(copy->first, 2);
	CHECK_COUNT(leaf, 3);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(leaf);
	CHECK_DEAD(copy);
}

TEST(cycles_inside_the_copy)
{
	CHECK_OK(tl_mem_enter_scope());
	struct node* a = new_node(1);
	struct node* b = new_node(2);
	a->first = tl_ptr_acquire(b);
	b->first = tl_ptr_acquire(a);
	struct node* copy = tl_mem_deep_clone(a);
	CHECK(copy != a && copy->first != b);
	CHECK_PTR(((struct node*)copy->first)->first, copy);
	CHECK_COUNT(copy, 2);
	CHECK_COUNT(copy->first, 1);
	/* Open both rings by hand, so that counting alone ends them. */
	CHECK_OK(tl_ptr_release(((struct node*)copy->first)->first));
	((struct node*)copy->first)->first = NULL;
	CHECK_OK(tl_ptr_release(b->first));
	b->first = NULL;
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(copy);
	CHECK_DEAD(a);
}

TEST(a_vec_is_copied_with_its_elements)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(0);
	void* element = new_node(7);
	CHECK_OK(tl_vec_push(vec, element));
	CHECK_OK(tl_vec_push(vec, NULL));
	CHECK_OK(tl_vec_push(vec, element));
	void* copy = tl_mem_deep_clone(vec);
	CHECK_INT(tl_vec_len(copy), 3);
	CHECK_PTR(tl_vec_get(copy, 1), NULL);
	CHECK_PTR(tl_vec_get(copy, 2), tl_vec_get(copy, 0));
	CHECK(tl_vec_get(copy, 0) != element);
	CHECK_INT(((struct node*)tl_vec_get(copy, 0))->number, 7);
	CHECK_COUNT(tl_vec_get(copy, 0), 2);
	CHECK_OK(tl_vec_push(copy, element));
	CHECK_INT(tl_vec_len(vec), 3);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(element);
}

TEST(tensors_and_foreign_memory_are_shared)
{
	int64_t shape = 8;
	void *tensor, *foreign = malloc(32);
	CHECK_OK(tl_mem_enter_scope());
	struct node* node = new_node(1);
	tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &shape);
	CHECK_OK(tl_mem_register_struct(foreign));
	node->first = tl_ptr_acquire(tensor);
	node->second = tl_ptr_acquire(foreign);
	struct node* copy = tl_mem_deep_clone(node);
	CHECK_PTR(copy->first, tensor);
	CHECK_PTR(copy->second, foreign);
	CHECK_COUNT(tensor, 3);
	CHECK_COUNT(foreign, 3);
	CHECK_PTR(tl_mem_deep_clone(tensor), tensor);
	CHECK_COUNT(tensor, 4);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(tensor);
	CHECK_DEAD(foreign);
}

TEST_IN_SCOPE(a_long_list_is_cloned_without_recursion)
{
	enum { LENGTH = 300000 };
	struct node *head = NULL, *copy;
	int64_t length = 0;
	for (int i = 0; i < LENGTH; i++) {
		struct node* node = new_node(i);
		node->first = head;
		CHECK_OK(tl_mem_unregister(node));
		head = node;
	}
	CHECK_OK(tl_mem_register_struct(head));
	copy = tl_mem_deep_clone(head);
	for (struct node *a = head, *b = copy; a != NULL && b != NULL; a = a->first, b = b->first)
		length += a != b && a->number == b->number;
	CHECK_INT(length, LENGTH);
}

TEST(a_dangling_field_fails_and_leaves_nothing)
{
	void* dead = tl_mem_alloc(224);
	CHECK_OK(tl_ptr_release(dead));
	CHECK_OK(tl_mem_enter_scope());
	struct node* node = new_node(1);
	node->first = tl_ptr_acquire(new_node(2));
	node->second = dead;
	check_balance before = check_take_balance();
	CHECK_REFUSED(tl_mem_deep_clone(node), 0, TL_E_NOT_LIVE);
	check_same_balance(before, "failed clone");
	node->second = NULL;
	CHECK_OK(tl_mem_exit_scope());
}

static int destroyed;

static void count_destroyed(void* object)
{
	(void)object;
	destroyed++;
}

static tl_type noisy_type; /* a node with a destructor */

enum { ELEMENTS = 3000 };

/* A ring of two, one of them with a Vec of many. */
static struct node* new_graph(void)
{
	struct node *a = new_node(1), *b = tl_object_new(noisy_type);
	void* vec = tl_vec_new(0);
	a->first = tl_ptr_acquire(b);
	b->first = tl_ptr_acquire(a);
	b->second = tl_ptr_acquire(vec);
	for (int i = 0; i < ELEMENTS; i++) CHECK_OK(tl_vec_push(vec, new_node(i)));
	return a;
}

/* Leaves slots of every kind that refer to an object. */
static void soil(void* witness)
{
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 2 * ELEMENTS; i++) new_node(i)->first = tl_ptr_acquire(witness);
	struct node* noisy = tl_object_new(noisy_type);
	noisy->second = tl_ptr_acquire(witness);
	void* vec = tl_vec_new(0);
	CHECK_OK(tl_vec_push(vec, witness));
	CHECK_OK(tl_mem_exit_scope());
}

static void open_ring(struct node* a)
{
	struct node* b = a->first;
	CHECK_OK(tl_ptr_release(b->first));
	b->first = NULL;
}

/* The clone whose request for memory with that number fails; NULL when one does. */
static struct node* clone_without(int request, struct node* graph)
{
	char text[16];
	snprintf(text, sizeof text, "%d", request);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", text));
	tl_clear_error();
	struct node* copy = tl_mem_deep_clone(graph);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	return copy;
}

/* Slots that are used again hold the references of their last owner still, and the copies
 * refer to each other: neither may cost anybody a count, or keep a copy alive. */
TEST_IN_SCOPE(a_clone_without_memory_leaves_everything)
{
	struct node* copy = NULL;
	int failed = 0;
	void* witness = tl_mem_new(64);
	struct node *graph = new_graph(), *other = graph->first;
	for (int request = 0; copy == NULL && request < 1000; request++) {
		CHECK_OK(tl_mem_purge());
		soil(witness);
		CHECK_OK(tl_mem_enter_scope());
		destroyed = 0;
		check_balance before = check_take_balance();
		copy = clone_without(request, graph);
		if (copy != NULL) {
			open_ring(copy);
		} else {
			failed++;
			CHECK_STATUS(tl_last_status(), TL_E_OUT_OF_MEMORY);
			check_same_balance(before, "a clone without memory");
		}
		CHECK_INT(destroyed, 0);
		CHECK_COUNT(witness, 1);
		CHECK_COUNT(graph, 2);
		CHECK_COUNT(other, 2);
		CHECK_COUNT(other->second, 2);
		for (int i = 0; i < ELEMENTS; i += 500) CHECK_COUNT(tl_vec_get(other->second, i), 2);
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK(copy != NULL);
	CHECK(failed >= 2);
	open_ring(graph);
}

/* A field that nobody has cleared refers to a dead object, and the copy gets its slot. */
TEST_IN_SCOPE(a_copy_in_the_slot_of_what_a_field_referred_to)
{
	struct node* node = new_node(1);
	struct node* dead = new_node(2);
	node->first = dead;
	CHECK_OK(tl_ptr_release(dead));
	CHECK_REFUSED(tl_mem_deep_clone(node), NULL, TL_E_NOT_LIVE);
	CHECK_COUNT(node, 1);
	node->first = NULL;
	CHECK(tl_mem_deep_clone(node) != NULL);
}

static struct node* new_block(void)
{
	struct node* block = calloc(1, sizeof *block);
	CHECK_OK(tl_mem_register_struct_typed(block, node_type));
	return block;
}

/* The same of blocks of malloc's, which as a rule gives out first what was freed last. */
TEST_IN_SCOPE(a_copy_in_the_memory_of_a_dead_block)
{
	struct node *block = new_block(), *dead = new_block();
	block->first = dead;
	CHECK_OK(tl_ptr_release(dead));
	if (tl_mem_deep_clone(block) == NULL) CHECK(tl_last_status() != TL_E_INTERNAL);
	block->first = NULL;
	CHECK(tl_mem_deep_clone(block) != NULL);
}

int main(void)
{
	static const size_t offsets[] = {offsetof(struct node, first), offsetof(struct node, second)};
	tl_type_desc desc = {.name = "node", .size = sizeof(struct node), .pointer_offsets = offsets, .num_pointers = 2};
	CHECK_OK(tl_type_define(&desc, &node_type));
	desc.destructor = count_destroyed;
	CHECK_OK(tl_type_define(&desc, &noisy_type));
	return check_tests();
}
