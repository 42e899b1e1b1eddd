/* tl_shapes.hpp: structs and Vecs in memory of malloc's. */
#include "tl_shapes.hpp"

#include <cstdlib>
#include <new>

#include "../check.h"

namespace {

int destroyed = 0;

struct node {
	tl::field<node> next;
	int number = 0;

	~node() { destroyed++; }
};

const tl::type<node>& node_type()
{
	static const tl::type<node> defined = tl::type<node>::define("node", &node::next);
	return defined;
}

node* raw_node() { return ::new (std::malloc(sizeof(node))) node; }

TEST(a_taken_struct_ends_with_its_reference)
{
	destroyed = 0;
	{
		tl::ref<node> head = tl::take(raw_node(), node_type());
		head->next = node_type().make();
		head->next->next = tl::take(raw_node(), node_type());
		CHECK_INT(head.use_count(), 1);
		CHECK_INT(destroyed, 0);
	}
	CHECK_INT(destroyed, 3);
}

TEST(what_was_refused_is_the_callers)
{
	node* inside = raw_node();
	tl::result<tl::ref<node>> taken = tl::try_take(reinterpret_cast<node*>(&inside->number), node_type());
	CHECK(!taken);
	CHECK_STATUS(taken.error().status, TL_E_INVALID_ARGUMENT);
	std::free(inside);
}

struct vec {
	node** data;
	std::uint32_t length, capacity;
};

TEST(a_vec_by_its_members)
{
	const tl_type type = tl::define_vec("nodes", &vec::data, &vec::length, &vec::capacity);
	destroyed = 0;
	{
		tl::scope scope;
		vec* nodes = static_cast<vec*>(std::calloc(1, sizeof(vec)));
		nodes->data = static_cast<node**>(std::calloc(2, sizeof(node*)));
		nodes->capacity = 2;
		nodes->data[nodes->length++] = node_type().make().detach();
		tl::check(tl_mem_register_struct_typed(nodes, type));
	}
	CHECK_INT(destroyed, 1);
	CHECK(!tl::try_define_vec("wrong", &vec::data, &vec::length, &vec::length));
}

} // namespace

int main(void) { return check_tests(); }
