/* Section Shapes of a compiler: structs of malloc's that are registered with a type. */
#include <sys/wait.h>
#include <unistd.h>

#include "shapes.h"
#include "thread.h"

/* Its edge refers to what was floating, or the caller's. */
static struct shape* with_edge(struct shape* s, void* to)
{
	s->edges[0] = to;
	return s;
}

TEST(fields_go_with_their_struct)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct shape* s = new_shape(shape_type, 1);
	struct shape* child = new_shape(shape_type, 2);
	struct shape* object = new_object(3);
	s->edges[0] = tl_ptr_acquire(child);
	s->edges[2] = tl_ptr_acquire(object);
	CHECK_COUNT(s, 1);
	CHECK_COUNT(child, 2);
	CHECK_OK(tl_mem_unregister(s));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(child, 1);
	CHECK_COUNT(object, 1);
	CHECK_INT(destroyed, 0);
	CHECK_OK(tl_ptr_release(s));
	CHECK_INT(destroyed, 3);
	CHECK_DEAD(s);
	CHECK_DEAD(child);
	CHECK_DEAD(object);
}

TEST(a_field_shared_twice_goes_once)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct shape* child = new_shape(shape_type, 3);
	struct shape* a = with_edge(new_shape(shape_type, 1), tl_ptr_acquire(child));
	struct shape* b = with_edge(new_shape(shape_type, 2), tl_ptr_acquire(child));
	a->edges[1] = tl_ptr_acquire(child);
	CHECK_COUNT(child, 4);
	(void)b;
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 3);
	CHECK_DEAD(child);
}

TEST(objects_hold_structs)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct shape* object = new_object(1);
	struct shape* child = new_shape(shape_type, 2);
	CHECK_OK(tl_mem_unregister(child));
	object->edges[1] = child; /* the floating reference becomes the field's */
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 2);
	CHECK_INT(last_number, 2);
}

/* An address that nobody holds, and one whose count is another one's. */
TEST(fields_that_are_dead_are_passed_over)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct shape* s = new_shape(shape_type, 1);
	struct shape* gone = new_shape(shape_type, 2);
	struct shape* object = tl_mem_alloc(64);
	s->edges[0] = gone;
	s->edges[1] = object;
	s->edges[2] = (struct shape*)(uintptr_t)0x1234;
	CHECK_OK(tl_mem_free(object));
	CHECK_OK(tl_ptr_release(gone));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 2);
}

TEST(registering_again_counts)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct shape* s = new_shape(shape_type, 1);
	CHECK_OK(tl_mem_register_struct_typed(s, shape_type));
	CHECK_COUNT(s, 2);
	CHECK_OK(tl_mem_register_struct(s));
	CHECK_OK(tl_mem_register_ptr(s));
	CHECK_COUNT(s, 4);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 1);
}

static struct shape* inner(void)
{
	CHECK_OK(tl_mem_function_enter(0));
	struct shape* s = new_shape(shape_type, 7);
	CHECK_OK(tl_mem_unregister(s));
	CHECK_OK(tl_mem_function_exit());
	return s;
}

/* Unlike memory that was adopted without a type. */
TEST(a_struct_that_is_returned_stays_the_runtimes)
{
	tl_stats stats = {.struct_size = sizeof stats};
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct shape* s = inner();
	CHECK_COUNT(s, 1);
	CHECK_OK(tl_mem_register_struct_typed(s, shape_type));
	CHECK_COUNT(s, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 1);
	s = inner();
	CHECK_OK(tl_mem_free(s));
	CHECK_INT(destroyed, 2);
	CHECK_DEAD(s);
	CHECK_OK(tl_stats_get(&stats));
}

/* The holder of a count of zero releases the fields itself, as for objects. */
TEST(dec_ref_leaves_the_fields_to_the_caller)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct shape* child = new_shape(shape_type, 2);
	struct shape* s = with_edge(new_shape(shape_type, 1), tl_ptr_acquire(child));
	CHECK_OK(tl_mem_unregister(s));
	CHECK_INT(tl_ptr_dec_ref(s), 1);
	CHECK_FAILS(tl_mem_register_struct_typed(s, shape_type), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_mem_register_struct(s), TL_E_NOT_LIVE);
	CHECK_OK(tl_ptr_release(s->edges[0]));
	CHECK_OK(tl_mem_free(s));
	CHECK_INT(destroyed, 0);
	CHECK_COUNT(child, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 1);
}

struct vec {
	void** data;
	int64_t capacity, length;
};

