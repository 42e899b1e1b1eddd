/* Section Deferred deleters: lists for languages with an interpreter lock. */
#include "check.h"
#include "thread.h"

struct node {
	void* field;
	int64_t number;
};

static tl_deferred_dead dead = {.bytes = sizeof(struct node)};
static tl_type type;

static const tl_type_desc* described(void)
{
	static const size_t first = 0;
	static const tl_type_desc desc = {
		.name = "node", .size = sizeof(struct node), .pointer_offsets = &first, .num_pointers = 1};
	return &desc;
}

/* The number of the newest copy of a list of count, freed; each older one has the next number. */
static void check_copies(int64_t newest, int count)
{
	void* at = tl_deferred_take(&dead.copies);
	for (int i = 0; i < count; i++) {
		CHECK(at != NULL);
		if (at == NULL) return;
		tl_deferred_copy* copy = at;
		const struct node* was = (const struct node*)(copy + 1);
		CHECK_PTR(copy->of, &dead);
		CHECK_INT(copy->bytes, sizeof *was);
		CHECK_INT(was->number, newest + i);
		at = copy->next;
		free(copy);
	}
	CHECK_PTR(at, NULL);
}

TEST(lists_are_taken_whole)
{
	void* list = NULL;
	tl_deferred nodes[3] = {{NULL, &list}, {NULL, &list}, {NULL, &list}};
	for (int i = 0; i < 3; i++) tl_deferred_push(NULL, &nodes[i]);
	CHECK_PTR(list, &nodes[2]);
	CHECK_PTR(tl_deferred_take(&list), &nodes[2]);
	CHECK_PTR(nodes[2].next, &nodes[1]);
	CHECK_PTR(nodes[0].next, NULL);
	CHECK_PTR(tl_deferred_take(&list), NULL);
	CHECK_PTR(tl_deferred_take(NULL), NULL);
	tl_deferred_push(NULL, NULL);
}

TEST(the_dead_leave_their_bytes)
{
	struct node* object;
	CHECK_OK(tl_mem_enter_scope());
	void* field = tl_mem_new(32);
	for (int i = 0; i < 3; i++) {
		object = i < 2 ? tl_object_new(type) : calloc(1, sizeof *object);
		object->field = tl_ptr_acquire(field);
		object->number = i;
	}
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct_typed(object, type));
	CHECK_OK(tl_mem_unregister(object));
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_mem_exit_scope());
	check_copies(2, 1);
	CHECK_COUNT(field, 3);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(field, -1);
	check_copies(0, 2);
}

TEST(a_waker_is_pushed_once)
{
	void* list = NULL;
	tl_deferred waker = {NULL, &list};
	CHECK_OK(tl_mem_enter_scope());
	dead.waker = &waker;
	for (int i = 0; i < 3; i++) ((struct node*)tl_object_new(type))->number = i;
	CHECK_PTR(list, NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_PTR(dead.waker, NULL);
	CHECK_PTR(tl_deferred_take(&list), &waker);
	CHECK_PTR(waker.next, NULL);
	check_copies(0, 3);
}

TEST(any_thread_copies)
{
	CHECK_OK(tl_mem_enter_scope());
	struct node* object = tl_object_new(type);
	object->number = 7;
	CHECK_OK(tl_ptr_share(object));
	CHECK_OK(tl_mem_unregister(object));
	CHECK_OK(tl_mem_exit_scope());
	run_thread(check_release, object);
	check_copies(7, 1);
}

TEST(descriptions_that_are_refused)
{
	static tl_deferred_dead more = {.bytes = sizeof(struct node) + 1};
	tl_type none = 4711;
	tl_type_desc desc = *described();
	CHECK_FAILS(tl_type_define_deferred(NULL, &dead, &none), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_type_define_deferred(&desc, NULL, &none), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_type_define_deferred(&desc, &dead, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_type_define_deferred(&desc, &more, &none), TL_E_INVALID_ARGUMENT);
	desc.destructor = free;
	CHECK_FAILS(tl_type_define_deferred(&desc, &dead, &none), TL_E_INVALID_ARGUMENT);
	desc.destructor = NULL;
	desc.flags = 1;
	CHECK_FAILS(tl_type_define_deferred(&desc, &dead, &none), TL_E_INVALID_ARGUMENT);
	desc.flags = 0;
	desc.size = 0;
	CHECK_FAILS(tl_type_define_deferred(&desc, &dead, &none), TL_E_INVALID_ARGUMENT);
	CHECK_INT(none, 4711);
}

TEST(a_type_whose_offsets_find_no_memory)
{
	enum { POINTERS = 20000 };
	size_t* offsets = malloc(POINTERS * sizeof *offsets);
	tl_type_desc desc = {.name = "large", .size = POINTERS * 8, .pointer_offsets = offsets, .num_pointers = POINTERS};
	tl_type large = 0;
	for (size_t i = 0; i < POINTERS; i++) offsets[i] = 8 * i;
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0"));
	CHECK_FAILS(tl_type_define_deferred(&desc, &dead, &large), TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	CHECK_OK(tl_type_define_deferred(&desc, &dead, &large));
	free(offsets);
}

int main(void)
{
	CHECK_OK(tl_type_define_deferred(described(), &dead, &type));
	check_run();
	CHECK_INT(dead.lost, 0);
	return check_finish();
}
