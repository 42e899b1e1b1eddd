/* DLPack: tensors that are exported, taken in again, and lent by another library, which is
 * this program. */
#include <stdlib.h>
#include <string.h>

#include "dl.h"
#include "model.h"

enum { PACKETS = 10 };

/* What was exported: the struct holds the tensor, or a copy of its own. */
typedef struct packet {
	DLManagedTensorVersioned* now; /* one of the two */
	DLManagedTensor* before;
	item* of; /* NULL: a copy */
	shape s;
} packet;

static packet packets[2][PACKETS];

/* The structs are plain objects that nobody else knows, the copies tensors. */
static void hide(bool copied, int64_t n)
{
	__atomic_add_fetch(&model.hidden[PLAIN], n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&model.hidden[TENSOR], copied ? n : 0, __ATOMIC_RELAXED);
}

static void check_struct(world* w, const DLTensor* t, const shape* s)
{
	want_pointer(w, t->data, s->data, "data");
	want_int(w, t->ndim, s->rank, "ndim");
	want_int(w, t->dtype.bits, 8 * (int64_t)dtype_bytes(s->dtype), "bits");
	want_int(w, t->dtype.lanes, 1, "lanes");
	want_int(w, t->device.device_type, kDLCPU, "device_type");
	want_int(w, (int64_t)t->byte_offset, 0, "byte_offset");
	for (int64_t i = 0; i < s->rank; i++) {
		want_int(w, t->shape[i], s->dims[i], "an extent");
		if (s->dims[i] > 1 && s->numel > 0) want_int(w, t->strides[i], s->strides[i], "a stride");
	}
}

static packet* empty_packet(world* w)
{
	packet* p = &packets[w->number][draw(w, PACKETS)];
	return p->now == NULL && p->before == NULL ? p : NULL;
}

static unsigned export_set(const operand* o, unsigned set, bool copy, bool legacy)
{
	if (!is_tensor(o)) return set;
	if ((o->it->kind == STACK && !copy) || (legacy && !copy && (o->it->shape->flags & TL_TENSOR_FLAG_READ_ONLY)))
		return S(TL_E_UNSUPPORTED);
	return GOOD;
}

static void exports(world* w)
{
	unsigned set;
	operand o = draw_tensor(w, &set);
	packet *p = empty_packet(w), new = {0};
	bool copy = chance(w, 25), legacy = chance(w, 40);
	if (p == NULL || (is_tensor(&o) && o.it->kind == TENSOR && !may_hold(o.it))) return;
	note(w, "tl_tensor_to_dlpack%s(%s, %d)", legacy ? "_legacy" : "", o.name, copy);
	if (legacy) new.before = tl_tensor_to_dlpack_legacy((tl_tensor*)o.at, copy);
	else new.now = tl_tensor_to_dlpack((tl_tensor*)o.at, copy);
	if (want_memory_last(w, export_set(&o, set, copy, legacy)) != TL_OK || o.at == NULL) {
		want_true(w, new.now == NULL&& new.before == NULL, "no struct");
		return;
	}
	new.s = *o.it->shape;
	if (copy) {
		tensor_rows(&new.s);
		new.s.data = legacy ? new.before->dl_tensor.data : new.now->dl_tensor.data;
		want_true(w, new.s.data != o.it->shape->data || new.s.numel == 0, "memory of its own");
	} else {
		new.of = o.it;
		retain(w, o.it);
		o.it->inside++;
	}
	check_struct(w, legacy ? &new.before->dl_tensor : &new.now->dl_tensor, &new.s);
	if (!legacy)
		want_int(w, (int64_t)new.now->flags,
		         (copy ? DL_COPIED : 0) | (!copy && (new.s.flags& TL_TENSOR_FLAG_READ_ONLY) ? DL_READ_ONLY : 0),
		         "flags");
	memory_unknown(w);
	hide(copy, 1);
	*p = new;
}

static packet* draw_packet(world* w)
{
	for (int tries = 0; tries < 5; tries++) {
		packet* p = &packets[w->number][draw(w, PACKETS)];
		if (p->now != NULL || p->before != NULL) return p;
	}
	return NULL;
}

static void end_packet(world* w, packet* p)
{
	packet was = *p;
	*p = (packet){0};
	note(w, "the deleter of an exported %s", was.of == NULL ? "copy" : name(was.of));
	if (was.now != NULL) was.now->deleter(was.now);
	else was.before->deleter(was.before);
	hide(was.of == NULL, -1);
	if (was.of == NULL) return;
	drop_ref(w, NULL, was.of);
	drain(w);
}

