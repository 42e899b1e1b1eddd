// The C++ headers by their results alone: built without exceptions and RTTI, as LLVM builds, and
// by every compiler that is here in tests_c/headers/no_exceptions.sh.

#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory_resource>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

#include "dl.h"
#include "check.hpp"
#include "tl_memory_pool.hpp"
#include "tl_registry.hpp"
#include "tl_runtime.hpp"
#include "tl_sparse.hpp"
#include "tl_tensor.hpp"
#include "tl_tracking.hpp"

#ifndef TL_NO_EXCEPTIONS
#error "this program is for -fno-exceptions, or TL_NO_EXCEPTIONS"
#endif

namespace {

// Nothing that would have to throw is declared.
template <class T, class = void>
inline constexpr bool throws_as_zeros = false;
template <class T>
inline constexpr bool throws_as_zeros<T, std::void_t<decltype(T::template zeros<float>({2}))>> = true;
static_assert(!throws_as_zeros<tl::tensor>);
static_assert(!std::is_default_constructible_v<tl::scope> && !std::is_constructible_v<tl::frame, std::int64_t>);
static_assert(!std::is_constructible_v<tl::planned_frame, std::size_t>);
static_assert(!std::is_constructible_v<tl::memory_pool, const char*> &&
              std::is_default_constructible_v<tl::memory_pool>);
static_assert(!std::is_constructible_v<tl::workspace, std::size_t, std::size_t>);
static_assert(!std::is_constructible_v<tl::tag, const char*> && !std::is_default_constructible_v<tl::leak_check>);
// A type of this way is not the one of the other way.
static_assert(std::is_same_v<tl::tensor, tl::no_exceptions::tensor>);

struct node {
	explicit node(int value_) : value(value_) {}

	static const tl::result<tl::type<node>>& runtime_type()
	{
		static const auto defined = tl::type<node>::try_define("node", &node::next);
		return defined;
	}

