/* A program whose free() is a function of its own, which calls the library. */
#include <dlfcn.h>

#include "check.h"

enum { BLOCKS = 8 };

static __thread int calls; /* of free that make an object */
static void* made[BLOCKS];
static __thread void (*change)(void); /* what the next free does to the stacks */

void free(void* block)
{
	static void (*real)(void*);
	if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "free");
	if (calls > 0 && block != NULL) made[--calls] = tl_mem_new(64);
	if (change != NULL && block != NULL) {
		void (*now)(void) = change;
		change = NULL;
		now();
	}
	real(block);
}

/* Calls that free() makes inside a slow call are refused and make nothing. */
TEST(what_free_registers_ends_with_the_scope)
{
	for (int n = 1; n <= BLOCKS; n++) {
		CHECK_OK(tl_mem_enter_scope());
		CHECK(tl_mem_new(32) != NULL);
		for (int i = 0; i < BLOCKS; i++) CHECK_OK(tl_mem_register_struct(malloc(100)));
		calls = n;
		CHECK_OK(tl_mem_exit_scope());
		CHECK_INT(calls, 0);
		for (int i = 0; i < n; i++)
			if (made[i] != NULL) CHECK_DEAD(made[i]);
	}
}

static void open_a_scope(void)
{
	tl_mem_enter_scope();
	tl_arena_alloc(64);
}

static void open_a_function(void)
{
	tl_mem_function_enter(1);
	tl_mem_get_buffer(0, 64);
}

static void open_a_planned_frame(void)
{
	tl_mem_frame_enter(64);
	tl_arena_alloc(64);
}

static void close_the_scope(void) { tl_mem_exit_scope(); }

/* Calls that free() makes inside a slow call are refused and change nothing. */
TEST(what_free_opens_or_closes_goes_with_the_scope)
{
	static void (*const changes[])(void) = {open_a_scope, open_a_function, open_a_planned_frame, close_the_scope};
	CHECK_OK(tl_arena_init(65536));
	CHECK_OK(tl_mem_enter_scope());
	void* frame = tl_mem_frame_enter(64);
	CHECK_OK(tl_mem_frame_exit());
	for (int i = 0; i < 400; i++) { /* in each of the ways in which a scope ends */
		CHECK_OK(tl_mem_enter_scope());
		for (int k = 0; k < i / 4 % 3; k++) CHECK(tl_mem_new(32) != NULL);
		CHECK_OK(tl_mem_register_struct(malloc(100)));
		change = changes[i % 4];
		CHECK_OK(tl_mem_exit_scope());
		CHECK(change == NULL);
		CHECK_INT(tl_get_scope_depth(), 1);
		CHECK_INT(tl_arena_get_offset(), 0);
		CHECK_PTR(tl_mem_frame_enter(64), frame);
		CHECK_OK(tl_mem_frame_exit());
		CHECK_FAILS(tl_mem_function_exit(), TL_E_NO_FRAME);
	}
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_arena_free());
}

/* Leaves warm places, and takes some of them for objects of the scope that ends. It is refused inside a slow call. */
static void take_warm_places(void)
{
	for (int round = 0; round < 100; round++) { /* more than a thread waits after a scope that was not alike */
		if (tl_mem_enter_scope() != TL_OK) return;
		for (int i = 0; i < BLOCKS; i++) CHECK(tl_mem_new(64) != NULL);
		CHECK_OK(tl_mem_exit_scope());
	}
	for (int i = 0; i < BLOCKS / 2; i++) CHECK(tl_mem_new(64) != NULL);
}

TEST(warm_places_that_free_takes_go_with_the_scope)
{
	enum { MANY = 100 };
	void* objects[MANY];
	for (int round = 0; round < 10; round++) {
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i <= round % 3; i++) CHECK_OK(tl_mem_register_struct(malloc(100)));
		change = take_warm_places;
		CHECK_OK(tl_mem_exit_scope());
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < MANY; i++) {
			objects[i] = tl_mem_new(64);
			for (int k = 0; k < i; k++) CHECK(objects[i] != objects[k]);
		}
		CHECK_OK(tl_mem_exit_scope());
	}
}

/* A struct of two references: to another one, and to memory of malloc's. */
struct link {
	struct link* next;
	void* memory;
	int64_t rest[2];
};

static tl_type link_type;

/* A chain whose links are objects or blocks of malloc's, each with a block of malloc's without a type. */
static struct link* chain(int length, bool blocks)
{
	struct link* first = NULL;
	for (int i = 0; i < length; i++) {
		struct link* l = blocks || i % 2 ? calloc(1, sizeof *l) : tl_object_new(link_type);
		CHECK_OK(tl_mem_register_struct_typed(l, link_type));
		l->memory = malloc(40);
		CHECK_OK(tl_mem_register_struct(l->memory));
		tl_ptr_acquire(l->memory);
		l->next = first;
		first = tl_ptr_acquire(l);
	}
	return first;
}

/* free() is called while references of a chain wait, also where the library is about to call Go for each. */
TEST(free_makes_objects_while_a_chain_ends)
{
	enum { LENGTH = 20 };
	for (int blocks = 0; blocks < 2; blocks++)
		for (int n = 1; n <= BLOCKS; n++) {
			CHECK_OK(tl_mem_enter_scope());
			CHECK_OK(tl_mem_enter_scope());
			struct link* first = chain(LENGTH, blocks);
			CHECK_OK(tl_mem_exit_scope());
			calls = n;
			CHECK_OK(tl_ptr_release(first));
			CHECK_INT(calls, 0);
			CHECK_OK(tl_mem_exit_scope());
			for (int i = 0; i < n; i++)
				if (made[i] != NULL) CHECK_DEAD(made[i]);
		}
}

static int told;

/* Uses the library as any program does, and more of its stacks than a chain waits in. */
static void tell(tl_status status, const char* message, void* ctx)
{
	(void)message;
	(void)ctx;
	CHECK(status != TL_OK);
	told++;
	if (tl_mem_enter_scope() != TL_OK) return; /* refused while the call that frees is in Go */
	for (int i = 0; i < 5000; i++) tl_mem_new(16);
	CHECK_OK(tl_mem_exit_scope());
}

/* What free() asks for in a slow call is refused, and the error callback hears of it in the middle of the release. */
TEST(an_error_callback_in_the_middle_of_a_release)
{
	enum { LENGTH = 40 };
	CHECK_OK(tl_set_error_callback(tell, NULL));
	told = 0;
	for (int blocks = 0; blocks < 2; blocks++) {
		CHECK_OK(tl_mem_enter_scope());
		struct link* first = chain(LENGTH, blocks);
		CHECK_OK(tl_mem_exit_scope());
		calls = BLOCKS;
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_ptr_release(first));
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_OK(tl_set_error_callback(NULL, NULL));
	CHECK(told > 0);
}

int main(void)
{
	static const size_t offsets[] = {0, 8};
	const tl_type_desc desc = {
		.name = "link", .size = sizeof(struct link), .pointer_offsets = offsets, .num_pointers = 2};
	CHECK_OK(tl_type_define(&desc, &link_type));
	return check_tests();
}
