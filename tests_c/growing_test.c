/* Section Tensors that grow: reserve, resize, what refuses, and where the memory goes. */
#include "check.h"

static tl_tensor* rows(int64_t n, int64_t width)
{
	const int64_t shape[2] = {n, width};
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_I32, TL_DEVICE_CPU, 2, shape);
	CHECK(tensor != NULL);
	return tensor;
}

static void write_row(tl_tensor* tensor, int64_t row, int64_t width)
{
	int32_t* at = (int32_t*)tl_tensor_data(tensor) + row * width;
	for (int64_t i = 0; i < width; i++) at[i] = (int32_t)(row * 31 + i);
}

static int64_t wrong_rows(tl_tensor* tensor, int64_t n, int64_t width)
{
	const int32_t* at = tl_tensor_data(tensor);
	int64_t wrong = 0;
	for (int64_t row = 0; row < n; row++)
		for (int64_t i = 0; i < width; i++) wrong += *at++ != (int32_t)(row * 31 + i);
	return wrong;
}

/* Row by row from nothing, through a slot, a slot apart and a range, of narrow and wide rows. */
static void grow_by_rows(int64_t width, int64_t n)
{
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = rows(0, width);
	int moves = 0;
	const void* data = NULL;
	for (int64_t row = 0; row < n; row++) {
		CHECK_OK(tl_tensor_resize(tensor, row + 1));
		moves += tl_tensor_data(tensor) != data;
		data = tl_tensor_data(tensor);
		CHECK_INT((uintptr_t)data % 64, 0);
		write_row(tensor, row, width);
	}
	CHECK(moves < 64);
	CHECK_INT(tl_tensor_dim(tensor, 0), n);
	CHECK_INT(tl_tensor_numel(tensor), n * width);
	CHECK_INT(tl_tensor_nbytes(tensor), n * width * 4);
	CHECK(tl_tensor_is_contiguous(tensor));
	CHECK(tl_tensor_capacity(tensor) >= n);
	CHECK_INT(wrong_rows(tensor, n, width), 0);

	tl_tensor* clone = tl_tensor_clone(tensor);
	CHECK_INT(wrong_rows(clone, n, width), 0);
	tl_tensor* view = tl_view_slice(tensor, 0, n / 2, n, 1);
	CHECK_INT(*(int32_t*)tl_tensor_data(view), (int32_t)(n / 2 * 31));
	CHECK_FAILS(tl_tensor_resize(tensor, n + 1), TL_E_BUSY);
	CHECK_OK(tl_tensor_free(view));

	CHECK_OK(tl_tensor_resize(tensor, n / 3));
	CHECK_INT(wrong_rows(tensor, n / 3, width), 0);
	CHECK_OK(tl_tensor_resize_zeros(tensor, n));
	CHECK_INT(wrong_rows(tensor, n / 3, width), 0);
	const int32_t* at = (const int32_t*)tl_tensor_data(tensor) + n / 3 * width;
	int64_t other = 0;
	for (int64_t i = 0; i < (n - n / 3) * width; i++) other += at[i] != 0;
	CHECK_INT(other, 0);
	CHECK_OK(tl_tensor_resize(tensor, 0));
	CHECK_INT(tl_tensor_numel(tensor), 0);
	CHECK_PTR(tl_tensor_data(tensor), NULL);
	CHECK_OK(tl_mem_exit_scope());
}

TEST(a_tensor_grows_by_rows)
{
	grow_by_rows(1, 10000);
	grow_by_rows(16, 3000);
	grow_by_rows(1024, 2000);
	grow_by_rows(300000, 40);
}

