/* Tracking: tags, what is known of an allocation, the checks of TL_DEBUG, and traces. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model.h"

/* ---- tags ------------------------------------------------------------------------------------ */

static void push_tag(world* w)
{
	static const char* const names[] = {"epoch", "load", "x", "epoch", NULL, ""};
	const char* name = ONE_OF(w, names);
	bool good = name != NULL && *name != '\0';
	note(w, "tl_tag_push(%s)", name == NULL ? "NULL" : name);
	if (want_memory(w, tl_tag_push(name), !good ? BAD_SIZE : w->tags_len == MAX_TAGS ? S(TL_E_LIMIT) : GOOD) == TL_OK)
		snprintf(w->tags[w->tags_len++], sizeof w->tags[0], "%s", name);
}

static void pop_tag(world* w)
{
	note(w, "tl_tag_pop()");
	if (want(w, tl_tag_pop(), w->tags_len == 0 ? S(TL_E_SCOPE_UNDERFLOW) : GOOD) != TL_OK) return;
	w->tags_len--;
	for (int i = 0; i < w->marks_len; i++) /* one that is pushed next belongs to the newest */
		if (w->marks[i].tags > w->tags_len) w->marks[i].tags = w->tags_len;
}

/* All of them, outermost first. */
static void tag_text(const world* w, char* text, size_t room)
{
	size_t n = 0;
	*text = '\0';
	for (int i = 0; i < w->tags_len; i++) n += (size_t)snprintf(text + n, room - n, i == 0 ? "%s" : "/%s", w->tags[i]);
}

/* ---- what is known of an allocation ------------------------------------------------------------ */

/* What is short of memory, or allowed to be, may go unrecorded; of samples, too, it is not foretold which are taken. */
static bool is_recorded(world* w, const tl_alloc_info* now)
{
	if (model.sampling) return now->number != 0;
	if (!model.tracking) want_int(w, (int64_t)now->number, 0, "the number, without tracking");
	else if (model.may_be_short == 0) want_true(w, now->number != 0, "an allocation that was recorded");
	return now->number != 0;
}

static void made_with_tags(world* w)
{
	static const char file[] = "model.tl";
	tl_alloc_info now = {.struct_size = sizeof now};
	uint64_t before = *tl_track_count();
	char text[MAX_TAGS * sizeof w->tags[0]];
	if (crowded(w)) return;
	note(w, "tl_mem_new(64), to see what is recorded");
	item* it = made(w, PLAIN, tl_mem_new(64), 64, GOOD);
	if (it == NULL) return;
	enlist_new(w, it);
	fill(it);
	note(w, "tl_track_site(%s)", name(it));
	want_pointer(w, tl_track_site(it->at, file, (uint32_t)w->steps), it->at, "the result");
	note(w, "tl_mem_allocation_info(%s), which is new", name(it));
	want(w, tl_mem_allocation_info(it->at, &now), GOOD);
	if (!is_recorded(w, &now)) return;
	tag_text(w, text, sizeof text);
	want_true(w, now.number > before && now.number <= *tl_track_count(), "the number of the recording");
	want_true(w, strcmp(now.tag == NULL ? "" : now.tag, text) == 0, "the tag");
	if (model.may_be_short == 0)
		want_true(w, now.file != NULL && strcmp(now.file, file) == 0 && now.line == (uint32_t)w->steps, "the site");
}

static unsigned info_set(const operand* o)
{
	if (o->it != NULL && o->it->kind == STACK) return S(TL_E_UNSUPPORTED);
	return o->refusal;
}

static void info(world* w)
{
	operand o = draw_operand(w, COUNTED | K(STACK));
	tl_alloc_info now = {.struct_size = sizeof now};
	if (o.it != NULL && (o.it->life != LIVE || o.it->returned)) return;
	note(w, "tl_mem_allocation_info(%s)", o.name);
	if (want(w, tl_mem_allocation_info(o.at, &now), info_set(&o)) != TL_OK || o.it == NULL) return;
	if (!o.it->immortal) want_int(w, (int64_t)now.count, o.it->count, "the count");
	if (o.it->kind == FOREIGN) return;
	want_int(w, now.kind, 0, "the kind");
	want_pointer(w, now.block, o.it->at, "the block");
	if (o.it->kind == PLAIN || o.it->kind == TYPED) want_true(w, now.bytes >= o.it->bytes, "the bytes");
}

/* ---- checks and marks ---------------------------------------------------------------------------- */

/* What the other thread works on would not be looked at. */
static void check_all(world* w)
{
	if (!chance(w, 10)) return;
	note(w, "tl_mem_check_all()");
	want_int(w, tl_mem_check_all(), model.debug ? 0 : -1, "how many slots are damaged");
	want_last(w, model.debug ? GOOD : S(TL_E_UNSUPPORTED));
}

static void mark_trace(world* w)
{
	static const char* const names[] = {"step", "step", "", NULL};
	const char* name = ONE_OF(w, names);
	note(w, "tl_trace_mark(%s)", name == NULL ? "NULL" : name);
	want(w, tl_trace_mark(name), name == NULL || *name == '\0' ? BAD_SIZE : GOOD);
}

/* ---- a trace of all of it -------------------------------------------------------------------------- */

static char trace_path[256];

/* Before the first call of the library, which reads TL_TRACE. */
void begin_tracking(const char* configuration)
{
	const char* folder = getenv("TMPDIR");
	model.tracing = strcmp(configuration, "trace") == 0;
	if (model.tracing) {
		snprintf(trace_path, sizeof trace_path, "%s/tl-model-%ld.json", folder == NULL ? "/tmp" : folder,
		         (long)getpid());
		setenv("TL_TRACE", trace_path, 1);
	}
	model.tracking = model.tracing || model.debug ||
	                 (getenv("TL_TRACK") != NULL && strcmp(getenv("TL_TRACK"), "1") == 0); /* TL_DEBUG records, too */
	model.sampling = !model.tracking && getenv("TL_TRACK_SAMPLE") != NULL;
}

/* The file has to say that nothing of the trace is missing. Blanks behind the number leave room for a larger one. */
void end_tracking(world* w)
{
	static const char whole[] = "\"complete\":true,\"dropped\":0 ";
	char end[64] = "";
	if (!model.tracing) return;
	note(w, "tl_trace_stop()");
	want(w, tl_trace_stop(), GOOD);
	FILE* file = fopen(trace_path, "rb");
	want_true(w,
	          file != NULL && fseek(file, -(long)(sizeof end - 1), SEEK_END) == 0 &&
	              fread(end, 1, sizeof end - 1, file) == sizeof end - 1,
	          "a trace");
	fclose(file);
	want_true(w, strstr(end, whole) != NULL, "a trace that is complete");
	remove(trace_path);
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {push_tag, push_tag, pop_tag,    made_with_tags, made_with_tags,
	                                        info,     info,     mark_trace, check_all};
	ONE_OF(w, steps)(w);
}

/* Scopes have taken theirs; these were pushed outside of all. */
static void finish(world* w)
{
	while (w->tags_len > 0) pop_tag(w);
}

const family tracking_family = {"tracking", 5, step, NULL, finish};
