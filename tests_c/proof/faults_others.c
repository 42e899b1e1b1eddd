/* Plans, tracking and what is written, and other threads. */
#include <unistd.h>

#include "faults.h"
#include "thread.h"

/* ---- plans --------------------------------------------------------------------------------- */

static tl_plan* plan;

static bool create_plan(void) { return ok(tl_plan_create(&plan)); }
static void destroy_plan(void) { CHECK_OK(tl_plan_destroy(plan)); }
static void make_plan(void)
{
	CHECK(create_plan());
	for (int64_t i = 0; i < 40; i++) CHECK_INT(tl_plan_add_buffer(plan, (size_t)(100 + i * 37), 32, i, i + 5), i);
}

static bool add_buffer(void) { return tl_plan_add_buffer(plan, 4096, 64, 0, 9) == 40; }

static bool add_buffers(void)
{
	static const tl_plan_buffer more[2] = {{100, 8, 0, 1}, {200, 8, 1, 2}};
	return tl_plan_add_buffers(plan, more, 2) == 40;
}

static bool solve(void) { return ok(tl_plan_solve(plan, 0)); }
static void solve_first(void)
{
	make_plan();
	CHECK(solve());
}

static bool validate(void) { return ok(tl_plan_validate(plan)); }

static bool solve_with(void)
{
	const tl_plan_options options = {.struct_size = sizeof options, .seed = 7, .max_steps = 1000};
	return ok(tl_plan_solve_with(plan, &options));
}

static bool add_gap(void) { return ok(tl_plan_add_gap(plan, 3, 4, 6)); }
static bool set_name(void) { return ok(tl_plan_set_name(plan, 3, "weights of the layer")); }
static bool add_space(void) { return tl_plan_add_space(plan, 1 << 20) >= 0; }
static void make_space(void)
{
	make_plan();
	CHECK(add_space());
}

static bool set_spaces(void)
{
	const int64_t spaces[1] = {0};
	return ok(tl_plan_set_spaces(plan, 3, spaces, 1));
}

static const step plans[] = {
	{.name = "tl_plan_create", .call = create_plan, .undo = destroy_plan},
	{.name = "tl_plan_add_buffer", .call = add_buffer, .before = make_plan, .finally = destroy_plan},
	{.name = "tl_plan_add_buffers", .call = add_buffers, .before = make_plan, .finally = destroy_plan},
	{.name = "tl_plan_solve", .call = solve, .before = make_plan, .finally = destroy_plan},
	{.name = "tl_plan_solve_with", .call = solve_with, .before = make_plan, .finally = destroy_plan},
	{.name = "tl_plan_add_gap", .call = add_gap, .before = make_plan, .finally = destroy_plan},
	{.name = "tl_plan_set_name", .call = set_name, .before = make_plan, .finally = destroy_plan},
	{.name = "tl_plan_add_space", .call = add_space, .before = make_plan, .finally = destroy_plan},
	{.name = "tl_plan_set_spaces", .call = set_spaces, .before = make_space, .finally = destroy_plan},
	{.name = "tl_plan_validate", .call = validate, .before = solve_first, .finally = destroy_plan},
};
const steps plan_steps = {plans, sizeof plans / sizeof *plans};

/* ---- tracking and files ---------------------------------------------------------------------- */

static bool push_tag(void) { return ok(tl_tag_push("a tag")); }
static bool leak_report(void) { return tl_leak_report("/dev/null") >= 0; }
static bool leak_report_since(void) { return tl_leak_report_since("/dev/null", 1) >= 0; }
static bool leak_report_except(void)
{
	void* held[] = {NULL, NULL};
	return tl_leak_report_except("/dev/null", UINT64_MAX, held, 2) >= 0;
}
static size_t holds_nothing(void* ctx, void* const** out_held)
{
	(void)ctx;
	*out_held = NULL;
	return 0;
}
static bool leak_report_asking(void)
{
	return tl_leak_report_asking("/dev/null", UINT64_MAX, holds_nothing, NULL) >= 0;
}
static bool profile(void) { return ok(tl_profile_write("/dev/null")); }
static bool snapshot_file(void) { return ok(tl_snapshot_write("/dev/null")); }