TEST_IN_SCOPE(what_was_reserved_is_not_left)
{
	for (int64_t capacity = 4; capacity <= 1 << 22; capacity *= 8) {
		tl_tensor* tensor = rows(3, 5);
		for (int64_t row = 0; row < 3; row++) write_row(tensor, row, 5);
		CHECK_OK(tl_tensor_reserve(tensor, capacity));
		CHECK(tl_tensor_capacity(tensor) >= capacity);
		CHECK_INT(tl_tensor_dim(tensor, 0), 3);
		CHECK_INT(wrong_rows(tensor, 3, 5), 0);
		const void* data = tl_tensor_data(tensor);
		for (int64_t n = 4; n < capacity; n += n / 2) {
			CHECK_OK(tl_tensor_resize(tensor, n));
			CHECK_PTR(tl_tensor_data(tensor), data);
		}
		CHECK_OK(tl_tensor_resize(tensor, capacity));
		CHECK_PTR(tl_tensor_data(tensor), data);
		write_row(tensor, capacity - 1, 5);
		CHECK_OK(tl_tensor_reserve(tensor, 1)); /* less than there is */
		CHECK(tl_tensor_capacity(tensor) >= capacity);
		CHECK_INT(wrong_rows(tensor, 3, 5), 0);
	}
}

TEST_IN_SCOPE(a_range_takes_its_pages_along)
{
	tl_tensor *one = rows(0, 1024), *other = rows(0, 1024);
	CHECK_OK(tl_tensor_reserve(one, 300));
	CHECK_OK(tl_tensor_reserve(other, 300));
	for (int64_t n = 300; n < 20000; n *= 3) { /* in turns, so that neither can stay where it is for ever */
		for (int64_t row = n / 3; row < n; row++) {
			CHECK_OK(tl_tensor_resize(one, row + 1));
			CHECK_OK(tl_tensor_resize(other, row + 1));
			write_row(one, row, 1024);
			write_row(other, row, 1024);
		}
	}
	const int64_t n = tl_tensor_dim(one, 0);
	CHECK_INT(
		memcmp((char*)tl_tensor_data(one) + 409600, (char*)tl_tensor_data(other) + 409600, (size_t)(n - 100) * 4096),
		0);
}

/* Of each size of a slot: what moves away leaves the next slot alone, which may begin in the same page. */
TEST(neighbours_stay)
{
	enum { TENSORS = 40 };
	for (int64_t bytes = 200; bytes < 140000; bytes += bytes / 8) {
		tl_tensor* tensors[TENSORS];
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < TENSORS; i++) {
			tensors[i] = tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &bytes);
			memset(tl_tensor_data(tensors[i]), i + 1, (size_t)bytes);
		}
		for (int i = 0; i < TENSORS; i += 2) CHECK_OK(tl_tensor_resize(tensors[i], 3 * bytes));
		for (int i = 0; i < TENSORS; i++) {
			const unsigned char* data = tl_tensor_data(tensors[i]);
			CHECK_INT(tl_tensor_nbytes(tensors[i]), i % 2 == 0 ? 3 * bytes : bytes);
			CHECK(data != NULL && data[0] == i + 1 && memcmp(data, data + 1, (size_t)bytes - 1) == 0);
		}
		CHECK_OK(tl_mem_exit_scope());
	}
}

/* An extent of 0 in another axis, and a vector. */
TEST(tensors_without_bytes_in_a_row)
{
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* empty = rows(3, 0);
	CHECK_OK(tl_tensor_resize(empty, 1 << 30));
	CHECK_INT(tl_tensor_dim(empty, 0), 1 << 30);
	CHECK_INT(tl_tensor_numel(empty), 0);
	CHECK_INT(tl_tensor_capacity(empty), 1 << 30);
	CHECK_OK(tl_tensor_reserve(empty, 1 << 30));
	CHECK_FAILS(tl_tensor_resize(empty, INT64_MAX), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_resize_zeros(empty, INT64_MAX), TL_E_INVALID_ARGUMENT);
	const int64_t length = 5;
	tl_tensor* vector = tl_tensor_new_zeroed(TL_DTYPE_I64, TL_DEVICE_CPU, 1, &length);
	CHECK_OK(tl_tensor_resize_zeros(vector, 100000));
	int64_t sum = 0;
	for (int i = 0; i < 100000; i++) sum += ((int64_t*)tl_tensor_data(vector))[i];
	CHECK_INT(sum, 0);
	CHECK_INT(tl_tensor_strides(vector)[0], 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_tensor_capacity(NULL), 0);
}

