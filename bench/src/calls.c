/* One hot operation, N times: `calls NAME N`. Instructions at N and at 2N give those of one; start-up cancels. */
#include <stdlib.h>
#include <string.h>
#include <tl_runtime.h>

#define OPERATION __attribute__((noinline, noclone)) static void

/* The loop alone, to be taken off the others. */
OPERATION op_loop(long n) {
	for (long i = 0; i < n; i++) __asm__ volatile("" ::: "memory");
}

OPERATION op_acquire_release(long n) {
	tl_mem_enter_scope();
	void* object = tl_mem_new(64);
	for (long i = 0; i < n; i++) {
		tl_ptr_acquire(object);
		tl_ptr_release(object);
	}
	tl_mem_exit_scope();
}

OPERATION op_acquire_release_unbiased(long n) {
	tl_mem_enter_scope();
	void* object = tl_mem_new(64);
	tl_ptr_share(object);
	for (long i = 0; i < n; i++) {
		tl_ptr_acquire(object);
		tl_ptr_release(object);
	}
	tl_mem_exit_scope();
}

OPERATION op_check(long n) {
	void* object = tl_mem_alloc(64);
	for (long i = 0; i < n; i++) tl_ptr_check(object);
	tl_ptr_release(object);
}

OPERATION op_scope(long n) {
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		tl_mem_exit_scope();
	}
}

OPERATION op_scope_of_8(long n) {
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		for (int k = 0; k < 8; k++) tl_mem_new(64);
		tl_mem_exit_scope();
	}
}

OPERATION op_alloc_release(long n) {
	for (long i = 0; i < n; i++) tl_ptr_release(tl_mem_alloc(64));
}

OPERATION op_alloc_free(long n) {
	for (long i = 0; i < n; i++) tl_mem_free(tl_mem_alloc(64));
}

OPERATION op_malloc_free(long n) {
	void* (*volatile allocate)(size_t) = malloc;
	for (long i = 0; i < n; i++) free(allocate(64));
}

OPERATION op_malloc_of_8(long n) {
	void* (*volatile allocate)(size_t) = malloc;
	for (long i = 0; i < n; i++) {
		void* objects[8];
		for (int k = 0; k < 8; k++) objects[k] = allocate(64);
		for (int k = 8; k-- > 0;) free(objects[k]);
	}
}

OPERATION op_unregister_register(long n) {
	tl_mem_enter_scope();
	void* object = tl_mem_new(64);
	for (long i = 0; i < n; i++) {
		tl_mem_unregister(object);
		tl_mem_register_struct(object);
	}
	tl_mem_exit_scope();
}

OPERATION op_malloc_register_struct(long n) {
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		tl_mem_register_struct(malloc(64));
		tl_mem_exit_scope();
	}
}

OPERATION op_function(long n) {
	for (long i = 0; i < n; i++) {
		tl_mem_function_enter(0);
		tl_mem_function_exit();
	}
}

OPERATION op_function_4_slots(long n) {
	for (long i = 0; i < n; i++) {
		tl_mem_function_enter(4);
		for (int slot = 0; slot < 4; slot++) tl_mem_get_buffer(slot, 256);
		tl_mem_function_exit();
	}
}

OPERATION op_planned_frame(long n) {
	for (long i = 0; i < n; i++) {
		tl_mem_frame_enter(512);
		tl_mem_frame_exit();
	}
}

OPERATION op_arena_alloc_8(long n) {
	tl_arena_init(1 << 16);
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		for (int k = 0; k < 8; k++) tl_arena_alloc(64);
		tl_mem_exit_scope();
	}
	tl_arena_free();
}

OPERATION op_tensor_acquire_release(long n) {
	const int64_t shape[2] = {64, 64};
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	for (long i = 0; i < n; i++) {
		tl_tensor_acquire(tensor);
		tl_tensor_release(tensor);
	}
	tl_tensor_free(tensor);
}

OPERATION op_tensor_empty_free(long n) {
	const int64_t shape[2] = {64, 64};
	for (long i = 0; i < n; i++) tl_tensor_free(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape));
}

OPERATION op_tensor_in_slot(long n) {
	const int64_t shape[2] = {64, 64};
	for (long i = 0; i < n; i++) {
		tl_mem_function_enter(1);
		tl_tensor_in_slot(0, TL_DTYPE_F32, 2, shape);
		tl_mem_function_exit();
	}
}

static const struct {
	const char* name;
	void (*run)(long n);
} operations[] = {
#define NAMED(name) {#name, op_##name}
	NAMED(loop), NAMED(acquire_release), NAMED(acquire_release_unbiased), NAMED(check), NAMED(scope),
	NAMED(scope_of_8), NAMED(alloc_release), NAMED(alloc_free), NAMED(malloc_free), NAMED(malloc_of_8),
	NAMED(unregister_register), NAMED(malloc_register_struct), NAMED(function), NAMED(function_4_slots),
	NAMED(planned_frame), NAMED(arena_alloc_8), NAMED(tensor_acquire_release), NAMED(tensor_empty_free),
	NAMED(tensor_in_slot),
#undef NAMED
};

int main(int argc, char** argv) {
	if (argc != 3 || tl_init() != TL_OK) return 2;
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (strcmp(operations[i].name, argv[1]) == 0) return operations[i].run(atol(argv[2])), 0;
	return 2;
}
