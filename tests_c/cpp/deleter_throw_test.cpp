// Deleters that throw: the exception passes through the library to the caller, the block or tensor is
// gone, and blocks that wait for the deleter are freed by the next call that may free them.
#include <stdexcept>
#include <thread>

#include "check.h"

namespace {

int freed;

char* fake(std::size_t offset) { return reinterpret_cast<char*>(std::uintptr_t{1} << 44) + offset; }

void count(void*, void*) { freed++; }

void fail(void*, void* other)
{
	freed++;
	if (other != nullptr) CHECK_OK(tl_registry_unregister(other)); // waits
	throw std::runtime_error("from a deleter");
}

template <typename Call>
bool throws(Call call)
{
	try {
		call();
	} catch (const std::runtime_error&) {
		return true;
	}
	return false;
}

// Enough rounds for the fast path: the slow one makes the first records.
enum { ROUNDS = 100 };

TEST(out_of_unregister)
{
	for (int i = 0; i < ROUNDS; i++) {
		freed = 0;
		CHECK_OK(tl_registry_register_custom(fake(0), 64, fail, nullptr));
		CHECK(throws([] { tl_registry_unregister(fake(0)); }));
		CHECK_INT(freed, 1);
		CHECK(!tl_registry_is_registered(fake(0)));
	}
}

TEST(out_of_a_scope_and_a_release)
{
	for (int i = 0; i < ROUNDS; i++) {
		freed = 0;
		CHECK_OK(tl_mem_enter_scope());
		for (std::size_t k = 0; k < 3; k++) {
			CHECK_OK(tl_registry_register_custom(fake(k * 64), 64, k == 1 ? fail : count, nullptr));
			CHECK_OK(tl_mem_register_struct(fake(k * 64)));
			CHECK_OK(tl_registry_unregister(fake(k * 64)));
		}
		CHECK(throws([] { tl_mem_exit_scope(); }));
		CHECK_INT(freed, 2);
		CHECK_OK(tl_mem_exit_scopes_to(0));
		CHECK_INT(freed, 3);
		CHECK_OK(tl_registry_register_custom_buffer(fake(0), 64, nullptr, 0, fail, nullptr, nullptr));
		CHECK(throws([] { tl_ptr_release(fake(0)); }));
		CHECK_INT(freed, 4);
	}
}

TEST(what_waits_is_not_lost)
{
	for (int i = 0; i < ROUNDS; i++) {
		freed = 0;
		CHECK_OK(tl_registry_register_custom(fake(0), 64, fail, fake(64)));
		CHECK_OK(tl_registry_register_custom(fake(64), 64, count, nullptr));
		CHECK(throws([] { tl_registry_unregister(fake(0)); }));
		CHECK_INT(freed, 1);
		CHECK_OK(tl_registry_register_custom(fake(0), 64, count, nullptr));
		CHECK_OK(tl_registry_unregister(fake(0)));
		CHECK_INT(freed, 3);
	}
}

tl_tensor* lent(tl_deleter deleter)
{
	static float number;
	return tl_tensor_from_buffer(TL_DTYPE_F32, 0, 0, nullptr, &number, nullptr, deleter, nullptr);
}

TEST(out_of_the_end_of_a_tensor)
{
	for (int i = 0; i < ROUNDS; i++) {
		freed = 0;
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* older = lent(fail);
		lent(count);
		CHECK(throws([] { tl_tensor_free(lent(fail)); }));
		CHECK_INT(freed, 1);
		tl_tensor* held = tl_tensor_acquire(lent(fail));
		CHECK_OK(tl_tensor_free(held));
		CHECK(throws([=] { tl_tensor_release(held); }));
		CHECK(throws([] { tl_mem_exit_scope(); }));
		CHECK_INT(freed, 4);
		CHECK_OK(tl_mem_exit_scopes_to(0));
		CHECK_INT(freed, 4);
		CHECK_DEAD(older);
	}
}

} // namespace

int main()
{
	CHECK_OK(tl_init());
	return check_tests();
}