TEST(not_every_tensor_grows)
{
	static float lent[64];
	const int64_t shape[1] = {64};
	int local = 0;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = rows(4, 4);
	tl_tensor* view = tl_view_reshape(tensor, 1, (const int64_t[]){16});
	tl_tensor* borrowed = tl_tensor_from_buffer(TL_DTYPE_F32, TL_DEVICE_CPU, 1, shape, lent, NULL, NULL, NULL);
	tl_tensor* scalar = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 0, NULL);
	tl_tensor* dead = rows(1, 1);
	CHECK_OK(tl_tensor_free(dead));
	CHECK_FAILS(tl_tensor_resize(tensor, 5), TL_E_BUSY);
	CHECK_FAILS(tl_tensor_resize(view, 5), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_tensor_resize(view, 0), TL_E_UNSUPPORTED);
	CHECK_OK(tl_tensor_free(view));
	CHECK_OK(tl_tensor_resize(tensor, 5));
	CHECK_FAILS(tl_tensor_resize(borrowed, 5), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_tensor_resize(borrowed, 0), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_tensor_resize_zeros(borrowed, 0), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_tensor_resize(tl_mem_new(64), 5), TL_E_UNSUPPORTED);
	CHECK_OK(tl_tensor_resize(NULL, 5));
	CHECK_FAILS(tl_tensor_resize(scalar, 5), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_resize(tensor, -1), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_resize(tensor, INT64_MAX), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_resize(dead, 5), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_tensor_resize((tl_tensor*)&local, 5), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_tensor_resize((tl_tensor*)((char*)tensor + 8), 5), TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_tensor_resize_zeros(borrowed, 5), TL_E_UNSUPPORTED);
	CHECK_OK(tl_tensor_resize_zeros(NULL, 5));
	CHECK_FAILS(tl_tensor_resize_zeros(dead, 5), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_tensor_resize_zeros((tl_tensor*)&local, 5), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_tensor_resize_zeros((tl_tensor*)((char*)tensor + 8), 5), TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_tensor_reserve(borrowed, 5), TL_E_UNSUPPORTED);
	CHECK_OK(tl_tensor_reserve(NULL, 5));
	CHECK_FAILS(tl_tensor_reserve(tensor, -5), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_reserve(dead, 5), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_tensor_reserve((tl_tensor*)&local, 5), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_tensor_reserve((tl_tensor*)((char*)tensor + 8), 5), TL_E_INTERIOR_POINTER);
	CHECK_REFUSED(tl_tensor_capacity(tl_mem_new(64)), -1, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_capacity(dead), -1, TL_E_NOT_LIVE);
	CHECK_REFUSED(tl_tensor_capacity((tl_tensor*)&local), -1, TL_E_UNKNOWN_POINTER);
	CHECK_REFUSED(tl_tensor_capacity((tl_tensor*)((char*)tensor + 8)), -1, TL_E_INTERIOR_POINTER);
	CHECK_INT(tl_tensor_capacity(borrowed), 64);
	CHECK_OK(tl_tensor_acquire(tensor) == tensor ? TL_OK : TL_E_BUSY);
	CHECK_FAILS(tl_tensor_resize_zeros(tensor, 6), TL_E_BUSY);
	CHECK_FAILS(tl_tensor_reserve(tensor, 600), TL_E_BUSY);
	CHECK_OK(tl_tensor_release(tensor));
	CHECK_OK(tl_tensor_resize_zeros(tensor, 6));
	CHECK_OK(tl_mem_exit_scope());

	CHECK_OK(tl_mem_function_enter(1));
	tl_tensor* in_slot = tl_tensor_in_slot(0, TL_DTYPE_F32, 1, shape);
	CHECK_FAILS(tl_tensor_resize(in_slot, 5), TL_E_UNSUPPORTED);
	CHECK_INT(tl_tensor_capacity(in_slot), 64);
	CHECK_OK(tl_mem_function_exit());
}

