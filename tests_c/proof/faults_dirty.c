/* Memory that was used before, and heaps and stacks that are full but for a little. */
#include "faults.h"

enum { CLASSES = 72, EACH = 12, HELD = 40 };

/* The largest request of size class i, from 0: 32 bytes to 64 KiB. */
static size_t class_bytes(int i)
{
	if (i < 16) return (size_t)(i + 1) * 32;
	int step = (i - 16) / 8, eighth = (i - 16) % 8;
	return (size_t)(8 + eighth + 1) << (6 + step);
}

/* Fills memory with pointers to what is live, beginning with another one each time: they
 * come to stand where references of a type, a Vec's table and a tensor's header will be. */
static void fill_with_pointers(void* memory, size_t bytes)
{
	static unsigned from;
	void** words = memory;
	from++;
	for (size_t i = 0; i < bytes / sizeof(void*); i++) words[i] = live[(from + i) % LIVE];
}

static void* dirty_object(size_t bytes)
{
	void* object = tl_mem_alloc(bytes);
	if (object != NULL) fill_with_pointers(object, bytes);
	return object;
}

void dirty(void)
{
	static void* objects[CLASSES * EACH + 4];
	int count = 0;
	for (int class = 0; class < CLASSES; class ++)
		for (int i = 0; i < (class < 40 ? EACH : 2); i++) objects[count++] = dirty_object(class_bytes(class));
	for (int i = 0; i < 4; i++) objects[count++] = dirty_object((size_t)100000 * (size_t)(i + 1));
	while (count-- > 0)
		if (objects[count] != NULL) CHECK_OK(tl_ptr_release(objects[count]));
}

/* ---- a full heap ------------------------------------------------------------------------- */

/* What is taken of a size; the last size is that of large objects. */
static struct {
	void** of;
	int count, room;
} taken[CLASSES + 1];

static size_t size_of(int i) { return i < CLASSES ? class_bytes(i) : 65537; }

static void keep(int i, void* object)
{
	if (taken[i].count == taken[i].room) {
		taken[i].room = taken[i].room * 2 + 64;
		taken[i].of = realloc(taken[i].of, (size_t)taken[i].room * sizeof(void*));
		if (taken[i].of == NULL) abort();
	}
	taken[i].of[taken[i].count++] = object;
}

static void take_all(int i, size_t bytes)
{
	void* object;
	while ((object = tl_mem_alloc(bytes)) != NULL) keep(i, object);
}

void heap_fill(void (*refuse)(void))
{
	for (int i = 0; i <= CLASSES; i++)
		for (int n = 0; n < HELD; n++) keep(i, tl_mem_alloc(size_of(i)));
	refuse();
	for (size_t spans = 64; spans > 1; spans--) take_all(CLASSES, spans << 16);
	heap_retake();
}

void heap_spare(int each)
{
	for (int i = 0; i <= CLASSES; i++)
		for (int n = 0; n < each && taken[i].count > 0; n++) {
			void* object = taken[i].of[--taken[i].count];
			fill_with_pointers(object, size_of(i));
			CHECK_OK(tl_ptr_release(object));
		}
}

void heap_retake(void)
{
	for (int i = CLASSES; i >= 0; i--) take_all(i, size_of(i));
	tl_clear_error();
}

void heap_release(void)
{
	for (int i = 0; i <= CLASSES; i++) {
		while (taken[i].count > 0) CHECK_OK(tl_ptr_release(taken[i].of[--taken[i].count]));
		free(taken[i].of);
		taken[i].of = NULL;
		taken[i].room = 0;
	}
}

/* ---- full stacks ------------------------------------------------------------------------- */

static struct {
	stack which;
	int64_t depth; /* before */
	void* object;
	int entries, frames;
} full;

static void fill_entries(int spare)
{
	full.object = tl_mem_new(64);
	while (tl_mem_register(full.object) == TL_OK) full.entries++;
	for (; spare > 0 && full.entries > 0; spare--, full.entries--) {
		CHECK_OK(tl_mem_unregister(full.object));
		CHECK_OK(tl_ptr_release(full.object));
	}
}

static void fill_frames(int spare)
{
	for (size_t bytes = 1 << 20; bytes >= 64; bytes /= 2)
		while (tl_mem_frame_enter(bytes) != NULL) full.frames++;
	for (; spare > 0 && full.frames > 0; spare--, full.frames--) CHECK_OK(tl_mem_frame_exit());
}

void stack_fill(stack which, int spare)
{
	memset(&full, 0, sizeof full);
	full.which = which;
	full.depth = tl_get_scope_depth();
	CHECK_OK(tl_mem_enter_scope());
	if (which == SCOPE_ENTRIES) fill_entries(spare);
	if (which == FRAMES) fill_frames(spare);
	if (which == MARKS) {
		while (tl_mem_enter_scope() == TL_OK) {}
		CHECK_OK(tl_mem_exit_scopes_to(tl_get_scope_depth() - spare));
	}
	tl_clear_error();
}

void stack_release(void) { CHECK_OK(tl_mem_exit_scopes_to(full.depth)); }
