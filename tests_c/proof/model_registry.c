/* Memory of malloc's, of the program's own, and its names: adopted, registered, shared. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* ---- what ends a block ------------------------------------------------------------------------ */

static void deleted(void* memory, void* ctx)
{
	const block* b = ctx;
	if (memory != b->memory)
		fail(here, "the deleter of block %" PRIu64 " got %p, must be %p", b->id, memory, (void*)b->memory);
	event_add(DELETED, b->id, NULL);
	free(memory);
}

/* The same by way of the library. */
static void deleted_with_a_scope(void* memory, void* ctx)
{
	if (tl_mem_enter_scope() == TL_OK) {
		tl_mem_new(64);
		tl_mem_exit_scope();
	}
	tl_clear_error();
	deleted(memory, ctx);
}

void block_leave(world* w, item* name)
{
	block* b = name->block;
	size_t i = 0;
	while (b->names[i] != name) i++;
	b->names[i] = b->names[--b->names_len];
	name->block = NULL;
	if (b->names_len > 0) return;
	if (b->tells && !event_take(w, DELETED, b->id, NULL))
		fail(w, "block %" PRIu64 " has ended, and its deleter did not run", b->id);
	if (b->tells) memory_unknown(w);
	free(b);
}

/* ---- names --------------------------------------------------------------------------------------- */

static block* new_block(char* memory, size_t bytes, tl_alloc_kind kind)
{
	block* b = calloc(1, sizeof *b);
	if (b == NULL) abort();
	*b = (block){.id = __atomic_add_fetch(&model.next_id, 1, __ATOMIC_RELAXED),
	             .memory = memory,
	             .bytes = bytes,
	             .measured = bytes,
	             .kind = kind};
	return b;
}

/* One reference at an address: of the name that is there, or of a new one. */
static item* add_name(world* w, block* b, char* at)
{
	for (size_t i = 0; i < b->names_len; i++)
		if (b->names[i]->at == at) {
			b->names[i]->count++;
			b->names[i]->life = LIVE; /* also what tl_ptr_dec_ref had brought to 0 */
			return b->names[i];
		}
	item* it = item_new(w, FOREIGN, at, at == b->memory ? b->bytes : 0);
	it->block = b;
	b->names[b->names_len++] = it;
	if (it->bytes > 0) fill(it);
	return it;
}

item* block_made(world* w, char* memory, size_t bytes)
{
	block* b = new_block(memory, bytes, TL_ALLOC_MALLOC);
	item* it = item_new(w, FOREIGN, memory, bytes);
	b->measured = malloc_usable_size(memory);
	it->block = b;
	b->names[b->names_len++] = it;
	return it;
}

static const size_t sizes[] = {32, 100, 16, 5000, 64, 24, 1024, 70000};

static char* memory_of(size_t bytes, size_t alignment)
{
	char* memory =
		alignment == 0 ? malloc(bytes) : aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
	if (memory == NULL) abort();
	return memory;
}

/* ---- registering ------------------------------------------------------------------------------------ */

static void adopt(world* w)
{
	static tl_status (*const functions[])(void*) = {tl_mem_register_struct, tl_mem_register};
	size_t bytes = ONE_OF(w, sizes);
	char* memory = memory_of(bytes, 0);
	note(w, "tl_mem_register(%zu bytes of malloc)", bytes);
	if (want_memory(w, chance(w, 30) ? tl_mem_register_struct_named(memory, "mine") : ONE_OF(w, functions)(memory),
	                GOOD) != TL_OK) {
		free(memory);
		return;
	}
	item* it = add_name(w, new_block(memory, bytes, TL_ALLOC_MALLOC), memory);
	it->adopted = true;
	it->block->measured = malloc_usable_size(memory);
	enlist_new(w, it);
}

