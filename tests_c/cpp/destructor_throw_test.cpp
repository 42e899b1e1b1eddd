// Destructors that throw: the exception passes through the library to the caller,
// and nothing is lost on the way.
#include <stdexcept>

#include "check.h"

namespace {

struct node {
	bool throws;
	int number;
};

tl_type node_type;
int destroyed;

void destroy(void* object)
{
	destroyed++;
	if (static_cast<node*>(object)->throws) throw std::runtime_error("from a destructor");
}

node* new_node(bool throws, int number)
{
	node* object = static_cast<node*>(tl_object_new(node_type));
	object->throws = throws;
	object->number = number;
	return object;
}

template <typename Call>
bool throws(Call call)
{
	try {
		call();
	} catch (const std::runtime_error& error) {
		return strcmp(error.what(), "from a destructor") == 0;
	}
	return false;
}

TEST(out_of_release)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	node* thrower = new_node(true, 1);
	node* plain = new_node(false, 2);
	CHECK_OK(tl_mem_unregister(thrower));
	CHECK(throws([&] { tl_ptr_release(thrower); }));
	CHECK_DEAD(thrower);
	CHECK_COUNT(plain, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 2);
}

TEST(out_of_exit_scope)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_enter_scope());
	new_node(false, 1);
	new_node(true, 2);
	new_node(false, 3);
	CHECK(throws([] { tl_mem_exit_scope(); }));
	CHECK_OK(tl_mem_exit_scopes_to(0));
	CHECK_INT(destroyed, 3);
}

TEST(out_of_unwinding_again)
{
	destroyed = 0;
	for (int i = 0; i < 100; i++) {
		CHECK_OK(tl_mem_function_enter(1));
		new_node(true, i);
		CHECK(throws([] { tl_mem_function_exit(); }));
		CHECK_OK(tl_mem_exit_scopes_to(0));
	}
	CHECK_INT(destroyed, 100);
}

TEST(through_a_vec)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(4);
	for (int i = 0; i < 4; i++) {
		node* element = new_node(i == 2, i);
		CHECK_OK(tl_vec_push(vec, element));
		CHECK_OK(tl_mem_unregister(element));
		CHECK_OK(tl_ptr_release(element));
	}
	CHECK_OK(tl_mem_unregister(vec));
	CHECK(throws([&] { tl_ptr_release(vec); }));
	CHECK_OK(tl_mem_exit_scopes_to(0));
	CHECK_INT(destroyed, 4);
}

} // namespace

int main()
{
	tl_type_desc type{};
	type.name = "node";
	type.size = sizeof(node);
	type.destructor = destroy;
	CHECK_OK(tl_type_define(&type, &node_type));
	return check_tests();
}