static void end(world* w)
{
	packet* p = draw_packet(w);
	if (p != NULL) end_packet(w, p);
}

/* The struct's reference passes to the tensor that is made of it. */
static void take_back(world* w)
{
	packet* p = draw_packet(w);
	if (p == NULL || crowded(w)) return;
	packet was = *p;
	note(w, "tl_tensor_from_dlpack of an exported %s", was.of == NULL ? "copy" : name(was.of));
	tl_tensor* t = was.now != NULL ? tl_tensor_from_dlpack(was.now) : tl_tensor_from_dlpack_legacy(was.before);
	was.s.flags =
		TL_TENSOR_FLAG_LENT | (was.now != NULL && was.of != NULL ? was.s.flags & TL_TENSOR_FLAG_READ_ONLY : 0);
	was.s.lease = NULL;
	was.s.bytes = 0;
	item* it = tensor_made(w, t, GOOD, &was.s);
	if (it == NULL) return;
	*p = (packet){0};
	it->imported = was.of == NULL ? COPY : ITSELF;
	if (was.of != NULL) {
		add_ref(it, was.of);
		was.of->inside--; /* the struct's, counted already */
	}
	tensor_check(w, it);
}

void imported_ended(const item* it)
{
	if (it->imported != NOT_IMPORTED) hide(it->imported == COPY, -1);
}

/* ---- structs of another library ------------------------------------------------------------------ */

static void ended(DLManagedTensorVersioned* self) { event_add(DELETED, ((lease*)self->manager_ctx)->id, NULL); }

static void import_foreign(world* w)
{
	shape s;
	DLManagedTensorVersioned* m;
	uint32_t major = chance(w, 90) ? 1 : 2;
	bool odd = chance(w, 10);
	if (!draw_shape(w, &s) || crowded(w)) return;
	s.dtype = TL_DTYPE_F64;
	lease* l = lend((size_t)s.numel * dtype_bytes(s.dtype) + sizeof *m + 512);
	m = l->memory;
	l->id = __atomic_add_fetch(&model.next_id, 1, __ATOMIC_RELAXED);
	*m = (DLManagedTensorVersioned){{major, 0},
	                                l,
	                                ended,
	                                chance(w, 30) ? DL_READ_ONLY : 0,
	                                {(char*)l->memory + 256,
	                                 {kDLCPU, 0},
	                                 (int32_t)s.rank,
	                                 {2, 64, 1},
	                                 s.dims,
	                                 chance(w, 50) ? s.strides : NULL,
	                                 0}};
	if (odd) m->dl_tensor.dtype.lanes = 4;
	note(w, "tl_tensor_from_dlpack(rank %" PRId64 ", version %u%s)", s.rank, major, odd ? ", lanes" : "");
	tl_tensor* t = tl_tensor_from_dlpack(m);
	s.flags = TL_TENSOR_FLAG_LENT | (m->flags & DL_READ_ONLY ? TL_TENSOR_FLAG_READ_ONLY : 0);
	s.data = s.numel > 0 ? (char*)l->memory + 256 : NULL;
	s.from = NULL;
	s.bytes = 0;
	s.lease = l;
	item* it = tensor_made(w, t, odd || major == 2 ? S(TL_E_UNSUPPORTED) : GOOD, &s);
	if (it != NULL) {
		tensor_check(w, it);
		return;
	}
	if (major == 2)
		want_true(w, event_take(w, DELETED, l->id, NULL), "the deleter of a struct that nobody understands");
	free(l->memory);
	free(l);
}

static void device(world* w)
{
	unsigned set;
	operand o = draw_tensor(w, &set);
	int32_t type = -1, ordinal = -1;
	note(w, "tl_tensor_dlpack_device(%s)", o.name);
	if (want(w, tl_tensor_dlpack_device((tl_tensor*)o.at, &type, &ordinal), set) == TL_OK)
		want_true(w, type == kDLCPU && ordinal == 0, "the CPU");
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {exports,   exports,   exports,        end,   end,
	                                        take_back, take_back, import_foreign, device};
	ONE_OF(w, steps)(w);
}

static void finish(world* w)
{
	for (int i = 0; i < PACKETS; i++) {
		packet* p = &packets[w->number][i];
		if (p->now == NULL && p->before == NULL) continue;
		end_packet(w, p);
		events_end(w);
	}
}

const family dlpack_family = {"dlpack", 5, step, NULL, finish};
