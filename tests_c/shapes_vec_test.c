/* Section Shapes of a compiler: Vecs that the program lays out itself. */
#include "check.h"
#include "thread.h"

/* As the TL compiler lays it out. */
struct vec {
	void** data;
	int64_t capacity, length;
};

/* Short numbers, and a field before them. */
struct small_vec {
	int64_t tag;
	uint32_t length, capacity;
	void* data;
};

struct pair {
	void* reference;
	double number;
};

static tl_type vec_type, pairs_type, bytes_type, pair_type, noisy_type;
static int destroyed, headers;

static void count_destroyed(void* object)
{
	(void)object;
	__atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
}

static void count_header(void* object)
{
	const struct vec* v = object;
	CHECK(v->length <= v->capacity);
	headers++;
}

static void* noisy(void) { return tl_object_new(noisy_type); }

/* A Vec that is not registered, with room in memory of malloc's. */
static struct vec* raw_vec(int64_t capacity)
{
	struct vec* v = calloc(1, sizeof *v);
	if (v == NULL) abort();
	v->capacity = capacity;
	if (capacity > 0) v->data = malloc((size_t)capacity * sizeof(void*));
	return v;
}

/* Takes a reference of the caller's. */
static void push(struct vec* v, void* owned)
{
	if (v->length == v->capacity) {
		v->capacity = v->capacity * 2 + 1;
		v->data = realloc(v->data, (size_t)v->capacity * sizeof(void*));
	}
	v->data[v->length++] = owned;
}

static struct vec* new_vec(void)
{
	struct vec* v = raw_vec(2);
	CHECK_OK(tl_mem_register_vec_ptr(v));
	return v;
}

TEST(elements_are_released_once)
{
	destroyed = headers = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct vec* v = new_vec();
	for (int i = 0; i < 100; i++) push(v, tl_ptr_acquire(noisy()));
	push(v, NULL);
	push(v, tl_ptr_acquire(v->data[3])); /* twice in it */
	CHECK_OK(tl_mem_register_vec_ptr(v));
	CHECK_COUNT(v, 2);
	CHECK_COUNT(v->data[3], 3);
	CHECK_OK(tl_mem_unregister(v));
	CHECK_OK(tl_mem_unregister(v));
	CHECK_OK(tl_ptr_release(v));
	CHECK_OK(tl_mem_register_vec_ptr(v));
	CHECK_COUNT(v, 1);
	CHECK_INT(destroyed, 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 100);
	CHECK_INT(headers, 1);
	CHECK_DEAD(v);
}

TEST(an_empty_vec)
{
	headers = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct vec* v = raw_vec(0);
	CHECK_OK(tl_mem_register_vec_ptr(v));
	v = tl_mem_deep_clone(v);
	CHECK_PTR(v->data, NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(headers, 2);
}

/* The data is the runtime's, or in the registry: the Vec holds a reference. */
TEST(data_of_the_runtime)
{
	struct vec* v;
	void** mine;
	for (int kind = 0; kind < 2; kind++) {
		destroyed = 0;
		CHECK_OK(tl_mem_enter_scope());
		v = raw_vec(0);
		mine = kind == 0 ? tl_mem_alloc(64) : malloc(64);
		if (kind == 1) CHECK_OK(tl_registry_register(mine, 64, TL_ALLOC_MALLOC));
		v->data = mine;
		v->capacity = 8;
		CHECK_OK(tl_mem_register_vec_ptr(v));
		push(v, tl_ptr_acquire(noisy()));
		v = tl_mem_deep_clone(v);
		CHECK(v != NULL && v->data != mine && v->length == 1 && v->capacity == 1);
		CHECK_COUNT(mine, 1);
		tl_ptr_acquire(mine);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_INT(destroyed, 2);
		CHECK_COUNT(mine, 1);
		CHECK_OK(tl_ptr_release(mine));
	}
}

/* The header is an object, the data malloc's. */
TEST(a_header_of_the_runtime)
{
	destroyed = headers = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct vec* v = tl_object_new(vec_type);
	for (int i = 0; i < 5; i++) push(v, tl_ptr_acquire(noisy()));
	CHECK_OK(tl_mem_register_vec_ptr(v));
	v = tl_mem_deep_clone(v);
	CHECK_INT(v->length, 5);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 10);
	CHECK_INT(headers, 2);
}