static void registers(world* w)
{
	size_t bytes = ONE_OF(w, sizes), alignment = chance(w, 30) ? (size_t)64 << draw(w, 7) : 0;
	tl_alloc_kind kind = alignment != 0 ? TL_ALLOC_ALIGNED : TL_ALLOC_MALLOC;
	char* memory = memory_of(bytes, alignment);
	if (chance(w, 4)) kind = chance(w, 50) ? 0 : 99;
	note(w, "tl_registry_register(%zu bytes, kind %d)", bytes, kind);
	if (want_memory(w, tl_registry_register(memory, bytes, kind), kind == 0 || kind == 99 ? BAD_SIZE : GOOD) == TL_OK)
		add_name(w, new_block(memory, bytes, kind), memory);
	else free(memory);
}

static void register_custom(world* w)
{
	size_t bytes = ONE_OF(w, sizes);
	char* memory = memory_of(bytes, 0);
	block* b = new_block(memory, bytes, TL_ALLOC_CUSTOM);
	bool none = chance(w, 3);
	tl_deleter deleter = none ? NULL : chance(w, 50) ? deleted : deleted_with_a_scope;
	b->tells = true;
	note(w, "tl_registry_register_custom(%zu bytes)", bytes);
	if (want_memory(w, tl_registry_register_custom(memory, bytes, deleter, b), none ? BAD_SIZE : GOOD) == TL_OK) {
		add_name(w, b, memory);
		return;
	}
	free(memory);
	free(b);
}

static void register_buffer(world* w)
{
	size_t bytes = ONE_OF(w, sizes), n = (size_t)draw(w, 4);
	char* memory = memory_of(bytes, 0);
	bool custom = chance(w, 50), outside = n > 0 && chance(w, 5);
	block* b = new_block(memory, bytes, custom ? TL_ALLOC_CUSTOM : TL_ALLOC_MALLOC);
	void* aliases[4];
	for (size_t i = 0; i < n; i++) aliases[i] = memory + (chance(w, 20) ? 0 : draw(w, bytes));
	if (outside) aliases[n - 1] = memory + bytes;
	b->tells = custom;
	note(w, "tl_registry_register_%sbuffer(%zu bytes, %zu names)", custom ? "custom_" : "", bytes, n);
	tl_status got =
		custom ? tl_registry_register_custom_buffer(memory, bytes, aliases, n, deleted_with_a_scope, b, &b->buffer)
			   : tl_registry_register_buffer(memory, bytes, aliases, n, TL_ALLOC_MALLOC, &b->buffer);
	if (want_memory(w, got, outside ? BAD_SIZE : GOOD) != TL_OK) {
		free(memory);
		free(b);
		return;
	}
	want_true(w, b->buffer != 0, "a number");
	add_name(w, b, memory);
	for (size_t i = 0; i < n; i++) add_name(w, b, aliases[i]);
}

static bool is_buffer(const item* it) { return it->block->buffer != 0; }

static void add_alias(world* w)
{
	item* it = pick_where(w, K(FOREIGN), is_buffer);
	block* b = it == NULL ? NULL : it->block;
	bool wrong = chance(w, 10);
	if (b == NULL || b->names_len == MOST_NAMES) return;
	char* at = b->memory + (wrong ? b->bytes + 8 : draw(w, b->bytes));
	note(w, "tl_registry_add_alias(%" PRIu64 ", +%td)", b->buffer, at - b->memory);
	if (want_memory(w, tl_registry_add_alias(b->buffer, at), wrong ? BAD_SIZE : GOOD) == TL_OK) add_name(w, b, at);
}

static void new_array(world* w)
{
	size_t count = (size_t)draw(w, 40), each = ONE_OF(w, sizes);
	bool too_many = chance(w, 4);
	if (too_many) count = SIZE_MAX / 2;
	note(w, "tl_registry_new_array(%zu, %zu)", count, each);
	char* memory = tl_registry_new_array(count, each);
	if (want_memory_last(w, too_many ? BAD_SIZE : GOOD) != TL_OK || count == 0) {
		want_pointer(w, memory, NULL, "the result");
		return;
	}
	want_true(w, memory != NULL && (uintptr_t)memory % 64 == 0, "64-byte alignment");
	add_name(w, new_block(memory, count * each, TL_ALLOC_ALIGNED), memory);
}

