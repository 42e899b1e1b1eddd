/* Memory that is refused: by the system (configuration faults), and by limits. */
#include <stdio.h>
#include <string.h>

#include "model.h"

static void both_short_of(unsigned set) { model.worlds[0].short_of = model.worlds[1].short_of = set; }

/* Free, a thread never knows what the other has just set. */
void begin_shortage(const char* configuration)
{
	model.faults = strcmp(configuration, "faults") == 0;
	model.limits = strcmp(configuration, "limits") == 0;
	if (model.faults) model.may_be_short = S(TL_E_OUT_OF_MEMORY);
	if (model.limits) model.may_be_short = S(TL_E_OUT_OF_MEMORY) | S(TL_E_LIMIT) | S(TL_E_ARENA_EXHAUSTED);
	if (model.limits || !model.turns) both_short_of(model.may_be_short);
}

static void set_faults(world* w, int64_t after)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRId64, after);
	note(w, "tl_configure(\"TL_FAIL_MEMORY\", \"%s\")", text);
	want(w, tl_configure("TL_FAIL_MEMORY", text), GOOD);
	if (model.turns) both_short_of(after < 0 ? 0 : model.may_be_short);
}

static void set_limit(world* w, bool limited)
{
	tl_mem_usage_info usage = {.struct_size = sizeof usage};
	uint64_t hard = 0;
	note(w, "tl_mem_usage()");
	want(w, tl_mem_usage(TL_MEM_TOTAL, &usage), GOOD);
	want_true(w, usage.in_use + usage.cached == usage.reserved, "in_use + cached = reserved");
	if (limited) hard = usage.reserved + draw(w, 3) * draw(w, 1 << 20);
	note(w, "tl_mem_set_limit(TL_MEM_TOTAL, 0, %" PRIu64 ")", hard);
	want(w, tl_mem_set_limit(TL_MEM_TOTAL, 0, hard), GOOD);
	memory_unknown(w);
}

/* Without a purge, what was kept would serve most requests. */
static void purge(world* w)
{
	note(w, "tl_mem_purge()");
	want(w, tl_mem_purge(), GOOD);
	memory_unknown(w);
}

static void step(world* w)
{
	static const int64_t after[] = {0, 0, 0, 1, 2, 3, 5, 8, 20};
	bool begin = chance(w, 50);
	if (!model.faults && !model.limits) return;
	if (begin && chance(w, 70)) purge(w);
	if (model.faults) set_faults(w, begin ? ONE_OF(w, after) : -1);
	else set_limit(w, begin);
}

void end_shortage(world* w)
{
	if (model.faults) set_faults(w, -1);
	if (model.limits) set_limit(w, false);
}

const family faults_family = {"shortage", 2, step, NULL, end_shortage};
