// acquire + release of a live object: the runtime, the floor of two calls, and counted pointers that people use.
#include <tl_runtime.h>

#include <cstdlib>
#include <future>
#include <memory>
#include <thread>

#include "../peers/floor.h"
#include "harness.hpp"

#ifdef BENCH_BOOST
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#endif
#ifdef BENCH_GLIB
#include <glib.h>
#endif
#ifdef BENCH_TALLOC
#include <talloc.h>
#endif

namespace bench {
namespace {

void count_runtime(benchmark::State& state, void* object)
{
	measure(state, [object] {
		tl_ptr_acquire(object);
		tl_ptr_release(object);
	});
}

// An object that a scope holds, as compiled code has them.
void owner(benchmark::State& state)
{
	tl_mem_enter_scope();
	count_runtime(state, tl_mem_new(64));
	tl_mem_exit_scope();
}

void floating(benchmark::State& state)
{
	void* object = tl_mem_alloc(64);
	count_runtime(state, object);
	tl_ptr_release(object);
}

void unbiased(benchmark::State& state)
{
	tl_mem_enter_scope();
	void* object = tl_mem_new(64);
	tl_ptr_share(object);
	count_runtime(state, object);
	tl_mem_exit_scope();
}

BENCH("count/own/tl-ref")
{
	tl_mem_enter_scope();
	const tl_ref ref = tl_ref_of(tl_mem_new(64));
	measure(state, [ref] {
		tl_ref_acquire(ref);
		tl_ref_release(ref);
	});
	tl_mem_exit_scope();
}

void upgrade(benchmark::State& state, tl_ref (*weak_of)(void*))
{
	tl_mem_enter_scope();
	const tl_ref weak = weak_of(tl_mem_new(64));
	measure(state, [weak] {
		benchmark::DoNotOptimize(tl_weak_get(weak));
		tl_ref_release(weak);
	});
	tl_mem_exit_scope();
}

void weak(benchmark::State& state) { upgrade(state, tl_weak_of); }
BENCH("count/own/tl-weak-shared") { upgrade(state, tl_weak_share); }

// A struct of malloc's that a scope has adopted.
void foreign(benchmark::State& state)
{
	tl_mem_enter_scope();
	void* object = std::malloc(64);
	tl_mem_register_struct(object);
	count_runtime(state, object);
	tl_mem_exit_scope();
}

// An object of another thread that is alive and idle all the time: the counter is the shared, atomic word.
void* object_of_another_thread()
{
	static std::promise<void*> made;
	static void* object = [] {
		std::thread([] {
			made.set_value(tl_mem_new(64));
			std::promise<void>().get_future().wait();
		}).detach();
		return made.get_future().get();
	}();
	return object;
}

BENCH_THREADED("count/shared/tl") { count_runtime(state, object_of_another_thread()); }

// Held by us alone: the scope that it was made in has ended.
tl_tensor* new_tensor()
{
	const int64_t shape[2] = {64, 64};
	tl_mem_enter_scope();
	tl_tensor* made = tl_tensor_acquire(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape));
	tl_mem_exit_scope();
	return made;
}

void count_tensor(benchmark::State& state, tl_tensor* tensor)
{
	measure(state, [tensor] {
		tl_tensor_acquire(tensor);
		tl_tensor_release(tensor);
	});
}

void tensor(benchmark::State& state)
{
	tl_tensor* own = new_tensor();
	count_tensor(state, own);
	tl_tensor_release(own);
}

BENCH_THREADED("count/shared/tl-tensor")
{
	static tl_tensor* shared = new_tensor();
	count_tensor(state, shared);
}

BENCH_THREADED("count/own/floor-plain")
{
	int count = 1;
	measure(state, [&count] {
		floor_plain_acquire(&count);
		floor_plain_release(&count);
	});
}

void count_atomic(benchmark::State& state, int* count)
{
	measure(state, [count] {
		floor_atomic_acquire(count);
		floor_atomic_release(count);
	});
}

BENCH_THREADED("count/own/floor-atomic")
{
	alignas(64) int count = 1;
	count_atomic(state, &count);
}

BENCH_THREADED("count/shared/floor-atomic")
{
	alignas(64) static int count = 1;
	count_atomic(state, &count);
}

void count_checked(benchmark::State& state, int* count)
{
	measure(state, [count] {
		floor_checked_acquire(count);
		floor_checked_release(count);
	});
}

BENCH_THREADED("count/own/floor-checked")
{
	alignas(64) int count = 1;
	count_checked(state, &count);
}

BENCH_THREADED("count/shared/floor-checked")
{
	alignas(64) static int count = 1;
	count_checked(state, &count);
}

template <class Pointer>
void copy_pointer(benchmark::State& state, const Pointer& pointer)
{
	measure(state, [&pointer] {
		Pointer copy(pointer);
		benchmark::DoNotOptimize(copy);
	});
}

void shared_ptr(benchmark::State& state) { copy_pointer(state, std::make_shared<int>(1)); }

BENCH_THREADED("count/shared/std::shared_ptr")
{
	static const auto pointer = std::make_shared<int>(1);
	copy_pointer(state, pointer);
}

void weak_ptr(benchmark::State& state)
{
	const auto owner = std::make_shared<int>(1);
	const std::weak_ptr<int> weak = owner;
	measure(state, [&weak] { benchmark::DoNotOptimize(weak.lock()); });
}

void add_boost()
{
#ifdef BENCH_BOOST
	struct Object : boost::intrusive_ref_counter<Object, boost::thread_safe_counter> {};
	add_threaded("count/own/boost::intrusive_ptr",
	             [](benchmark::State& state) { copy_pointer(state, boost::intrusive_ptr<Object>(new Object)); });
#else
	skip("boost::intrusive_ptr", "no Boost headers");
#endif
}

void add_glib()
{
#ifdef BENCH_GLIB
	add_threaded("count/own/glib", [](benchmark::State& state) {
		void* box = g_atomic_rc_box_alloc(64);
		measure(state, [box] {
			g_atomic_rc_box_acquire(box);
			g_atomic_rc_box_release(box);
		});
		g_atomic_rc_box_release(box);
	});
#else
	skip("GLib", "no glib-2.0");
#endif
}

void add_talloc()
{
#ifdef BENCH_TALLOC
	add_threaded("count/own/talloc", [](benchmark::State& state) {
		void *context = talloc_new(nullptr), *owner = talloc_new(nullptr);
		void* object = talloc_size(owner, 64);
		measure(state, [context, object] {
			benchmark::DoNotOptimize(talloc_reference(context, object));
			talloc_unlink(context, object);
		});
		talloc_free(context);
		talloc_free(owner);
	});
#else
	skip("talloc", "no libtalloc");
#endif
}

} // namespace

void register_all()
{
	add_threaded("count/own/tl", owner);
	add_threaded("count/own/tl-unbiased", unbiased);
	add_threaded("count/own/tl-tensor", tensor);
	add("count/own/tl-floating", floating);
	add("count/own/tl-foreign", foreign);
	add("count/own/tl-weak", weak);
	add("count/own/std::weak_ptr", weak_ptr);
	add_threaded("count/own/std::shared_ptr", shared_ptr);
	add_boost();
	add_glib();
	add_talloc();
	// One object in everybody's hands: with two threads its cache line travels.
}

} // namespace bench