TEST(elements_that_are_structs)
{
	struct small_vec* v;
	struct pair* pairs;
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	v = calloc(1, sizeof *v);
	v->tag = 4711;
	v->length = 3;
	v->capacity = 4;
	v->data = pairs = calloc(4, sizeof *pairs);
	void* shared = noisy();
	for (int i = 0; i < 3; i++) pairs[i] = (struct pair){tl_ptr_acquire(i < 2 ? shared : noisy()), i + 0.5};
	pairs[3].reference = (void*)(uintptr_t)0x10; /* beyond the length: not looked at */
	CHECK_OK(tl_mem_register_struct_typed(v, pairs_type));
	struct small_vec* copy = tl_mem_deep_clone(v);
	pairs = copy->data;
	CHECK_INT(copy->tag, 4711);
	CHECK_INT(copy->length, 3);
	CHECK_INT(copy->capacity, 3);
	CHECK(pairs[0].reference != shared);
	CHECK_PTR(pairs[0].reference, pairs[1].reference);
	CHECK(pairs[2].number == 2.5);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 4);
}

TEST_IN_SCOPE(elements_that_are_bytes)
{
	struct vec* v;
	v = raw_vec(2); /* 16 bytes */
	v->capacity = 5;
	v->length = 5;
	memcpy(v->data, "abcdefghijklmno", 15);
	CHECK_OK(tl_mem_register_struct_typed(v, bytes_type));
	const struct vec* copy = tl_mem_deep_clone(v);
	CHECK(memcmp(copy->data, "abcdefghijklmno", 15) == 0);
}

TEST(vecs_of_vecs)
{
	destroyed = headers = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct vec* outer = new_vec();
	for (int i = 0; i < 10; i++) {
		struct vec* inner = new_vec();
		push(inner, tl_ptr_acquire(noisy()));
		push(outer, tl_ptr_acquire(inner));
	}
	struct vec* copy = tl_mem_deep_clone(outer);
	CHECK_INT(copy->length, 10);
	CHECK(((struct vec*)copy->data[9])->data[0] != ((struct vec*)outer->data[9])->data[0]);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 20);
	CHECK_INT(headers, 22);
}

/* An element may be dead by now, a tensor, or a Vec of the runtime's. */
TEST_IN_SCOPE(elements_of_any_kind)
{
	static const int64_t two = 2;
	void* tensor = tl_tensor_empty(TL_DTYPE_F32, 0, 1, &two);
	void* vec = tl_vec_new(1);
	void* gone = tl_mem_alloc(64);
	struct vec* v = new_vec();
	push(v, tl_ptr_acquire(tensor));
	push(v, tl_ptr_acquire(vec));
	push(v, gone);
	CHECK_OK(tl_mem_free(gone));
	CHECK_OK(tl_mem_unregister(v));
	CHECK_OK(tl_ptr_release(v));
	CHECK_COUNT(tensor, 1);
	CHECK_COUNT(vec, 1);
}

