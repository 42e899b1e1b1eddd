/* The library, loaded with RTLD_DEEPBIND into a program that has a malloc of its own (small_malloc.h): it sees the C
 * library's functions first, and has to use the program's. The program is not linked with the library. */
#include "small_malloc.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static void* library;
static int failures;

#define CHECK(condition)                                                              \
	do {                                                                              \
		if (!(condition)) {                                                           \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			failures++;                                                               \
		}                                                                             \
	} while (0)

/* The functions of the library that are called here. */
static int32_t (*enter_scope)(void);
static int32_t (*exit_scope)(void);
static int32_t (*register_struct)(void*);
static int32_t (*register_block)(void*, size_t, int32_t);
static int32_t (*unregister_block)(void*);
static void* (*aligned)(size_t, size_t);
static int32_t (*free_aligned)(void*);
static void* (*numpy_malloc)(void*, size_t);
static void* (*numpy_realloc)(void*, void*, size_t);
static void (*numpy_free)(void*, void*, size_t);

static bool load(void)
{
	library = dlopen(TL_RUNTIME_FILE, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	if (library == NULL) return false;
	CHECK(dlerror() == NULL); /* the library looks functions up that are not there */
	*(void**)&enter_scope = dlsym(library, "tl_mem_enter_scope");
	*(void**)&exit_scope = dlsym(library, "tl_mem_exit_scope");
	*(void**)&register_struct = dlsym(library, "tl_mem_register_struct");
	*(void**)&register_block = dlsym(library, "tl_registry_register");
	*(void**)&unregister_block = dlsym(library, "tl_registry_unregister");
	*(void**)&aligned = dlsym(library, "tl_aligned_alloc");
	*(void**)&free_aligned = dlsym(library, "tl_aligned_free");
	*(void**)&numpy_malloc = dlsym(library, "tl_numpy_malloc");
	*(void**)&numpy_realloc = dlsym(library, "tl_numpy_realloc");
	*(void**)&numpy_free = dlsym(library, "tl_numpy_free");
	return true;
}

static void scopes_free_by_the_programs_function(void)
{
	enum { BLOCKS = 200 };
	void* blocks[BLOCKS];
	for (size_t bytes = 1; bytes < 30000; bytes = bytes * 3 + 1) {
		CHECK(enter_scope() == 0);
		for (int i = 0; i < BLOCKS; i++) CHECK(register_struct(blocks[i] = malloc(bytes)) == 0);
		CHECK(exit_scope() == 0);
		for (int i = 0; i < BLOCKS; i++) CHECK(!small_is_live(blocks[i]));
	}
}

static void kinds_free_by_the_programs_function(void)
{
	void *block = malloc(100), *other = aligned_alloc(64, 128), *third = aligned(100, 256);
	CHECK(register_block(block, 100, 1) == 0 && unregister_block(block) == 0 && !small_is_live(block));
	CHECK(register_block(other, 128, 4) == 0 && unregister_block(other) == 0 && !small_is_live(other));
	CHECK(third != NULL && free_aligned(third) == 0);
}

static void numpy_resizes_and_frees_the_programs_blocks(void)
{
	void *block = malloc(8), *moved = numpy_realloc(NULL, block, 1000);
	CHECK(moved != NULL && small_is_live(moved) && !small_is_live(block));
	numpy_free(NULL, moved, 1000);
	CHECK(!small_is_live(moved));
}

/* There is no C++ here: the function that would free memory of new is not found. */
static void a_search_leaves_no_message(void)
{
	static char block[16];
	CHECK(register_block(block, 16, 3) != 0);
	CHECK(dlerror() == NULL);
}

static void a_child_allocates_with_the_programs_function(void)
{
	int status = -1;
	pid_t child = fork();
	if (child == 0) {
		void* block = numpy_malloc(NULL, 1 << 20);
		_exit(block != NULL && small_is_live(block) ? 0 : 1);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
	if (!load()) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	scopes_free_by_the_programs_function();
	kinds_free_by_the_programs_function();
	numpy_resizes_and_frees_the_programs_blocks();
	a_search_leaves_no_message();
	a_child_allocates_with_the_programs_function();
	printf("%d failures\n", failures);
	return failures != 0;
}
