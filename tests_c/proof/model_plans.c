/* Plans: what the solver places, looked at once more, pair by pair. */
#include <string.h>

#include "model.h"

enum { PLANS = 2, MOST_BUFFERS = 14 };

typedef struct buffer {
	size_t bytes, alignment, pin;
	int64_t first, end;
	bool pinned;
} buffer;

typedef struct plan {
	tl_plan *handle, *last;
	buffer of[MOST_BUFFERS];
	int64_t len;
	bool solved;
} plan;

static plan plans[2][PLANS];

static plan* draw_plan(world* w) { return &plans[w->number][draw(w, PLANS)]; }

static void create(world* w)
{
	plan* p = draw_plan(w);
	tl_plan* got = NULL;
	if (p->handle != NULL) return;
	note(w, "tl_plan_create()");
	if (want_memory(w, tl_plan_create(&got), GOOD) != TL_OK) return;
	*p = (plan){.handle = got, .last = p->last};
}

static void add(world* w)
{
	plan* p = draw_plan(w);
	buffer b = {(size_t)draw(w, 5000), (size_t)1 << draw(w, 9), 0, (int64_t)draw(w, 10), 0, false};
	bool odd = chance(w, 8);
	b.end = b.first + 1 + (int64_t)draw(w, 5);
	if (p->handle == NULL || p->len == MOST_BUFFERS) return;
	if (odd && chance(w, 50)) b.alignment = 48;
	else if (odd) b.end = b.first;
	note(w, "tl_plan_add_buffer(%zu, %zu, %" PRId64 ", %" PRId64 ")", b.bytes, b.alignment, b.first, b.end);
	int64_t got = tl_plan_add_buffer(p->handle, b.bytes, b.alignment, b.first, b.end);
	want_last(w, odd ? BAD_SIZE : GOOD);
	want_int(w, got, odd ? -1 : p->len, "the index");
	if (odd) return;
	p->of[p->len++] = b;
	p->solved = false;
}

static void pin(world* w)
{
	plan* p = draw_plan(w);
	if (p->handle == NULL || p->len == 0 || !chance(w, 20)) return;
	buffer* b = &p->of[draw(w, (uint64_t)p->len)];
	b->pin = 102400 + (size_t)(b - p->of) * 8192;
	b->pinned = true;
	note(w, "tl_plan_pin(%td, %zu)", b - p->of, b->pin);
	want(w, tl_plan_pin(p->handle, b - p->of, b->pin), GOOD);
	p->solved = false;
}

static bool meet(const buffer* a, const buffer* b) { return a->first < b->end && b->first < a->end; }

static void check_solution(world* w, const plan* p)
{
	size_t offsets[MOST_BUFFERS], frame = tl_plan_frame_bytes(p->handle), most = 0;
	want_last(w, GOOD);
	note(w, "tl_plan_offsets()");
	want(w, tl_plan_offsets(p->handle, offsets, NULL, (size_t)p->len), GOOD);
	for (int64_t i = 0; i < p->len; i++) {
		const buffer* a = &p->of[i];
		size_t alive = 0;
		want_true(w, offsets[i] + a->bytes <= frame && offsets[i] % a->alignment == 0,
		          "a buffer inside the frame, aligned");
		want_true(w, !a->pinned || offsets[i] == a->pin, "a pinned buffer where it has to be");
		want_int(w, (int64_t)tl_plan_offset(p->handle, i), (int64_t)offsets[i], "tl_plan_offset");
		for (int64_t k = 0; k < p->len; k++) {
			const buffer* b = &p->of[k];
			want_true(w,
			          k == i || !meet(a, b) || a->bytes == 0 || b->bytes == 0 || offsets[i] + a->bytes <= offsets[k] ||
			              offsets[k] + b->bytes <= offsets[i],
			          "no two live buffers share a byte");
			alive += b->first <= a->first && a->first < b->end ? b->bytes : 0;
		}
		most = alive > most ? alive : most;
	}
	want_true(w, tl_plan_lower_bound(p->handle) >= most && tl_plan_lower_bound(p->handle) <= frame, "the lower bound");
	note(w, "tl_plan_validate()");
	want(w, tl_plan_validate(p->handle), GOOD);
}

static void solve(world* w)
{
	plan* p = draw_plan(w);
	tl_plan_options options = {.struct_size = sizeof options, .seed = w->random, .max_steps = 200};
	if (p->handle == NULL) return;
	note(w, "tl_plan_solve(%" PRId64 " buffers)", p->len);
	want_memory(w, chance(w, 70) ? tl_plan_solve(p->handle, 0) : tl_plan_solve_with(p->handle, &options), GOOD);
	if (tl_last_status() != TL_OK) return;
	p->solved = true;
	check_solution(w, p);
}

static void ask(world* w)
{
	const plan* p = draw_plan(w);
	unsigned set = p->solved ? GOOD : BAD_SIZE;
	if (p->handle == NULL) return;
	note(w, "what the plan is");
	want_int(w, tl_plan_num_buffers(p->handle), p->len, "tl_plan_num_buffers");
	tl_plan_frame_bytes(p->handle);
	want_last(w, set);
	note(w, "tl_plan_offset out of range");
	want_true(w, tl_plan_offset(p->handle, p->len) == SIZE_MAX, "SIZE_MAX");
	want_last(w, BAD_SIZE);
}

static void no_such_plan(world* w)
{
	static const uintptr_t numbers[] = {(uintptr_t)-1, (uintptr_t)1 << 46, 0xffff};
	const plan* p = draw_plan(w);
	tl_plan* none = p->handle == NULL && p->last != NULL ? p->last : (tl_plan*)ONE_OF(w, numbers);
	note(w, "no such plan: %p", (void*)none);
	want_int(w, tl_plan_num_buffers(none), -1, "tl_plan_num_buffers");
	want_last(w, BAD_SIZE);
	note(w, "tl_plan_destroy of none");
	want(w, tl_plan_destroy(none), BAD_SIZE);
}

static void end(world* w, plan* p)
{
	if (p->handle == NULL) return;
	note(w, "tl_plan_destroy()");
	want(w, tl_plan_destroy(p->handle), GOOD);
	p->last = p->handle;
	p->handle = NULL;
	p->solved = false;
}

static void destroy(world* w)
{
	if (chance(w, 30)) end(w, draw_plan(w));
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {create, add, add, add, add, pin, solve, ask, no_such_plan, destroy};
	ONE_OF(w, steps)(w);
}

static void finish(world* w)
{
	for (int i = 0; i < PLANS; i++) end(w, &plans[w->number][i]);
}

const family plans_family = {"plans", 3, step, NULL, finish};
