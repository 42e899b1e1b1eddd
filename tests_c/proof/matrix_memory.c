/* Fixtures that the runtime did not make: numbers, the program's memory, malloc, what
 * is registered. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "matrix.h"

void make_number(fixture* f, intptr_t value, intptr_t unused)
{
	(void)unused;
	f->pointer = (void*)value;
}

static char writable_memory[256] __attribute__((aligned(64)));
static const char constant_memory[256] __attribute__((aligned(64))) = "constant";
static _Thread_local char local_memory[256] __attribute__((aligned(64)));

void make_static(fixture* f, intptr_t which, intptr_t offset)
{
	extern char** environ;
	char here = 0;
	const void* places[] = {
		writable_memory,
		constant_memory,
		local_memory,
		&here,
		(void*)(uintptr_t)make_static,
		(void*)(uintptr_t)tl_version,
		(void*)(uintptr_t)malloc,
		stdout,
		environ[0],
		tl_version(),
		f,
	};
	/* An address that is compared by nobody else, also where it lies on this stack. */
	f->pointer = (void*)((uintptr_t)places[which] + (uintptr_t)offset);
}

/* Pages: 0 writable, 1 read-only, 2 without access, 3 unmapped, 4 written and given back. */
void make_mapped(fixture* f, intptr_t which, intptr_t offset)
{
	static const int access[] = {PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE};
	enum { PAGES = 3 * 4096 };
	char* page = mmap(NULL, PAGES, access[which], MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	f->absent = page == MAP_FAILED;
	if (f->absent) return;
	/* What follows the page is never there. */
	mprotect(page + 4096, PAGES - 4096, PROT_NONE);
	if (which == 3) mprotect(page, 4096, PROT_NONE);
	if (which == 4) madvise(page, 4096, MADV_DONTNEED);
	f->page = page;
	f->page_bytes = PAGES;
	f->pointer = page + offset;
}

/* The largest mappings without a file, largest first: heap, records, contexts, Go's memory. */
enum { MAPPINGS = 16 };
static struct mapping {
	uintptr_t start, end;
} mappings[MAPPINGS];

static void keep_mapping(struct mapping m)
{
	for (int i = 0; i < MAPPINGS; i++)
		if (m.end - m.start > mappings[i].end - mappings[i].start) {
			struct mapping smaller = mappings[i];
			mappings[i] = m;
			m = smaller;
		}
}

static void read_mappings(void)
{
	char line[512], access[8], path[2];
	FILE* maps = fopen("/proc/self/maps", "re");
	while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
		struct mapping m;
		int fields = sscanf(line, "%zx-%zx %7s %*s %*s %*s %1s", &m.start, &m.end, access, path);
		if (fields == 3) keep_mapping(m);
	}
	if (maps != NULL) fclose(maps);
}

void make_mapping(fixture* f, intptr_t which, intptr_t offset)
{
	if (mappings[0].start == 0) read_mappings();
	f->absent = mappings[which].start == 0;
	f->pointer = (void*)((offset < 0 ? mappings[which].end : mappings[which].start) + (uintptr_t)offset);
}

void make_malloc(fixture* f, intptr_t bytes, intptr_t offset)
{
	f->block = malloc((size_t)bytes);
	memset(f->block, 0x5A, (size_t)bytes);
	f->pointer = (char*)f->block + offset;
}

/* Freed when all fixtures are made, so that none of them has its memory. */
void make_freed(fixture* f, intptr_t bytes, intptr_t offset) { make_malloc(f, bytes, offset); }

void ripen_freed(fixture* f, intptr_t bytes, intptr_t offset)
{
	(void)bytes;
	(void)offset;
	free(f->block);
	f->block = NULL;
}

/* ---- registered -------------------------------------------------------------------------- */

static void keep(void* ptr, void* ctx)
{
	(void)ptr;
	(void)ctx;
}

static void* adopted(size_t bytes)
{
	void* block = malloc(bytes);
	if (tl_mem_register_struct(block) == TL_OK) return block;
	free(block);
	return NULL;
}

static void* registered(size_t bytes)
{
	void* block = malloc(bytes);
	if (tl_registry_register(block, bytes, TL_ALLOC_MALLOC) == TL_OK) return block;
	free(block);
	return NULL;
}

