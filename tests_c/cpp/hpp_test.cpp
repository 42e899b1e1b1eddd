// The C++ header against the library: what each class opens it closes, whatever
// way the block is left, and no reference is lost or counted twice.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "check.hpp"
#include "tl_runtime.hpp"

namespace {

int points_alive;

struct point {
	explicit point(int x_) : x(x_) { points_alive++; }
	~point() { points_alive--; }
	int x;
};

struct node {
	explicit node(int value_) : value(value_) {}
	node(int value_, tl::ref<node> after, bool refuse) : value(value_)
	{
		next = std::move(after);
		if (refuse) {
			throw std::runtime_error("refused");
		}
	}

	static const tl::type<node>& runtime_type()
	{
		static const tl::type<node> defined = tl::type<node>::define("node", &node::next, &node::other);
		return defined;
	}

	int value;
	tl::field<node> next;
	tl::field<node> other;
};

void scopes_close_themselves()
{
	{
		tl::scope outer;
		CHECK(tl_get_scope_depth() == 1);
		void* object = tl_mem_new(64);
		{
			tl::scope inner;
			CHECK(tl_get_scope_depth() == 2);
			tl::scope moved = std::move(inner);
			CHECK(moved.open() && !inner.open());
			moved.exit();
			CHECK(!moved.open() && tl_get_scope_depth() == 1);
		}
		CHECK(tl_ptr_refcount(object) == 1);
		tl::check(tl_mem_enter_scope()); // left open, as by an exception in C code
	}
	CHECK(tl_get_scope_depth() == 0);
	{
		tl::scope kept;
		kept.dismiss();
	}
	CHECK(tl_get_scope_depth() == 1);
	tl::check(tl_mem_exit_scope());
	try {
		tl::scope unwound;
		throw 1;
	} catch (int) {
	}
	CHECK(tl_get_scope_depth() == 0);
}

void references_count()
{
	tl::ref<point> none;
	CHECK(!none && none.use_count() == 0 && none == nullptr);
	tl::ref<point> first = tl::make<point>(7);
	CHECK(first->x == 7 && (*first).x == 7 && first.use_count() == 1);
	tl::ref<point> second = first;
	CHECK(first.use_count() == 2 && second == first);
	tl::ref<point> third = std::move(second);
	CHECK(!second && third.use_count() == 2);
	tl::ref<const point> constant = third;
	tl::ref<void> plain = third;
	CHECK(constant->x == 7 && plain.use_count() == 4);
	first = third;
	third = tl::ref<point>();
	first.swap(third);
	CHECK(!first && third.use_count() == 3 && points_alive == 1);
	point* raw = third.detach();
	plain.reset();
	constant.reset();
	CHECK(tl_ptr_refcount(raw) == 1);
	third = tl::ref<point>::adopt(raw);
	third = tl::ref<point>::retain(third.get());
	CHECK(third.use_count() == 1);
	third.reset();
	CHECK(points_alive == 0);
}

void references_outlive_scopes()
{
	tl::ref<point> kept;
	tl::ref<void> sunk;
	{
		tl::scope block;
		kept = tl::make<point>(1);
		void* floating = tl_mem_alloc(100);
		sunk = tl::ref<void>::sink(floating);
		tl::check(tl_mem_register_struct(floating));
		CHECK(sunk.use_count() == 2);
	}
	CHECK(kept.use_count() == 1 && sunk.use_count() == 1);
}

void fields_are_released_by_the_runtime()
{
	tl::ref<node> list;
	for (int i = 0; i < 100000; i++) {
		tl::ref<node> longer = tl::make<node>(i);
		longer->next = std::move(list);
		list = std::move(longer);
	}
	CHECK(list->value == 99999 && list->next->value == 99998);
	tl::ref<node> shared = list->next.share();
	CHECK(shared.use_count() == 2);
	list->other = shared;
	CHECK(shared.use_count() == 3);
	list->other = nullptr;
	list.reset();
	CHECK(shared.use_count() == 1 && shared->value == 99998);
}

void throwing_constructors_leave_nothing()
{
	tl::ref<node> kept = tl::make<node>(1);
	bool thrown = false;
	try {
		tl::make<node>(2, kept, true);
	} catch (const std::runtime_error&) {
		thrown = true;
	}
	CHECK(thrown && kept.use_count() == 1);
	CHECK(tl::make<node>(2, kept, false)->next.get() == kept.get());
	CHECK(kept.use_count() == 1);
}

void frames_close_themselves()
{
	{
		tl::frame function(2);
		float* numbers = function.slot<float>(0, 100);
		numbers[99] = 1;
		CHECK(function.slot<float>(0, 50) == numbers && function.slot(1) != nullptr);
		CHECK(status_of([&] { function.slot(2); }) == TL_E_SLOT_OUT_OF_RANGE);
		tl::planned_frame planned(4096);
		*planned.at<int>(64) = 5;
		CHECK(planned.data() != nullptr);
		tl::planned_frame moved = std::move(planned);
		CHECK(*moved.at<int>(64) == 5);
		moved.exit();
		CHECK(status_of([] { tl::check(tl_mem_frame_exit()); }) == TL_E_NO_FRAME);
		tl::frame inner = tl::frame(1);
		CHECK(tl_get_scope_depth() == 2);
	}
	CHECK(tl_get_scope_depth() == 0);
	CHECK(status_of([] { tl::frame refused(-1); }) == TL_E_INVALID_ARGUMENT);
	CHECK(tl_get_scope_depth() == 0);
}

void errors_are_exceptions_or_results()
{
	int local = 0;
	CHECK(status_of([&] { tl::ref<int>::retain(&local); }) == TL_E_UNKNOWN_POINTER);
	tl::result<tl::ref<node>> made = tl::try_make<node>(3);
	CHECK(made.has_value() && (*made)->value == 3);
	tl::ref<node> taken = std::move(made).value();
	CHECK(taken->value == 3);

	tl::result<int> bad(tl::failure{TL_E_LIMIT, "tl_test: TL_E_LIMIT: too many"});
	CHECK(!bad && bad.error().status == TL_E_LIMIT && std::move(bad).value_or(4) == 4);
	CHECK(status_of([&] { bad.value(); }) == TL_E_LIMIT);

	CHECK(tl::result<void>::of(TL_OK).has_value());
	const tl::result<void> underflow = tl::result<void>::of(tl_mem_exit_scope());
	CHECK(!underflow && underflow.error().status == TL_E_SCOPE_UNDERFLOW);
	CHECK(status_of([&] { underflow.value(); }) == TL_E_SCOPE_UNDERFLOW);
}

static_assert(!std::is_copy_constructible_v<tl::scope> && std::is_nothrow_move_constructible_v<tl::scope>);
static_assert(!std::is_copy_constructible_v<tl::frame> && std::is_nothrow_move_constructible_v<tl::frame>);
static_assert(!std::is_copy_constructible_v<tl::planned_frame>);
static_assert(std::is_nothrow_destructible_v<tl::scope> && std::is_nothrow_destructible_v<tl::frame>);
static_assert(std::is_nothrow_destructible_v<tl::planned_frame> && std::is_nothrow_destructible_v<tl::ref<point>>);
static_assert(std::is_nothrow_move_constructible_v<tl::ref<point>>);
static_assert(std::is_convertible_v<tl::ref<point>, tl::ref<const point>>);
static_assert(!std::is_convertible_v<tl::ref<const point>, tl::ref<point>>);
static_assert(!std::is_convertible_v<tl::ref<point>, tl::ref<node>>);
static_assert(sizeof(tl::ref<tl_tensor>) == sizeof(void*) && sizeof(tl::field<node>) == sizeof(void*));

} // namespace

int main()
{
	const tl_stats before = counters();
	scopes_close_themselves();
	references_count();
	references_outlive_scopes();
	fields_are_released_by_the_runtime();
	throwing_constructors_leave_nothing();
	frames_close_themselves();
	errors_are_exceptions_or_results();
	const tl_stats after = counters();
	CHECK(after.live_objects == before.live_objects && after.live_bytes == before.live_bytes);
	CHECK(points_alive == 0 && tl_get_scope_depth() == 0);
	return 0;
}
