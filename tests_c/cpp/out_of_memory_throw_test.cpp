/* The out-of-memory callback throws: the exception passes through the failing call, which
 * has done nothing, and the next one asks again. */
#include "memory.h"

#include <new>

static int calls;

static bool refuse(int32_t, size_t, uint32_t, void*)
{
	calls++;
	throw std::bad_alloc();
}

static void an_exception_passes_through(void)
{
	no_limits();
	leave_room(TL_MEM_TOTAL, MIB);
	CHECK_OK(tl_mem_set_out_of_memory_callback(refuse, nullptr));
	for (int turn = 1; turn <= 3; turn++) {
		bool caught = false;
		CHECK_OK(tl_mem_enter_scope());
		try {
			tl_mem_new(8 * MIB);
		} catch (const std::bad_alloc&) {
			caught = true;
		}
		CHECK(caught);
		CHECK_INT(calls, turn);
		CHECK(tl_mem_new(64) != nullptr);
		CHECK_OK(tl_mem_exit_scope());
	}
	no_limits();
}

int main()
{
	RUN(an_exception_passes_through);
	return check_finish();
}