/* Its data is nobody's object. */
TEST_IN_SCOPE(data_that_stands_apart_is_not_an_object)
{
	for (int64_t n = 1000; n <= 1000000; n *= 1000) {
		tl_tensor* tensor = rows(1, 1);
		CHECK_OK(tl_tensor_resize(tensor, n));
		void* data = tl_tensor_data(tensor);
		CHECK(tl_ptr_release(data) != TL_OK);
		CHECK(tl_mem_free(data) != TL_OK);
		CHECK(tl_ptr_check(data) != TL_OK);
		CHECK(tl_ptr_check((char*)data + 16) != TL_OK);
		memset(data, 0x51, tl_tensor_nbytes(tensor)); /* as malloc marks its blocks */
		CHECK_FAILS(tl_registry_register(data, 64, TL_ALLOC_MALLOC), TL_E_UNSUPPORTED);
		CHECK_FAILS(tl_registry_register_custom(data, 64, (tl_deleter)abort, NULL), TL_E_UNSUPPORTED);
		CHECK(tl_mem_register_struct((char*)data + 16) != TL_OK);
		CHECK(tl_mem_register_vec_ptr((char*)data + 16) != TL_OK);
		CHECK(tl_registry_unregister(data) != TL_OK);
		CHECK(!tl_registry_is_registered(data));
		CHECK_OK(tl_tensor_free(tensor));
		CHECK_FAILS(tl_tensor_resize(tensor, n), TL_E_NOT_LIVE);
	}
}

/* More than the fast path finds by itself, in two rounds; what others have between them is theirs. */
TEST(many_have_grown)
{
	enum { MANY = 1100 };
	static tl_tensor* tensors[MANY];
	static void* blocks[MANY];
	for (int round = 0; round < 2; round++) {
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < MANY; i++) {
			tensors[i] = rows(1, 1);
			CHECK_OK(tl_tensor_reserve(tensors[i], 1 << 18));
			if (i % 50 == 0) blocks[i] = malloc(1 << 20);
		}
		for (int i = 0; i < MANY; i += 3) CHECK_OK(tl_tensor_reserve(tensors[i], 1 << 19));
		for (int i = 0; i < MANY; i++) {
			void* data = tl_tensor_data(tensors[i]);
			CHECK_FAILS(tl_registry_register((char*)data + 64 * i, 64, TL_ALLOC_MALLOC), TL_E_UNSUPPORTED);
		}
		for (int i = 0; i < MANY; i += 50) {
			CHECK_OK(tl_registry_register(blocks[i], 1 << 20, TL_ALLOC_MALLOC));
			CHECK_OK(tl_registry_unregister(blocks[i]));
		}
		for (int i = 0; i < MANY; i += 2) CHECK_OK(tl_tensor_free(tensors[i]));
		for (int i = 1; i < MANY; i += 2)
			CHECK_FAILS(tl_registry_register(tl_tensor_data(tensors[i]), 64, TL_ALLOC_MALLOC), TL_E_UNSUPPORTED);
		CHECK_OK(tl_mem_exit_scope());
	}
}

static uint64_t charged(void)
{
	tl_mem_usage_info usage = {.struct_size = sizeof usage};
	CHECK_OK(tl_mem_usage(TL_DEVICE_CPU, &usage));
	return usage.reserved;
}

/* What a tensor has grown to is a tensor's memory. */
TEST_IN_SCOPE(statistics_know_what_has_grown)
{
	tl_tensor* tensor = rows(1, 1);
	const tl_stats before = check_stats();
	CHECK_OK(tl_tensor_resize(tensor, 1 << 20));
	const tl_stats after = check_stats();
	CHECK(after.tensor_bytes - before.tensor_bytes >= 4 << 20);
	CHECK_INT(after.live_bytes - after.tensor_bytes, before.live_bytes - before.tensor_bytes);
}