static void register_many(world* w)
{
	enum { MOST = 5 };
	size_t n = (size_t)draw(w, MOST + 1), bytes[MOST];
	void* pointers[MOST];
	bool twice = n > 1 && chance(w, 20);
	for (size_t i = 0; i < n; i++) pointers[i] = memory_of(bytes[i] = ONE_OF(w, sizes), 0);
	if (twice) {
		free(pointers[n - 1]);
		pointers[n - 1] = pointers[0];
	}
	note(w, "tl_registry_register_many(%zu%s)", n, twice ? ", one of them twice" : "");
	tl_status got = tl_registry_register_many(pointers, bytes, n, TL_ALLOC_MALLOC);
	got = want_memory(w, got, twice ? S(TL_E_ALREADY_REGISTERED) : GOOD);
	for (size_t i = 0; i < n - twice; i++) {
		if (got == TL_OK) add_name(w, new_block(pointers[i], bytes[i], TL_ALLOC_MALLOC), pointers[i]);
		else free(pointers[i]);
	}
}

/* ---- what cannot be registered -------------------------------------------------------------------------- */

static void register_refused(world* w)
{
	operand o = draw_operand(w, COUNTED | K(STACK));
	unsigned set = S(TL_E_UNSUPPORTED) | BAD_SIZE;
	if (o.at == NULL) set = GOOD;
	else if (o.host || (o.it != NULL && (o.it->life != LIVE || o.it->returned))) return;
	else if (o.it != NULL && o.it->kind == FOREIGN) set = S(TL_E_ALREADY_REGISTERED);
	else if (o.unknown) set = BAD_SIZE;
	note(w, "tl_registry_register(%s)", o.name);
	want(w, tl_registry_register(o.at, 16, TL_ALLOC_MALLOC), set);
}

/* ---- asking and giving back -------------------------------------------------------------------------------- */

static operand draw_foreign(world* w)
{
	item* it = chance(w, 85) ? pick(w, K(FOREIGN)) : NULL;
	return it != NULL ? operand_of(it) : draw_operand(w, COUNTED | K(STACK));
}

static bool is_name(const operand* o) { return o->it != NULL && o->it->life == LIVE && o->it->kind == FOREIGN; }

static void unregister(world* w)
{
	operand o = draw_foreign(w);
	unsigned set = is_name(&o) || o.at == NULL ? GOOD : S(TL_E_UNKNOWN_POINTER);
	if (is_name(&o) && (!may_drop(o.it) || o.it->returned)) return;
	if (o.it != NULL && o.it->life == ZERO) set |= S(TL_E_NOT_LIVE);
	note(w, "tl_registry_unregister(%s)", o.name);
	if (want(w, tl_registry_unregister(o.at), set) == TL_OK && is_name(&o)) release(w, o.it);
}

/* Also when all of so many pointers are this one. */
static bool may_drop_all(const item* it, size_t n)
{
	return it->count > 3 && (it->inside == 0 || it->count - (int64_t)n >= (int64_t)it->inside + it->listed);
}

static void unregister_many(world* w)
{
	void* pointers[3];
	operand of[3];
	size_t n = 1 + (size_t)draw(w, 3), dropped = 0;
	for (size_t i = 0; i < n; i++) {
		of[i] = draw_foreign(w);
		pointers[i] = of[i].at;
		if ((of[i].it != NULL && of[i].it->life == ZERO) ||
		    (is_name(&of[i]) && (!may_drop_all(of[i].it, n) || of[i].it->returned)))
			return;
		dropped += is_name(&of[i]) || of[i].at == NULL; /* NULL is passed over, and no refusal */
	}
	note(w, "tl_registry_unregister_many(%zu)", n);
	want_int(w, (int64_t)tl_registry_unregister_many(pointers, n), (int64_t)dropped, "the number");
	want_last(w, GOOD | S(TL_E_UNKNOWN_POINTER));
	for (size_t i = 0; i < n; i++)
		if (is_name(&of[i])) release(w, of[i].it);
}