TEST(a_ring_of_vecs)
{
	headers = destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct vec* a = new_vec();
	struct vec* b = tl_object_new(vec_type);
	void* object = noisy();
	push(a, tl_ptr_acquire(b));
	push(b, tl_ptr_acquire(a));
	push(b, tl_ptr_acquire(object));
	push(a, tl_ptr_acquire(a));
	CHECK_INT(tl_mem_collect_cycles(), 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(headers, 0);
	CHECK_INT(tl_mem_collect_cycles(), 3);
	CHECK_INT(headers, 2);
	CHECK_INT(destroyed, 1);
}

THREAD(chain, unused)
{
	enum { LENGTH = 100000 };
	struct vec* head = NULL;
	headers = 0;
	for (int i = 0; i < LENGTH; i++) {
		CHECK_OK(tl_mem_enter_scope());
		struct vec* v = i % 2 ? new_vec() : tl_object_new(vec_type);
		if (head != NULL) push(v, head);
		CHECK_OK(tl_mem_unregister(v));
		CHECK_OK(tl_mem_exit_scope());
		head = v;
	}
	CHECK_OK(tl_ptr_release(head));
	CHECK_INT(headers, LENGTH);
}

TEST(a_chain_of_any_length_needs_no_stack) { run_thread(chain, NULL); }

/* A header that is not sound is refused, and nothing of the program's changes hands. */
TEST(headers_that_are_refused)
{
	struct vec* v = raw_vec(4);
	void** data = v->data;
	char stack[64] = {0};
	CHECK_OK(tl_mem_enter_scope());
	v->length = 5;
	CHECK_FAILS(tl_mem_register_vec_ptr(v), TL_E_INVALID_ARGUMENT);
	v->length = -1;
	CHECK_FAILS(tl_mem_register_vec_ptr(v), TL_E_INVALID_ARGUMENT);
	v->length = v->capacity = INT64_MAX;
	CHECK_FAILS(tl_mem_register_vec_ptr(v), TL_E_INVALID_ARGUMENT);
	v->length = v->capacity = -1;
	CHECK_FAILS(tl_mem_register_vec_ptr(v), TL_E_INVALID_ARGUMENT);
	v->length = 1;
	v->capacity = 5000; /* more than malloc gave */
	CHECK_FAILS(tl_mem_register_vec_ptr(v), TL_E_INVALID_ARGUMENT);
	v->capacity = 4;
	v->data = NULL;
	CHECK_FAILS(tl_mem_register_vec_ptr(v), TL_E_INVALID_ARGUMENT);
	v->data = (void**)(uintptr_t)0x10;
	CHECK_FAILS(tl_mem_register_vec_ptr(v), TL_E_INVALID_ARGUMENT);
	v->data = (void**)(uintptr_t)0xFFFF800000000000;
	CHECK_FAILS(tl_mem_register_vec_ptr(v), TL_E_INVALID_ARGUMENT);
	v->data = (void**)v; /* its own header */
	CHECK_FAILS(tl_mem_register_vec_ptr(v), TL_E_INVALID_ARGUMENT);
	v->data = (void**)tl_object_new(noisy_type); /* not plain bytes */
	CHECK_FAILS(tl_mem_register_vec_ptr(v), TL_E_INVALID_ARGUMENT);
	v->data = (void**)tl_mem_new(256) + 1; /* the inside of an object */
	CHECK_FAILS(tl_mem_register_vec_ptr(v), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_register_vec_ptr(stack + 1), TL_E_INVALID_ARGUMENT);
	v->data = data;
	v->length = 0;
	CHECK_OK(tl_mem_register_vec_ptr(v));
	CHECK_FAILS(tl_mem_register_vec_ptr(&v->length), TL_E_ALREADY_REGISTERED);
	CHECK_OK(tl_mem_exit_scope());
}

/* One that is damaged later is not followed: its parts are the program's. */
TEST_IN_SCOPE(headers_that_are_damaged)
{
	destroyed = headers = 0;
	void* object = noisy();
	struct vec* v = raw_vec(2);
	CHECK_OK(tl_mem_register_struct_typed(v, vec_type));
	push(v, tl_ptr_acquire(object));
	void** data = v->data;
	v->capacity = 1 << 20;
	CHECK_REFUSED(tl_mem_deep_clone(v), NULL, TL_E_INVALID_ARGUMENT);
	CHECK_INT(tl_mem_collect_cycles(), 0);
	CHECK_OK(tl_mem_unregister(v));
	tl_clear_error();
	CHECK_OK(tl_ptr_release(v));
	CHECK_STATUS(tl_last_status(), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "capacity 1048576") != NULL);
	tl_clear_error();
	CHECK_INT(headers, 1);
	CHECK_DEAD(v);
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_ptr_release(object));
	free(data);
}

static tl_vec_desc good(void)
{
	return (tl_vec_desc){.struct_size = sizeof(tl_vec_desc),
	                     .name = "vec",
	                     .size = sizeof(struct vec),
	                     .data_offset = offsetof(struct vec, data),
	                     .length_offset = offsetof(struct vec, length),
	                     .capacity_offset = offsetof(struct vec, capacity),
	                     .number_bytes = 8,
	                     .elements = TL_VEC_POINTERS};
}

static void refuse(tl_vec_desc d, tl_status why)
{
	tl_type type = 12345;
	CHECK_FAILS(tl_type_define_vec(&d, &type), why);
	CHECK_INT(type, 12345);
}

/* One member of a good description. */
#define REFUSE(member, value, why) \
	do {                           \
		tl_vec_desc d = good();    \
		d.member = (value);        \
		refuse(d, why);            \
	} while (0)