	int value;
	tl::field<node> next;
};

struct plain {
	int value;
};

struct refused {
	static const tl::result<tl::type<refused>>& runtime_type()
	{
		static const tl::result<tl::type<refused>> never =
			tl::failure{TL_E_LIMIT, "tl_test: TL_E_LIMIT: no more types"};
		return never;
	}
};

void scopes_and_frames()
{
	{
		auto scope = tl::scope::try_enter();
		CHECK(scope && scope->open() && tl_get_scope_depth() == 1);
		auto frame = tl::frame::try_enter(1);
		CHECK(frame && tl_get_scope_depth() == 2);
		const tl::result<float*> slot = frame->try_slot<float>(0, 100);
		CHECK(slot && *slot != nullptr);
		(*slot)[99] = 1;
		CHECK(status_in(frame->try_slot(1)) == TL_E_SLOT_OUT_OF_RANGE);
		CHECK(status_in(frame->try_slot<float>(0, SIZE_MAX / 2)) == TL_E_INVALID_ARGUMENT);
		auto planned = tl::planned_frame::try_enter(256);
		CHECK(planned);
		*planned->at<int>(64) = 5;
		CHECK(planned->try_exit() && !planned->open());
		CHECK(frame->try_exit() && tl_get_scope_depth() == 1);
	}
	CHECK(tl_get_scope_depth() == 0);
	CHECK(status_in(tl::frame::try_enter(-1)) == TL_E_INVALID_ARGUMENT);
	CHECK(status_in(tl::try_check(tl_mem_exit_scope())) == TL_E_SCOPE_UNDERFLOW);
	CHECK(tl_get_scope_depth() == 0);
}

void references()
{
	auto made = tl::try_make<node>(7);
	CHECK(made && (*made)->value == 7);
	tl::ref<node> first = *std::move(made);
	first->next = *tl::try_make<node>(8);
	const auto second = first->next.try_share();
	CHECK(second && second->use_count() == 2 && (*second)->value == 8);
	const tl::ref<node> copy = first;
	CHECK(copy.use_count() == 2 && *tl::ref<node>::try_retain(copy.get()) == first);
	CHECK(status_in(tl::try_make<refused>()) == TL_E_LIMIT);
	const auto simple = tl::try_make<plain>();
	CHECK(simple && simple->use_count() == 1 && (*tl::try_type_of<plain>())->id() != 0);

	int local = 0;
	CHECK(status_in(tl::ref<int>::try_retain(&local)) == TL_E_UNKNOWN_POINTER);
	CHECK(status_in(tl::ref<int>::try_sink(&local)) == TL_E_UNKNOWN_POINTER);
	const auto sunk = tl::ref<void>::try_sink(tl_mem_alloc(8));
	CHECK(sunk && sunk->use_count() == 1 && tl_get_scope_depth() == 0);

	// A copy that cannot be counted is empty, and the status says why.
	auto* dead = static_cast<plain*>(tl_mem_alloc(sizeof(plain)));
	auto stale = tl::ref<plain>::adopt(dead);
	CHECK(tl_ptr_release(dead) == TL_OK);
	tl_clear_error();
	const tl::ref<plain> none = stale;
	CHECK(!none && tl_last_status() == TL_E_NOT_LIVE);
	static_cast<void>(stale.detach());
}

void tensors()
{
	auto zeros = tl::tensor::try_zeros<double>({2, 3});
	CHECK(zeros && zeros->size() == 6 && (*zeros->try_shape() == tl::tensor::extents{2, 3}));
	const tl::tensor matrix = *std::move(zeros);
	(*matrix.try_data<double>())[5] = 4;
	CHECK(status_in(matrix.try_data<float>()) == TL_E_INVALID_ARGUMENT);
	CHECK(status_in(tl::tensor::try_empty<double>({-1})) == TL_E_INVALID_ARGUMENT);
	const auto view = matrix.try_transpose();
	CHECK(view && status_in(view->try_reshape({6})) == TL_E_UNSUPPORTED);
	CHECK(*view->try_base() == matrix && !*matrix.try_base());
	CHECK((*(*view->try_clone()).try_data<double>()) != *matrix.try_data<double>());
	CHECK(matrix.try_reshape({6}) && matrix.try_slice(0, 0, 1) && matrix.try_slice({tl::part::at(1)}));
	CHECK(matrix.try_permute({1, 0}) && matrix.try_broadcast_to({4, 2, 3}) && matrix.try_expand_dims(0));
	CHECK(status_in(matrix.try_squeeze(0)) == TL_E_INVALID_ARGUMENT);
	CHECK(matrix.try_info()->rank == 2 && !*matrix.try_is_read_only());

	static const float constants[2] = {1, 2};
	const auto lent = tl::tensor::try_borrow(constants, {2});
	CHECK(lent && *lent->try_is_read_only() && status_in(lent->try_to_dlpack_legacy()) == TL_E_UNSUPPORTED);
	auto managed = matrix.try_to_dlpack();
	CHECK(managed && tl::tensor::try_from_dlpack(*managed));
	CHECK(status_in(tl::tensor::try_from_dlpack(static_cast<DLManagedTensor*>(nullptr))) == TL_E_INVALID_ARGUMENT);
	CHECK(tl_get_scope_depth() == 0);
}

void sparse()
{
	const double values[3] = {10, 11, 20};
	const std::int32_t indices[3] = {0, 2, 1}, offsets[3] = {0, 2, 3};
	const auto matrix = tl::sparse_matrix::try_from_csr(2, 3, 3, values, indices, offsets);
	CHECK(matrix && matrix->try_info()->nonzeros == 3 && matrix->try_validate());
	const auto line = matrix->try_line<double>(1);
	CHECK(line && line->length == 1 && line->values[0] == 20);
	CHECK(status_in(matrix->try_line<float>(0)) == TL_E_INVALID_ARGUMENT);
	CHECK(status_in(matrix->try_line<double>(2)) == TL_E_INVALID_ARGUMENT);
	CHECK(matrix->try_slice(0, 1) && matrix->try_transpose() && matrix->try_block(0));
	const auto whole = matrix->try_to_contiguous();
	CHECK(whole && (*whole->values.try_data<double>())[2] == 20);
	CHECK(status_in(tl::sparse_matrix::try_create<float>(TL_SPARSE_CSR, 2, 2, {1})) == TL_E_INVALID_ARGUMENT);
	CHECK(status_in(tl::sparse_matrix::try_from_csc(3, 2, 4, values, indices, offsets)) == TL_E_INVALID_ARGUMENT);
	CHECK(tl::sparse_matrix::try_wrap(TL_SPARSE_CSR, 2, 3, 3, values, indices, offsets));
	CHECK(tl_get_scope_depth() == 0);
}

int destroyed;
struct counted {
	~counted() { destroyed++; }
};

void registered_memory()
{
	{
		auto numbers = tl::try_new_array<double>(4);
		CHECK(numbers && (*numbers)[3] == 0);
		CHECK(numbers->try_share());
		const auto objects = tl::try_new_array<counted>(3);
		CHECK(objects && tl::try_own_scalar(new counted));
		CHECK(destroyed == 1);
	}
	CHECK(destroyed == 4);
	CHECK(status_in(tl::try_new_array<double>(SIZE_MAX / 2)) == TL_E_INVALID_ARGUMENT);
	CHECK(tl::try_own_array(new int[4], 4));
	int local[4] = {};
	CHECK(status_in(tl::try_own(local, 0, static_cast<tl_alloc_kind>(99))) == TL_E_INVALID_ARGUMENT);
	const auto count = [](void*, void* calls) { ++*static_cast<int*>(calls); };
	int calls = 0;
	{
		int* names[1] = {local + 1};
		auto buffer = tl::try_own_buffer(local, 4, names, 1, count, &calls);
		CHECK(buffer && buffer->try_add_alias(local + 2) && buffer->aliases.size() == 2);
		CHECK(status_in(buffer->try_add_alias(local + 100)) == TL_E_INVALID_ARGUMENT && buffer->aliases.size() == 2);
	}
	CHECK(calls == 1);
	const std::vector<void*> pointers = {std::malloc(8)};
	CHECK(status_in(tl::try_register_many(pointers, std::vector<std::size_t>(), TL_ALLOC_MALLOC)) ==
	      TL_E_INVALID_ARGUMENT);
	CHECK(tl::try_register_many(pointers, std::vector<std::size_t>{8}, TL_ALLOC_MALLOC));
	CHECK(tl::unregister_many(pointers) == 1);
	auto workspace = tl::workspace::try_create(2, 100);
	CHECK(workspace && workspace->get(1) != nullptr && workspace->get(2) == nullptr);
	CHECK(status_in(tl::workspace::try_create(2, 100, 3)) == TL_E_INVALID_ARGUMENT);
}

struct derived : tl::pmr_resource {};

void memory_resources()
{
	tl::pmr_resource heap, same;
	derived other;
	CHECK(heap == same && !(heap == other) && other == derived() && !(heap == *std::pmr::new_delete_resource()));
	const auto block = heap.try_allocate(1000, 256);
	CHECK(block && reinterpret_cast<std::uintptr_t>(*block) % 256 == 0);
	heap.deallocate(*block, 1000, 256);
	CHECK(status_in(heap.try_allocate(SIZE_MAX / 2)) == TL_E_INVALID_ARGUMENT);
	CHECK(status_in(heap.try_allocate(SIZE_MAX / 4)) != TL_OK);
	std::pmr::vector<int> numbers(&heap);
	for (int i = 0; i < 1000; i++) {
		numbers.push_back(i);
	}
	std::pmr::vector<int> moved(std::move(numbers), &same);
	CHECK(moved.size() == 1000 && moved[999] == 999);
}

void memory_pools()
{
	auto made = tl::memory_pool::try_create("cpu", 1 << 20);
	CHECK(made && made->try_set_limit(4 << 20));
	tl::memory_pool pool = *std::move(made);
	const auto block = pool.try_allocate(1000);
	CHECK(block && pool.try_stats()->num_allocations == 1);
	CHECK(status_in(pool.try_allocate(8 << 20)) == TL_E_LIMIT && status_in(pool.try_close()) == TL_E_BUSY);
	CHECK(pool.try_deallocate(*block) && status_in(pool.try_deallocate(*block)) == TL_E_UNKNOWN_POINTER);
	tl::statistics_resource counted(pool);
	tl::limiting_resource limited(counted, 4096);
	{
		std::pmr::vector<int> numbers(1000, &limited);
		CHECK(limited.allocated() == 4000 && counted.statistics().current_count == 1);
		CHECK(status_in(limited.try_allocate(97)) == TL_E_LIMIT);
	}
	CHECK(pool.try_trim() && pool.try_reset() && pool.try_close() && !pool.is_open());
	CHECK(status_in(pool.try_allocate(8)) == TL_E_INVALID_ARGUMENT &&
	      status_in(pool.try_stats()) == TL_E_INVALID_ARGUMENT);
	CHECK(status_in(tl::memory_pool::try_create("no such device")) == TL_E_INVALID_ARGUMENT);
}

void tracking()
{
	{
		const auto tag = tl::tag::try_push("load");
		CHECK(tag);
	}
	CHECK(status_in(tl::tag::try_push(nullptr)) == TL_E_INVALID_ARGUMENT);
	const auto clean = tl::try_assert_no_leaks([] { return 42; });
	CHECK(clean && *clean == 42);
	CHECK(tl::try_assert_no_leaks([] {}));
	const auto check = tl::leak_check::try_start();
	CHECK(check);
	void* lost = tl_mem_alloc(48);
	CHECK(*check->try_leaks("/dev/null") == 1);
	CHECK(tl_ptr_release(lost) == TL_OK && *check->try_leaks() == 0);
}

// What a child process that runs `body` ends with, and writes.
template <class Body>
int ends(Body body, char* text, std::size_t bytes)
{
	int ends[2];
	CHECK(pipe(ends) == 0);
	const pid_t child = fork();
	if (child == 0) {
		dup2(ends[1], 2);
		body();
		_exit(0);
	}
	close(ends[1]);
	std::size_t length = 0;
	for (ssize_t got; length + 1 < bytes && (got = read(ends[0], text + length, bytes - length - 1)) > 0;) {
		length += static_cast<std::size_t>(got);
	}
	text[length] = '\0';
	close(ends[0]);
	int status = 0;
	CHECK(waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void value_of_a_failure_ends_the_process()
{
	char text[400];
	const tl::result<int> bad(tl::failure{TL_E_LIMIT, "tl_test: TL_E_LIMIT: too many"});
	CHECK(ends([&] { static_cast<void>(tl::result<int>(bad).value()); }, text, sizeof text) == SIGABRT);
	CHECK(std::strstr(text, "tl_runtime: tl_test: TL_E_LIMIT: too many\n") != nullptr);
	const tl::result<void> underflow(tl::failure{TL_E_SCOPE_UNDERFLOW, "tl_x: TL_E_SCOPE_UNDERFLOW: none"});
	CHECK(ends([&] { underflow.value(); }, text, sizeof text) == SIGABRT);
	tl::pmr_resource heap;
	CHECK(ends([&] { static_cast<void>(heap.allocate(SIZE_MAX / 2)); }, text, sizeof text) == SIGABRT);
	CHECK(std::strstr(text, "try_allocate: TL_E_INVALID_ARGUMENT: ") != nullptr);
	CHECK(ends([] {}, text, sizeof text) == 0);
}

} // namespace

int main()
{
	const tl_stats before = counters();
	scopes_and_frames();
	references();
	tensors();
	sparse();
	registered_memory();
	memory_resources();
	memory_pools();
	tracking();
	value_of_a_failure_ends_the_process();
	tl_mem_purge();
	const tl_stats after = counters();
	CHECK(after.live_objects == before.live_objects && after.foreign_live == before.foreign_live);
	CHECK(tl_get_scope_depth() == 0);
	std::puts("passed");
	return 0;
}