static void info(world* w)
{
	operand o = draw_foreign(w);
	tl_alloc_info now = {.struct_size = sizeof now};
	unsigned set = is_name(&o) || o.at == NULL ? GOOD : S(TL_E_UNKNOWN_POINTER) | S(TL_E_UNSUPPORTED);
	const block* b = is_name(&o) ? o.it->block : NULL;
	uint64_t sum = 0;
	if (o.it != NULL && (o.it->life == ZERO || o.it->returned)) return;
	note(w, "tl_registry_info(%s)", o.name);
	want(w, tl_registry_info(o.at, &now), set);
	want_int(w, tl_registry_is_registered(o.at), b != NULL, "tl_registry_is_registered");
	if (b == NULL || b->workspace) return;
	for (size_t i = 0; i < b->names_len; i++) sum += (uint64_t)b->names[i]->count;
	want_pointer(w, now.block, b->memory, "block");
	want_int(w, (int64_t)now.bytes, (int64_t)b->measured, "bytes");
	want_int(w, (int64_t)now.count, o.it->count, "count");
	want_int(w, (int64_t)now.block_count, (int64_t)sum, "block_count");
	want_int(w, (int64_t)now.addresses, (int64_t)b->names_len, "addresses");
	want_int(w, (int64_t)now.buffer_id, (int64_t)b->buffer, "buffer_id");
	want_int(w, now.kind, b->kind, "kind");
}

/* What unregister has handed back may be freed by the host. */
static bool is_hosts(const item* it) { return it->returned && it->count == 1 && it->listed == 0 && it->inside == 0; }

static void host_free(world* w)
{
	item* it = pick_where(w, K(FOREIGN), is_hosts);
	if (it == NULL) return;
	note(w, "free(%s)", name(it));
	host_freed(it->at);
	free(it->at);
	it->count = it->floats = 0;
	die(w, it);
	drain(w);
}

/* ---- aligned memory that nobody owns --------------------------------------------------------------------------- */

static void aligned(world* w)
{
	size_t bytes = ONE_OF(w, sizes), alignment = (size_t)1 << draw(w, 14);
	bool odd = chance(w, 5);
	note(w, "tl_aligned_alloc(%zu, %zu)", bytes, odd ? (size_t)48 : alignment);
	char* memory = tl_aligned_alloc(bytes, odd ? 48 : alignment);
	if (want_memory_last(w, odd ? BAD_SIZE : GOOD) != TL_OK) return;
	want_true(w, memory != NULL && (uintptr_t)memory % alignment == 0, "alignment");
	memset(memory, 1, bytes);
	if (chance(w, 50)) {
		note(w, "tl_registry_register of it");
		if (want_memory(w, tl_registry_register(memory, bytes, TL_ALLOC_ALIGNED), GOOD) == TL_OK) {
			add_name(w, new_block(memory, bytes, TL_ALLOC_ALIGNED), memory);
			note(w, "tl_aligned_free of what is registered");
			want(w, tl_aligned_free(memory), S(TL_E_UNKNOWN_POINTER));
			return;
		}
	}
	note(w, "tl_registry_unregister of what is not registered");
	want(w, tl_registry_unregister(memory), S(TL_E_NOT_LIVE));
	note(w, "tl_aligned_free()");
	want(w, tl_aligned_free(memory), GOOD);
}

static void aligned_free_refused(world* w)
{
	operand o = draw_operand(w, COUNTED | K(STACK));
	if (o.it != NULL && o.it->life == ZERO) return;
	note(w, "tl_aligned_free(%s)", o.name);
	want(w, tl_aligned_free(o.at), o.at == NULL ? GOOD : S(TL_E_UNKNOWN_POINTER));
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {adopt,
	                                        adopt,
	                                        registers,
	                                        register_custom,
	                                        register_custom,
	                                        register_buffer,
	                                        register_buffer,
	                                        add_alias,
	                                        new_array,
	                                        register_many,
	                                        register_refused,
	                                        unregister,
	                                        unregister,
	                                        unregister,
	                                        unregister_many,
	                                        info,
	                                        info,
	                                        host_free,
	                                        aligned,
	                                        aligned_free_refused};
	size_t i = (size_t)draw(w, sizeof steps / sizeof *steps);
	if (i > 9 || !crowded(w)) steps[i](w);
}

const family registry_family = {"registry", 12, step, NULL, NULL};