TEST_IN_SCOPE(capacity_is_charged_to_no_limit)
{
	const uint64_t before = charged();
	CHECK_OK(tl_mem_set_limit(TL_DEVICE_CPU, 0, before + (16 << 20)));
	tl_tensor* tensor = rows(1, 256);
	CHECK_OK(tl_tensor_reserve(tensor, 1 << 20)); /* 1 GiB */
	write_row(tensor, 0, 256);
	CHECK(charged() < before + (2 << 20));
	CHECK_OK(tl_tensor_resize(tensor, 8 << 10)); /* 8 MiB */
	CHECK(charged() >= before + (8 << 20));
	CHECK_FAILS(tl_tensor_resize(tensor, 512 << 10), TL_E_LIMIT);
	CHECK_FAILS(tl_tensor_resize_zeros(tensor, 512 << 10), TL_E_LIMIT);
	CHECK_FAILS(tl_tensor_resize(tensor, INT64_MAX >> 12), TL_E_OUT_OF_MEMORY);
	CHECK_FAILS(tl_tensor_resize_zeros(tensor, INT64_MAX >> 12), TL_E_OUT_OF_MEMORY);
	CHECK_INT(tl_tensor_dim(tensor, 0), 8 << 10);
	CHECK_INT(wrong_rows(tensor, 1, 256), 0);
	CHECK_OK(tl_tensor_resize(tensor, 12 << 10));
	CHECK_FAILS(tl_tensor_reserve(tensor, INT64_MAX >> 12), TL_E_OUT_OF_MEMORY);
	CHECK(strstr(tl_last_error(), "TL_HEAP_RESERVE") != NULL);

	tl_tensor* small = rows(1, 256); /* what is refused on its way to a range stays where it was */
	const void* data = tl_tensor_data(small);
	CHECK(tl_tensor_resize(small, 512 << 10) != TL_OK);
	CHECK_PTR(tl_tensor_data(small), data);

	CHECK_OK(tl_tensor_resize(tensor, 1));
	CHECK_OK(tl_mem_purge());
	CHECK(charged() < before + (2 << 20));
	CHECK_INT(wrong_rows(tensor, 1, 256), 0);
	CHECK_OK(tl_tensor_resize_zeros(tensor, 1 << 10));
	CHECK_INT(((int32_t*)tl_tensor_data(tensor))[256 << 9], 0);
	CHECK_OK(tl_mem_set_limit(TL_DEVICE_CPU, 0, 0));
}

/* The half more that growth asks for is left out where a limit refuses it, and no cache is emptied for it. */
TEST(near_a_limit_it_gets_what_it_needs)
{
	const int64_t sizes[] = {70, 600, 690, 900, 6000, 60000}; /* KiB; to a slot, or to a range */
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const int64_t before = sizes[i], after = before + before / 12 + 1;
		tl_mem_usage_info usage = {.struct_size = sizeof usage};
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* tensor = rows(before, 256);
		for (int64_t row = 0; row < before; row++) write_row(tensor, row, 256);
		CHECK_OK(tl_mem_purge());
		CHECK_OK(tl_mem_usage(TL_DEVICE_CPU, &usage));
		const uint64_t failed = usage.failed;
		CHECK_OK(tl_mem_set_limit(TL_DEVICE_CPU, 0, usage.reserved + ((uint64_t)after << 10) + (128 << 10)));
		CHECK_OK(tl_tensor_resize(tensor, after));
		CHECK_INT(tl_tensor_dim(tensor, 0), after);
		CHECK_INT(wrong_rows(tensor, before, 256), 0);
		CHECK_OK(tl_mem_usage(TL_DEVICE_CPU, &usage));
		CHECK_INT(usage.failed, failed);
		tl_tensor_resize(tensor, tl_tensor_capacity(tensor)); /* where the limit allows that */
		memset(tl_tensor_data(tensor), 1, tl_tensor_nbytes(tensor));
		CHECK(tl_mem_check_all() <= 0);
		CHECK_OK(tl_mem_set_limit(TL_DEVICE_CPU, 0, 0));
		CHECK_OK(tl_mem_exit_scope());
	}
}