static void* with_deleter(void)
{
	return tl_registry_register_custom(writable_memory + 128, 64, keep, NULL) == TL_OK ? writable_memory + 128 : NULL;
}

static void* adopt_there_result;
static void adopt_there(void* bytes) { adopt_there_result = registered((size_t)(uintptr_t)bytes); }

/* A buffer with two names: its own, and one inside it. */
static void make_buffer(fixture* f, bool alias, intptr_t offset)
{
	char* block = malloc(256);
	void* names[1] = {block + 64};
	f->absent = tl_registry_register_buffer(block, 256, names, 1, TL_ALLOC_MALLOC, NULL) != TL_OK;
	if (f->absent) free(block);
	if (f->absent) return;
	f->owned[0] = block;
	f->owned[1] = names[0];
	f->object = alias ? names[0] : block;
	f->pointer = (char*)f->object + offset;
}

static void* in_state(intptr_t which)
{
	void* block = registered(64);
	if (block == NULL) return NULL;
	if (which == 6) tl_ptr_acquire(block);
	if (which == 7) tl_ptr_dec_ref(block);
	if (which == 8) tl_mem_register_ptr(block);
	return block;
}

/* Offsets at or beyond the end are those of a block whose neighbour is not registered. */
void make_registered(fixture* f, intptr_t which, intptr_t offset)
{
	void* block = NULL;
	switch (which) {
	case 0: block = adopted(256); break;
	case 1: block = registered(256); break;
	case 2: block = registered(300000); break;
	case 3: block = with_deleter(); break;
	case 4: make_buffer(f, false, offset); return;
	case 5: make_buffer(f, true, offset); return;
	case 6:
	case 7:
	case 8: block = in_state(which); break;
	case 9: block = tl_registry_new_array(16, 16); break;
	case 10:
		elsewhere(adopt_there, (void*)(uintptr_t)256);
		block = adopt_there_result;
		break;
	case 11:
		block = adopted(64);
		tl_mem_unregister(block);
		break;
	default:
		f->aligned = tl_aligned_alloc(256, 64);
		f->absent = f->aligned == NULL;
		f->pointer = (char*)f->aligned + offset;
		return;
	}
	f->absent = block == NULL;
	f->object = f->owned[0] = block;
	f->pointer = (char*)block + offset;
}

/* The larger ones are shared. */
void make_cell(fixture* f, intptr_t bytes, intptr_t offset)
{
	f->cell = tl_cell_new((size_t)bytes);
	f->absent = f->cell == NULL;
	if (bytes > 1000) tl_cell_share(f->cell);
	f->pointer = (char*)f->cell + offset;
}

/* 0: its field is NULL; else a cell of the same type, whose field is one without, both shared with it in the case 2. */
void make_typed_cell(fixture* f, intptr_t of, intptr_t offset)
{
	void** cell = tl_cell_new_typed(world_type);
	f->cell = cell;
	f->absent = cell == NULL;
	f->pointer = (char*)cell + offset;
	if (of == 0 || cell == NULL) return;
	void** child = cell[0] = tl_cell_new_typed(world_type);
	if (child != NULL) child[0] = tl_cell_new(40);
	if (of == 2) tl_cell_share(cell);
}

/* Drops as many references as a call can have made. */
void drop_cell(void* cell)
{
	for (int i = 0; i < 4 && !tl_cell_is_unique(cell); i++) tl_cell_drop(cell);
	tl_cell_free(cell);
}

void ripen_cell(fixture* f, intptr_t bytes, intptr_t offset)
{
	(void)bytes;
	(void)offset;
	tl_cell_free(f->cell);
	f->cell = NULL;
}

void make_numpy(fixture* f, intptr_t bytes, intptr_t offset)
{
	void* block = tl_numpy_malloc(NULL, (size_t)bytes);
	f->absent = block == NULL;
	f->object = f->owned[0] = block;
	f->pointer = (char*)block + offset;
}

void ripen_numpy(fixture* f, intptr_t bytes, intptr_t offset)
{
	(void)bytes;
	(void)offset;
	tl_numpy_free(NULL, f->owned[0], 0);
	f->object = f->owned[0] = NULL;
}
