// tl_weak.hpp: references that outlive their objects.

#include <thread>
#include <type_traits>

#include "check.hpp"
#include "tl_weak.hpp"

namespace {

struct node {
	explicit node(int value_) : value(value_) {}

	static const tl::type<node>& runtime_type()
	{
		static const tl::type<node> defined = tl::type<node>::define("node", &node::child);
		return defined;
	}

	int value;
	tl::field<node> child;
	tl::weak<node> parent;
};

static_assert(std::is_trivially_copyable_v<tl::weak<node>> && sizeof(tl::weak<node>) == 8);
static_assert(std::is_trivially_copyable_v<tl::checked<node>> && sizeof(tl::checked<node>) == 8);

void a_child_knows_its_parent()
{
	tl::ref<node> parent = tl::make<node>(1);
	parent->child = tl::make<node>(2);
	tl::ref<node> child = parent->child.share();
	CHECK(!child.is_unique());
	child->parent = tl::weak<node>(parent);
	CHECK(parent.use_count() == 1);
	CHECK(child->parent.lock() == parent);
	CHECK(child->parent.lock()->value == 1 && !child->parent.expired());
	CHECK(parent.use_count() == 1);
	parent.reset();
	CHECK(child->parent.expired());
	CHECK(child->parent.lock() == nullptr);
	CHECK(child->parent.try_lock().has_value());
	CHECK(child.use_count() == 1 && child.is_unique());
}

void nothing_is_never_there()
{
	const tl::weak<node> none, empty = nullptr, of_none = tl::weak<node>::of(nullptr);
	CHECK(none == empty && none == of_none && none.id() == 0);
	CHECK(none.lock() == nullptr && none.expired());
	const tl::checked<node> null;
	CHECK(!null && null.get() == nullptr && null.retain() == nullptr);
}

void a_later_object_is_another_one()
{
	tl::ref<void> first = tl::ref<void>::sink(tl_mem_alloc(64));
	const tl::weak<void> weak(first);
	const tl::checked<void> checked(first);
	CHECK(checked && checked.get() == first.get());
	void* const address = first.get();
	first.reset();
	const tl::ref<void> second = tl::ref<void>::sink(tl_mem_alloc(64));
	CHECK(second.get() == address);
	CHECK(weak.lock() == nullptr && weak != tl::weak<void>(second));
	CHECK(!checked && checked != tl::checked<void>(second));
	CHECK(status_of([&] { checked.get(); }) == TL_E_NOT_LIVE);
	CHECK(status_of([&] { checked.retain(); }) == TL_E_NOT_LIVE);
	CHECK(checked.try_get().error().status == TL_E_NOT_LIVE);
	CHECK(second.use_count() == 1);
}

void a_checked_reference_leads_to_the_object()
{
	tl::ref<node> held = tl::make<node>(7);
	const tl::checked<node> checked(held);
	CHECK(checked->value == 7 && (*checked).value == 7);
	{
		const tl::ref<node> own = checked.retain();
		CHECK(own == held && held.use_count() == 2);
	}
	CHECK(held.use_count() == 1);
}

void other_threads()
{
	tl::ref<node> own = tl::make<node>(1);
	tl::ref<node> shared = tl::make<node>(2);
	const tl::weak<node> mine(own);
	const tl::weak<node> ours = tl::weak<node>::share(shared.get());
	std::thread([&] {
		CHECK(status_of([&] { mine.lock(); }) == TL_E_BUSY);
		CHECK(mine.try_lock().error().status == TL_E_BUSY);
		CHECK(ours.lock()->value == 2);
		CHECK(tl::weak<node>::try_share(own.get()).error().status == TL_E_BUSY);
	}).join();
	CHECK(mine.lock() == own && shared.use_count() == 1);
	shared.reset();
	CHECK(ours.lock() == nullptr);
}

void what_is_no_object()
{
	int here = 0;
	CHECK(status_of([&] { tl::weak<int>::of(&here); }) == TL_E_UNKNOWN_POINTER);
	CHECK(status_of([&] { tl::weak<int>::share(&here); }) == TL_E_UNKNOWN_POINTER);
	CHECK(status_of([&] { tl::checked<int> checked(&here); }) == TL_E_UNKNOWN_POINTER);
	CHECK(tl::weak<int>::try_of(&here).error().status == TL_E_UNKNOWN_POINTER);
}

} // namespace

int main()
{
	const std::uint64_t before = live();
	a_child_knows_its_parent();
	nothing_is_never_there();
	a_later_object_is_another_one();
	a_checked_reference_leads_to_the_object();
	other_threads();
	what_is_no_object();
	CHECK(live() == before);
	std::puts("weak references end with their objects");
	return 0;
}