static const char* trace_file(void)
{
	static char name[64];
	if (name[0] == 0) snprintf(name, sizeof name, "/tmp/faults.%d.json", (int)getpid());
	return name;
}

static bool start_trace(void) { return ok(tl_trace_start(trace_file())); }
static void stop_trace(void) { CHECK_OK(tl_trace_stop()); }
static void begin_trace(void) { CHECK(start_trace()); }
static bool end_trace(void) { return ok(tl_trace_stop()); } /* the trace ends in any case */
static void remove_trace(void) { unlink(trace_file()); }
static bool print_stats(void) { return ok(tl_stats_print("/dev/null")); }
static bool registry_statistics(void) { return ok(tl_registry_print_statistics("/dev/null")); }
static bool json(void) { return tl_stats_json(NULL, 0) > 0; }
static bool openmetrics(void) { return tl_stats_openmetrics(NULL, 0) > 0; }

/* Records of what is tracked are memory of the runtime, too: without it nothing is recorded,
 * and nothing fails for it. */
static void track(void) { CHECK_OK(tl_configure("TL_TRACK", "1")); }
static void no_track(void) { CHECK_OK(tl_configure("TL_TRACK", "0")); }

static bool tracked_object(void) { return tl_mem_new(40) != NULL; }

static const step tracking[] = {
	{.name = "tl_tag_push", .call = push_tag},
	{.name = "tl_leak_report", .call = leak_report},
	{.name = "tl_leak_report_since", .call = leak_report_since, .before = track, .finally = no_track},
	{.name = "tl_leak_report_except", .call = leak_report_except},
	{.name = "tl_leak_report_asking", .call = leak_report_asking},
	{.name = "tl_profile_write", .call = profile},
	{.name = "tl_snapshot_write", .call = snapshot_file},
	{.name = "tl_trace_start", .call = start_trace, .undo = stop_trace, .finally = remove_trace},
	{.name = "tl_trace_stop", .call = end_trace, .before = begin_trace, .finally = remove_trace},
	{.name = "tl_stats_print", .call = print_stats},
	{.name = "tl_registry_print_statistics", .call = registry_statistics},
	{.name = "tl_stats_json", .call = json},
	{.name = "tl_stats_openmetrics", .call = openmetrics},
	{.name = "tl_mem_new", .call = tracked_object, .before = track, .finally = no_track},
};
const steps tracking_steps = {tracking, sizeof tracking / sizeof *tracking};

/* ---- other threads ----------------------------------------------------------------------------- */

static void* shared_object;

/* What a thread was told is its own; here it is the call's. */
static void note_status(tl_status status)
{
	refusal.status = status;
	snprintf(refusal.text, sizeof refusal.text, "%s", tl_last_error());
}

static void* release_there(void* object)
{
	note_status(tl_ptr_release(object));
	return NULL;
}

THREAD(work_there, nothing)
{
	void* object = tl_mem_alloc(64);
	note_status(tl_last_status());
	if (object != NULL) CHECK_OK(tl_ptr_release(object));
}

static bool of_another(void* (*body)(void*), void* argument)
{
	run_thread(body, argument);
	return refusal.status == TL_OK;
}

static void make_object(void) { shared_object = tl_mem_alloc(64); }

/* The last reference, dropped by a thread that is not the owner, who finds it in its inbox. */
static bool release_elsewhere(void)
{
	if (!of_another(release_there, shared_object)) return false;
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
	return true;
}

static bool first_call_of_a_thread(void) { return of_another(work_there, NULL); }

static const step threads[] = {
	{.name = "tl_ptr_release", .call = release_elsewhere, .before = make_object, .not_in = "malloc threads marks"},
	{.name = "tl_mem_alloc", .call = first_call_of_a_thread, .not_in = "malloc threads"},
};
const steps thread_steps = {threads, sizeof threads / sizeof *threads};