TEST(descriptions_that_are_refused)
{
	tl_type type;
	tl_vec_desc d = good();
	/* covers: tl_type_define_vec TL_E_UNSUPPORTED */
	CHECK_FAILS(tl_type_define_vec(NULL, &type), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_type_define_vec(&d, NULL), TL_E_INVALID_ARGUMENT);
	REFUSE(struct_size, 0, TL_E_INVALID_ARGUMENT);
	REFUSE(struct_size, 8, TL_E_INVALID_ARGUMENT);
	REFUSE(size, 0, TL_E_INVALID_ARGUMENT);
	REFUSE(size, 16, TL_E_INVALID_ARGUMENT);
	REFUSE(size, (size_t)1 << 60, TL_E_INVALID_ARGUMENT);
	REFUSE(data_offset, 4, TL_E_INVALID_ARGUMENT);
	REFUSE(data_offset, 24, TL_E_INVALID_ARGUMENT);
	REFUSE(data_offset, SIZE_MAX - 7, TL_E_INVALID_ARGUMENT);
	REFUSE(length_offset, 8, TL_E_INVALID_ARGUMENT); /* the capacity's */
	REFUSE(length_offset, 0, TL_E_INVALID_ARGUMENT); /* the data's */
	REFUSE(capacity_offset, SIZE_MAX - 7, TL_E_INVALID_ARGUMENT);
	REFUSE(number_bytes, 0, TL_E_INVALID_ARGUMENT);
	REFUSE(number_bytes, 2, TL_E_INVALID_ARGUMENT);
	REFUSE(elements, 3, TL_E_INVALID_ARGUMENT);
	REFUSE(flags, 1, TL_E_INVALID_ARGUMENT);
	REFUSE(element_bytes, 16, TL_E_INVALID_ARGUMENT);
	REFUSE(element_type, pair_type, TL_E_INVALID_ARGUMENT);
	REFUSE(elements, TL_VEC_STRUCTS, TL_E_INVALID_ARGUMENT); /* of no type */
	REFUSE(elements, TL_VEC_BYTES, TL_E_INVALID_ARGUMENT);   /* of no bytes */
	d.elements = TL_VEC_STRUCTS;
	d.element_type = 0xFFFF;
	refuse(d, TL_E_INVALID_ARGUMENT);
	d.element_type = vec_type;
	refuse(d, TL_E_UNSUPPORTED);
	d.element_type = noisy_type;
	refuse(d, TL_E_UNSUPPORTED);
	d.element_type = pair_type;
	d.element_bytes = 8;
	refuse(d, TL_E_INVALID_ARGUMENT);
	d.element_bytes = 17; /* references at odd addresses */
	refuse(d, TL_E_INVALID_ARGUMENT);
}

/* Memory that was adopted without a type and is the host's again is no block that the runtime knows. */
TEST(a_vec_in_memory_that_was_handed_back)
{
	struct vec* v = raw_vec(0);
	destroyed = headers = 0;
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(v));
	CHECK_OK(tl_mem_unregister(v));
	CHECK_OK(tl_mem_register_vec_ptr(v));
	push(v, tl_ptr_acquire(noisy()));
	CHECK_COUNT(v, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(headers, 1);
	CHECK_INT(destroyed, 1);
}

TEST(the_type_of_unknown_vecs)
{
	struct vec* v = raw_vec(1);
	CHECK_FAILS(tl_vec_set_type(0xFFFF), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_vec_set_type(pair_type), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_vec_set_type(0));
	CHECK_FAILS(tl_mem_register_vec_ptr(v), TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_vec_set_type(vec_type));
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_vec_ptr(v));
	CHECK_FAILS(tl_mem_register_ptr(v + 1), TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_mem_exit_scope());
}

static void define(void)
{
	static const size_t first = 0;
	tl_type_desc pair = {.name = "pair", .size = sizeof(struct pair), .pointer_offsets = &first, .num_pointers = 1};
	tl_type_desc counted = {.name = "counted", .size = 64, .destructor = count_destroyed};
	tl_vec_desc d = good();
	CHECK_OK(tl_type_define(&pair, &pair_type));
	CHECK_OK(tl_type_define(&counted, &noisy_type));
	d.destructor = count_header;
	CHECK_OK(tl_type_define_vec(&d, &vec_type));
	d = good();
	d.elements = TL_VEC_BYTES;
	d.element_bytes = 3;
	CHECK_OK(tl_type_define_vec(&d, &bytes_type));
	d = (tl_vec_desc){.struct_size = sizeof d,
	                  .name = "pairs",
	                  .size = sizeof(struct small_vec),
	                  .data_offset = offsetof(struct small_vec, data),
	                  .length_offset = offsetof(struct small_vec, length),
	                  .capacity_offset = offsetof(struct small_vec, capacity),
	                  .number_bytes = 4,
	                  .elements = TL_VEC_STRUCTS,
	                  .element_type = pair_type};
	CHECK_OK(tl_type_define_vec(&d, &pairs_type));
	CHECK_OK(tl_vec_set_type(vec_type));
}

int main(void)
{
	define();
	return check_tests();
}
