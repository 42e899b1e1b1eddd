/* The functions behind tl_device_allocator_for. Programs call them, and so does this library's own
 * memory pool from inside Go, after the entry guard: then they continue with the context that the
 * thread entered with. */
#include <stdlib.h>
#include <string.h>

#include "../base/go.h"
#include "../guard/guard.h"

enum { DEVICES = 256 };

static tl_context* enter(bool inside)
{
	tl_status why;
	return inside ? tlc_own_context() : tlc_entry_begin(TL_FN_tl_device_allocator_for, &why);
}

static void leave(bool inside, tl_context* c)
{
	if (!inside) tlc_entry_end(c);
}

static void* allocate(void* ctx, size_t bytes)
{
	bool inside = tlc_is_inside();
	tl_context* c = enter(inside);
	if (c == NULL) return NULL;
	void* block = (void*)tlentry_device_allocate((uintptr_t)c, (uintptr_t)ctx, bytes);
	leave(inside, c);
	return block;
}

static void deallocate(void* ctx, void* block, size_t bytes)
{
	bool inside = tlc_is_inside();
	tl_context* c = enter(inside);
	if (c == NULL) return;
	tlentry_device_deallocate((uintptr_t)c, (uintptr_t)ctx, (uintptr_t)block, bytes);
	leave(inside, c);
}

/* Makes the allocator of row `which`. Go calls this once for each row, with a lock held. */
const tl_device_allocator* tlc_device_allocator(uintptr_t which, const char* name, size_t alignment)
{
	static tl_device_allocator all[2 * DEVICES];
	if (which >= 2 * DEVICES) return NULL;
	all[which] = (tl_device_allocator){sizeof *all, name, alignment, (void*)which, allocate, deallocate};
	return &all[which];
}

/* Whether an allocator of a caller is one of these; its ctx then is the row. A struct that says that it is smaller may
 * end where the memory ends. */
bool tlc_device_is_own(const tl_device_allocator* a)
{
	return a->struct_size >= sizeof *a && a->allocate == allocate && a->deallocate == deallocate;
}

/* Copies a string that is never freed: the name of a device, of which there are few. Go holds a
 * lock. */
const char* tlc_device_text(const char* text, size_t length)
{
	static struct kept {
		struct kept* next;
		char text[];
	}* first;
	for (const struct kept* k = first; k != NULL; k = k->next)
		if (strlen(k->text) == length && memcmp(k->text, text, length) == 0) return k->text;
	struct kept* k = malloc(sizeof *k + length + 1);
	if (k == NULL) return "";
	memcpy(k->text, text, length);
	k->text[length] = 0;
	k->next = first;
	first = k;
	return k->text;
}