/* What a Vec holds is its data and the elements; one of malloc's, an object, and data of the runtime. */
TEST(dec_ref_leaves_the_data_of_a_vec_to_the_caller)
{
	const tl_vec_desc desc = {.struct_size = sizeof desc,
	                          .size = sizeof(struct vec),
	                          .data_offset = offsetof(struct vec, data),
	                          .length_offset = offsetof(struct vec, length),
	                          .capacity_offset = offsetof(struct vec, capacity),
	                          .number_bytes = 8,
	                          .elements = TL_VEC_POINTERS};
	tl_type type;
	CHECK_OK(tl_type_define_vec(&desc, &type));
	for (int kind = 0; kind < 3; kind++) {
		struct vec* v;
		void** data = kind == 2 ? tl_mem_alloc(8) : malloc(8);
		destroyed = 0;
		CHECK_OK(tl_mem_enter_scope());
		v = kind == 1 ? tl_object_new(type) : malloc(sizeof *v);
		*v = (struct vec){data, 1, 1};
		data[0] = tl_ptr_acquire(new_shape(shape_type, 1));
		if (kind != 1) CHECK_OK(tl_mem_register_struct_typed(v, type));
		CHECK_OK(tl_mem_unregister(v));
		CHECK_INT(tl_ptr_dec_ref(v), 1);
		CHECK_OK(tl_mem_free(v));
		CHECK_COUNT(data[0], 2);
		CHECK_OK(tl_ptr_release(data[0]));
		if (kind == 2) CHECK_COUNT(data, 1);
		if (kind == 2) CHECK_OK(tl_ptr_release(data));
		else free(data);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_INT(destroyed, 1);
	}
}

static void chain_of(int kinds)
{
	enum { LENGTH = 200000 };
	struct shape* head = NULL;
	destroyed = 0;
	for (int i = 0; i < LENGTH; i++) {
		CHECK_OK(tl_mem_enter_scope());
		struct shape* s = i % kinds == 0 ? new_shape(i % 3 == 0 ? quiet_type : shape_type, i) : new_object(i);
		CHECK_OK(tl_mem_unregister(s));
		CHECK_OK(tl_mem_exit_scope());
		head = with_edge(s, head);
	}
	CHECK_OK(tl_ptr_release(head));
	CHECK(destroyed > LENGTH / 2);
	CHECK_INT(last_number, 1);
}

THREAD(chains, unused)
{
	chain_of(1);
	chain_of(2);
}

/* On a small stack. */
TEST(a_chain_of_any_length_needs_no_stack) { run_thread(chains, NULL); }

static void revive(struct shape* s)
{
	tl_clear_error();
	CHECK_PTR(tl_ptr_acquire(s), s);
	CHECK_STATUS(tl_last_status(), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_mem_register_struct(s), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_mem_register_struct_typed(s, shape_type), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_mem_free(s), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_ptr_release(s), TL_E_NOT_LIVE);
	CHECK_INT(tl_ptr_dec_ref(s), 0);
	CHECK_FAILS(tl_mem_register_struct(&s->edges[2]), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_registry_register(s, sizeof *s, TL_ALLOC_MALLOC), TL_E_ALREADY_REGISTERED);
	CHECK_INT(tl_mem_collect_cycles(), 0);
}

TEST(a_dying_struct_can_neither_live_nor_die_again)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct shape* s = new_shape(shape_type, 1);
	s->act = revive;
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 1);
	CHECK_DEAD(s);
}

static struct shape* kept;
static void release_kept(struct shape* s)
{
	(void)s;
	if (kept == NULL) return;
	CHECK_OK(tl_ptr_release(kept));
	kept = NULL;
}

TEST(a_destructor_releases_another_struct)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct shape* s = new_shape(shape_type, 1);
	s->act = release_kept;
	kept = new_shape(shape_type, 2);
	CHECK_OK(tl_mem_unregister(kept));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 2);
	CHECK_INT(last_number, 2);
}

TEST(refused)
{
	struct shape* s = raw_shape(1);
	char* small = malloc(8);
	void *object, *gone = tl_mem_alloc(64);
	int on_stack[64] = {0};
	CHECK_OK(tl_mem_enter_scope());
	object = tl_mem_new(sizeof *s);
	CHECK_FAILS(tl_mem_register_struct_typed(s, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_register_struct_typed(s, 3), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_register_struct_typed(s, 0xFFFFFF), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_register_struct_typed(NULL, 0xFFFFFF), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_mem_register_struct_typed(NULL, shape_type));
	CHECK_FAILS(tl_mem_register_struct_typed(small, shape_type), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_register_struct_typed((char*)s + 8, shape_type), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_register_struct_typed((void*)(uintptr_t)64, shape_type), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_register_struct_typed(object, shape_type), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_mem_register_struct_typed((char*)object + 16, shape_type), TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_mem_register_struct_typed((void*)((uintptr_t)on_stack & ~(uintptr_t)15), 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_register_struct_typed((char*)object + (1 << 30), shape_type), TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_ptr_release(gone));
	CHECK_FAILS(tl_mem_register_struct_typed(gone, shape_type), TL_E_NOT_LIVE);
	CHECK_OK(tl_mem_register_struct(s));
	CHECK_FAILS(tl_mem_register_struct_typed(s, shape_type), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_mem_register_struct_typed(&s->number - 1, shape_type), TL_E_ALREADY_REGISTERED);
	CHECK_OK(tl_mem_unregister(s)); /* handed back: it may get a type */
	CHECK_OK(tl_mem_register_struct_typed(s, shape_type));
	CHECK_COUNT(s, 1);
	CHECK_FAILS(tl_mem_register_struct_typed(s, quiet_type), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_mem_register_struct_typed(&s->number - 1, quiet_type), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_registry_register(s, sizeof *s, TL_ALLOC_MALLOC), TL_E_ALREADY_REGISTERED);
	CHECK_OK(tl_mem_exit_scope());
	free(small);
}

/* Objects of the type are are registered as objects. */
TEST(an_object_of_the_type_is_registered)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct shape* s = new_object(1);
	CHECK_OK(tl_mem_register_struct_typed(s, shape_type));
	CHECK_COUNT(s, 2);
	CHECK_FAILS(tl_mem_register_struct_typed(s, quiet_type), TL_E_UNSUPPORTED);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 1);
}

