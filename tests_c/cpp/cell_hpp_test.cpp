// tl_cell.hpp: values in cells.

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "check.hpp"
#include "tl_cell.hpp"

namespace {

std::atomic<int> alive;

struct node {
	node(int value_, tl::cell<node> next_) : value(value_), next(std::move(next_)) { alive++; }
	~node() { alive--; }
	node(const node&) = delete;
	node& operator=(const node&) = delete;

	int value;
	tl::cell<node> next;
};

static_assert(sizeof(tl::cell<node>) == sizeof(void*));

void a_list_ends_with_its_last_reference()
{
	tl::cell<node> list;
	for (int i = 0; i < 100; i++) {
		list = tl::cell<node>::make(i, std::move(list));
	}
	CHECK(alive == 100);
	CHECK(list.is_unique());
	{
		const tl::cell<node> same = list;
		CHECK(!list.is_unique() && same == list && same->value == 99);
		const tl::cell<node> tail = list->next;
		CHECK(tail != list && (*tail).value == 98);
	}
	tl::cell<node> tail = list->next;
	list = nullptr;
	CHECK(alive == 99);
	CHECK(tail.is_unique());
	tail = tail->next;
	CHECK(alive == 98);
	tail = {};
	CHECK(alive == 0);
	CHECK(!tail && !tail.is_unique());
}

struct typed_node {
	int value;
	typed_node* next;
};

void a_typed_list_ends_by_its_type()
{
	enum { LENGTH = 1000000 };
	static const std::size_t fields[] = {offsetof(typed_node, next)};
	const tl_type_desc desc = {"typed_node", sizeof(typed_node), fields, 1, nullptr, 0};
	tl_type type = 0;
	CHECK(tl_type_define(&desc, &type) == TL_OK);
	const std::uint64_t before = live();
	tl::cell<typed_node> list;
	for (int i = 0; i < LENGTH; i++) {
		list = tl::cell<typed_node>::make_typed(type, i, list.release());
	}
	CHECK(live() == before + LENGTH && list->value == LENGTH - 1);
	const tl::cell<typed_node> head = list;
	CHECK(!head.is_unique());
	list = nullptr;
	CHECK(head.is_unique());
	head.share();
	std::thread([mine = head] { CHECK(mine->next->value == LENGTH - 2); }).join();
	tl::cell<typed_node> rest = tl::cell<typed_node>::adopt(std::exchange(head->next, nullptr));
	CHECK(live() == before + LENGTH);
	rest = nullptr;
	CHECK(live() == before + 1);
	CHECK(!tl::cell<typed_node>::try_make_typed(type + 1000, 1, nullptr));
}

struct thrower {
	explicit thrower(bool now)
	{
		if (now) {
			throw std::runtime_error("no value");
		}
	}
};

void a_constructor_that_throws_leaves_no_cell()
{
	bool caught = false;
	try {
		tl::cell<thrower>::make(true);
	} catch (const std::runtime_error&) {
		caught = true;
	}
	CHECK(caught);
	CHECK(tl::cell<thrower>::make(false).is_unique());
}

void threads_have_a_shared_one()
{
	tl::cell<node> shared = tl::cell<node>::make(7, nullptr);
	shared.share();
	std::thread others[4];
	for (std::thread& other : others) {
		other = std::thread([mine = shared] {
			for (int i = 0; i < 1000; i++) {
				const tl::cell<node> one = mine;
				if (one->value != 7 || one.is_unique()) {
					fail(__FILE__, __LINE__, "a shared value");
				}
			}
		});
	}
	shared = {};
	for (std::thread& other : others) {
		other.join();
	}
	CHECK(alive == 0);
}

} // namespace

int main()
{
	const std::uint64_t before = live();
	a_list_ends_with_its_last_reference();
	a_typed_list_ends_by_its_type();
	a_constructor_that_throws_leaves_no_cell();
	threads_have_a_shared_one();
	CHECK(live() == before);
	std::puts("cells end with their last reference");
	return 0;
}
