/* Structs of a caller that say in struct_size that they are smaller, and end where the memory ends: nothing behind
 * struct_size may be read before it was looked at. */
#include <sys/mman.h>

#include "check.h"

enum { PAGE = 4096 };

static char* end; /* behind it nothing can be read */

/* A struct of so many bytes that says so. */
static void* short_struct(size_t bytes)
{
	void* at = end - bytes;
	memset(at, 0, bytes);
	memcpy(at, &bytes, sizeof bytes);
	return at;
}

/* The only member is struct_size: too small for everything. */
#define CHECK_SHORT(call)                                      \
	do {                                                       \
		void* s = short_struct(sizeof(size_t));                \
		(void)s;                                               \
		CHECK_FAILS(call, TL_E_INVALID_ARGUMENT);              \
		CHECK(strstr(tl_last_error(), "struct_size") != NULL); \
	} while (0)

TEST(allocators_and_copiers)
{
	tl_memory_pool* pool = NULL;
	int32_t device = -1;
	tl_device_copier copier = {.struct_size = sizeof copier, .host_access = 1};
	CHECK_SHORT(tl_memory_pool_create(s, 4096, &pool));
	CHECK_SHORT(tl_device_register(s, &copier, &device));
	CHECK_SHORT(tl_device_register(tl_device_allocator_for(0), s, &device));
	for (size_t bytes = sizeof(size_t); bytes < sizeof(tl_device_allocator); bytes += sizeof(size_t))
		CHECK_FAILS(tl_memory_pool_create(short_struct(bytes), 4096, &pool), TL_E_INVALID_ARGUMENT);
	/* all but the size is that of the library's own allocator */
	tl_device_allocator copy = *tl_device_allocator_for(0);
	copy.struct_size = sizeof copy - 8;
	CHECK_FAILS(tl_memory_pool_create(&copy, 4096, &pool), TL_E_INVALID_ARGUMENT);
	CHECK_PTR(pool, NULL);
	copy.struct_size = sizeof copy;
	CHECK_OK(tl_memory_pool_create(&copy, 4096, &pool));
	CHECK_SHORT(tl_memory_pool_stats_get(pool, s));
	CHECK_OK(tl_memory_pool_destroy(pool));
}

TEST(figures)
{
	void* block = malloc(64);
	CHECK_SHORT(tl_device_info(0, s));
	CHECK_SHORT(tl_stats_get(s));
	CHECK_SHORT(tl_mem_usage(0, s));
	CHECK_SHORT(tl_pool_key_stats_get(0, s));
	CHECK_OK(tl_registry_register(block, 64, TL_ALLOC_MALLOC));
	CHECK_SHORT(tl_registry_info(block, s));
	CHECK_SHORT(tl_mem_allocation_info(block, s));
	CHECK_OK(tl_registry_unregister(block));
}

TEST(types_and_tensors)
{
	const int64_t shape[] = {3};
	tl_type type = 0;
	CHECK_SHORT(tl_type_define_vec(s, &type));
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, shape);
	CHECK_SHORT(tl_tensor_info_get(tensor, s));
	CHECK_SHORT(tl_tensor_share(tensor, 0, s));
	CHECK_SHORT((CHECK(tl_tensor_wrap(s, NULL, NULL) == NULL), tl_last_status()));
	CHECK_SHORT((CHECK(tl_tensor_open(s) == NULL), tl_last_status()));
	CHECK_OK(tl_mem_exit_scope());
}

TEST(others)
{
	const int64_t lengths[] = {0, 0};
	tl_plan* plan = NULL;
	CHECK_SHORT((CHECK(tl_sparse_create(TL_SPARSE_CSR, 2, 2, TL_DTYPE_F32, TL_DTYPE_I32, lengths, s) == NULL),
	             tl_last_status()));
	CHECK_OK(tl_plan_create(&plan));
	CHECK_SHORT(tl_plan_solve_with(plan, s));
	CHECK_OK(tl_plan_destroy(plan));
	CHECK_FAILS(tl_python_attach(short_struct(sizeof(size_t))), TL_E_INVALID_ARGUMENT);
}

int main(void)
{
	char* pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE) != 0) return 1;
	end = pages + PAGE;
	return check_tests();
}
