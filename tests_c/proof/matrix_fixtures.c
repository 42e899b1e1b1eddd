/* How fixtures begin and end, and which kinds of pointers a parameter gets. */
#include <stdlib.h>
#include <sys/mman.h>

#include "matrix.h"

int pointer_kind_named(const char* name)
{
	for (int i = 0; i < pointer_kind_count; i++)
		if (strcmp(pointer_kinds[i].name, name) == 0) return i;
	return -1;
}

/* Functions that believe the caller about an address get addresses that can be believed:
 * malloc's, or such as the runtime or the processor knows better. Those that measure a block
 * or free it look first whether it can be read; of NumPy's the runtime's own heap is left. A
 * deleter may know addresses of a device. */
static bool can_be_believed(const pointer_kind* kind, const matrix_function* f, const matrix_param* p)
{
	uint32_t flags = KIND_HEAP | KIND_MALLOC;
	if (strcmp(kind->name, "null") == 0) return true;
	if (p->role == MATRIX_COOKIE || (kind->flags & KIND_LOOSE)) return false;
	if (p->role != MATRIX_BLOCK) flags |= KIND_KNOWN;
	if (!is_called(f, "tl_registry_register_custom")) flags |= KIND_IMPOSSIBLE;
	if (strncmp(f->name, "tl_registry_", 12) != 0) flags |= KIND_UNREADABLE;
	return (kind->flags & flags) != 0;
}

bool kind_suits(const pointer_kind* kind, const matrix_function* f, const matrix_param* p)
{
	if (p->trusted) return can_be_believed(kind, f, p);
	if (p->role == MATRIX_MEMORY && strcmp(p->name, "to") == 0) return (kind->flags & KIND_WRITABLE) != 0;
	return true;
}

void fixture_make(fixture* f, const pointer_kind* kind)
{
	memset(f, 0, sizeof *f);
	f->kind = kind;
	kind->make(f, kind->a, kind->b);
}

void fixture_ripen(fixture* f)
{
	if (f->kind != NULL && f->kind->ripen != NULL && !f->absent) f->kind->ripen(f, f->kind->a, f->kind->b);
}

/* Whoever frees a block of malloc: the runtime once it has it, but for one with a deleter
 * of ours. */
static void drop_block(fixture* f)
{
	tl_alloc_info info = {.struct_size = sizeof info};
	bool ours = !f->taken;
	if (tl_registry_info(f->block, &info) == TL_OK && info.kind != 0) {
		ours = info.kind == TL_ALLOC_CUSTOM;
		release_all(f->block);
	}
	if (ours && !f->consumed) free(f->block);
}

/* A struct of DLPack's is a block of the heap: a call may have dropped its reference, or taken
 * more. */
static void drop_exported(fixture* f)
{
	if (f->exported != NULL && tl_ptr_check(f->exported) == TL_OK) f->exported->deleter(f->exported);
	if (f->exported_legacy != NULL && tl_ptr_check(f->exported_legacy) == TL_OK)
		f->exported_legacy->deleter(f->exported_legacy);
	release_all(f->exported);
	release_all(f->exported_legacy);
}

void fixture_drop(fixture* f)
{
	if (f->kind == NULL) return;
	drop_exported(f);
	for (int i = 0; i < FIXTURE_OWNED; i++)
		if (f->owned[i] != NULL) release_all(f->owned[i]);
	if (f->block != NULL) drop_block(f);
	if (f->cell != NULL) drop_cell(f->cell);
	if (f->aligned != NULL && tl_aligned_free(f->aligned) != TL_OK) release_all(f->aligned);
	if (f->page != NULL) munmap(f->page, f->page_bytes);
	if (f->pool != NULL) tl_memory_pool_reset(f->pool);
	if (f->pool != NULL) tl_memory_pool_destroy(f->pool);
	if (f->plan != NULL) tl_plan_destroy(f->plan);
	drop_graph(f);
	f->kind = NULL;
}