TEST(clones_are_deep)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct shape* a = new_shape(shape_type, 1);
	struct shape* b = new_shape(shape_type, 2);
	struct shape* object = new_object(3);
	void* plain = malloc(16);
	CHECK_OK(tl_mem_register_struct(plain));
	a->edges[0] = tl_ptr_acquire(b);
	a->edges[1] = tl_ptr_acquire(object);
	b->edges[0] = tl_ptr_acquire(a); /* a cycle */
	b->edges[1] = tl_ptr_acquire(plain);
	object->edges[0] = tl_ptr_acquire(b);
	struct shape* copy = tl_mem_deep_clone(a);
	CHECK(copy != NULL && copy != a);
	CHECK_INT(copy->number, 1);
	CHECK(copy->edges[0] != b && copy->edges[0] != NULL);
	CHECK(copy->edges[1] != object);
	CHECK_INT(copy->edges[1]->number, 3);
	CHECK_PTR(copy->edges[1]->edges[0], copy->edges[0]);
	CHECK_PTR(copy->edges[0]->edges[0], copy);
	CHECK_PTR(copy->edges[0]->edges[1], plain);
	CHECK_COUNT(copy, 2);
	CHECK_COUNT(copy->edges[0], 2);
	CHECK_COUNT(plain, 3);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 0);
	CHECK_INT(tl_mem_collect_cycles(), 6);
	CHECK_INT(destroyed, 6);
}

TEST(another_thread_ends_it)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct shape* child = new_shape(shape_type, 2);
	struct shape* s = with_edge(new_shape(shape_type, 1), tl_ptr_acquire(child));
	CHECK_OK(tl_mem_unregister(s));
	CHECK_OK(tl_mem_unregister(child));
	CHECK_OK(tl_ptr_release(child));
	CHECK_OK(tl_mem_exit_scope());
	run_thread(check_release, s);
	CHECK_INT(destroyed, 2);
	CHECK_DEAD(child);
}

TEST_IN_SCOPE(reports_know_the_type)
{
	tl_alloc_info info = {.struct_size = sizeof info};
	static char json[1 << 16];
	struct shape* s = new_shape(shape_type, 1);
	CHECK_OK(tl_mem_allocation_info(s, &info));
	CHECK(info.type != NULL && strcmp(info.type, "shape") == 0);
	CHECK_PTR(info.block, s);
	CHECK(info.bytes >= sizeof *s);
	CHECK_INT(info.count, 1);
	CHECK_INT(info.kind, TL_ALLOC_MALLOC);
	CHECK(tl_stats_json(json, sizeof json) < sizeof json);
	CHECK(strstr(json, "\"blocks\":1,") != NULL || strstr(json, "\"blocks\": 1,") != NULL);
}

static int in_child(struct shape* s)
{
	tl_status status = tl_ptr_release(s);
	if (status != TL_E_FORKED) return 1;
	if (tl_ptr_refcount(s) != 1 && tl_last_status() != TL_E_FORKED) return 2; /* the slow path tells no count */
	status = tl_mem_register_struct_typed(raw_shape(1), shape_type);
	return status == TL_E_FORKED ? 0 : 3;
}

TEST(a_forked_child_ends_none)
{
	int status = -1;
	CHECK_OK(tl_mem_enter_scope());
	struct shape* s = new_shape(shape_type, 1);
	CHECK_OK(tl_mem_unregister(s));
	CHECK_OK(tl_mem_exit_scope());
	pid_t child = fork();
	if (child == 0) _exit(in_child(s));
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(WEXITSTATUS(status), 0);
	CHECK_OK(tl_ptr_release(s));
}

int main(void)
{
	define_shapes();
	return check_tests();
}