/* One that has begun large is not charged for where it was. */
TEST_IN_SCOPE(what_moved_away_is_charged_once)
{
	tl_tensor* tensor = rows(64 << 10, 256);
	for (int64_t row = 0; row < 64 << 10; row += 1000) write_row(tensor, row, 256);
	CHECK_OK(tl_mem_purge());
	const uint64_t before = charged();
	CHECK_OK(tl_tensor_resize(tensor, 65 << 10));
	CHECK_OK(tl_mem_purge());
	if (getenv("TL_DEBUG") == NULL) CHECK(charged() < before + before / 4);
	for (int64_t row = 0; row < 64 << 10; row += 1000)
		CHECK_INT(((int32_t*)tl_tensor_data(tensor))[row * 256 + 255], (int32_t)(row * 31 + 255));
}

/* A header that was overwritten is refused, or believed within what the call writes: never given back elsewhere. */
TEST_IN_SCOPE(headers_that_were_overwritten)
{
	uint64_t state = 7;
	for (int i = 0; i < 2000; i++) {
		tl_tensor* tensor = rows(1, 4);
		CHECK_OK(tl_tensor_resize(tensor, i % 3 == 0 ? 2 : i % 3 == 1 ? 4000 : 400000));
		uint64_t* word = (uint64_t*)(void*)tensor + check_random(&state) % 24;
		const uint64_t was = *word;
		*word ^= 1ull << check_random(&state) % 64;
		(void)tl_tensor_resize_zeros(tensor, 500000);
		(void)tl_tensor_resize(tensor, 3);
		(void)tl_tensor_capacity(tensor);
		(void)tl_tensor_reserve(tensor, 5000);
		*word = was;
		CHECK_OK(tl_tensor_free(tensor));
	}
	for (int64_t n = 4000; n <= 400000; n *= 100) { /* nor of one that has grown */
		tl_tensor* tensor = rows(1, 4);
		CHECK_OK(tl_tensor_resize(tensor, n));
		uint64_t* word = (uint64_t*)(void*)tensor;
		const uint64_t was = *word;
		*word = 64;
		CHECK_FAILS(tl_tensor_resize_zeros(tensor, n + 1), TL_E_INVALID_ARGUMENT);
		*word = was;
		CHECK_OK(tl_tensor_resize_zeros(tensor, n + 1));
		CHECK_OK(tl_tensor_free(tensor));
	}
	for (int64_t bytes = 100; bytes < 1000000; bytes *= 9) { /* zeros go nowhere else than behind the header */
		tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &bytes);
		uint64_t* word = (uint64_t*)(void*)tensor;
		const uint64_t was = *word;
		*word = 64;
		CHECK_FAILS(tl_tensor_resize(tensor, 50), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_tensor_resize_zeros(tensor, bytes + 1), TL_E_INVALID_ARGUMENT);
		*word = was;
		CHECK_OK(tl_tensor_resize_zeros(tensor, bytes + 1));
	}
	tl_tensor* ended = rows(1, 4);
	CHECK_OK(tl_tensor_resize(ended, 400000));
	((uint32_t*)(void*)ended)[7] = 1; /* the flags: its end goes unnoticed */
	CHECK_OK(tl_tensor_free(ended));
	tl_tensor* next = rows(1, 4);
	CHECK(tl_tensor_capacity(next) < 400000);
	CHECK_OK(tl_tensor_resize(next, 4000));
	CHECK(tl_tensor_capacity(next) < 400000);
}

int main(void) { return check_tests(); }
