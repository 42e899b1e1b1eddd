/* TL_ON_ERROR: what is written of failures, what is an answer and no failure, and how the process ends; and what TL_DEBUG tells of misuse. */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void fail_nowhere(void) { tl_mem_free(tl_mem_alloc(8)); }

/* What docs/options.md calls answers. */
static void ask(void)
{
	void* p = tl_mem_alloc(8);
	tl_mem_function_enter(0);
	if (tl_mem_unregister(p) != TL_E_NOT_REGISTERED) _exit(97);
	tl_mem_function_exit();
	tl_mem_free(p);
	if (tl_ptr_check(p) != TL_E_NOT_LIVE || tl_ptr_check((void*)16) != TL_E_UNKNOWN_POINTER) _exit(97);
	tl_ref r = tl_ref_of(p = tl_mem_alloc(8));
	tl_mem_free(p);
	if (tl_ref_check(r) != TL_E_NOT_LIVE) _exit(97);
}

static void fail_once(void) { tl_ptr_release((void*)16); }

/* The child writes its line and keeps its status; the parent's failures are its own. */
static void fail_in_a_child(void)
{
	fail_nowhere();
	const pid_t child = fork();
	if (child == 0) {
		if (tl_ptr_release((void*)16) == TL_OK) _exit(98);
		exit(3);
	}
	int status = 0;
	if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3) _exit(97);
}

/* What was written under `log` is written once more before the process aborts. */
static void abort_later(void)
{
	fail_once();
	tl_configure("TL_ON_ERROR", "abort");
	fail_once();
}

static void fail_often(void)
{
	void* p = tl_mem_alloc(8);
	tl_mem_free(p);
	for (int i = 0; i < 1811; i++) tl_ptr_release(p);
}

static void release_twice_often(void)
{
	for (int i = 0; i < 1000; i++) {
		void* p = tl_mem_alloc(8);
		tl_mem_free(p);
		tl_mem_free(p);
	}
}

static void fail_differently(void)
{
	for (uintptr_t i = 1; i <= 100; i++) tl_ptr_release((void*)(i * 16));
	tl_mem_exit_scope();
}

static void leak_and_fail(void)
{
	tl_mem_alloc(8);
	fail_once();
}

static void overrun(void) { ((volatile char*)tl_mem_alloc(40))[40] = 1; }

/* ---- what TL_DEBUG tells of references and scopes --------------------------------------- */

typedef struct node {
	int64_t value;
	void* next;
} node;

static const char* node_name = "Node";

static node* make_node(void)
{
	static tl_type type;
	const size_t references[] = {offsetof(node, next)};
	const tl_type_desc description = {
		.name = node_name, .size = sizeof(node), .pointer_offsets = references, .num_pointers = 1};
	if (type == 0 && tl_type_define(&description, &type) != TL_OK) _exit(97);
	return tl_object_new(type);
}

OWN_FRAME static void enter(void)
{
	tl_mem_enter_scope();
	__asm__ volatile("" ::: "memory"); /* no tail call: the frame is looked for */
}

OWN_FRAME static void leave(void)
{
	tl_mem_exit_scope();
	__asm__ volatile("" ::: "memory");
}

/* What correct programs do: guards, an exit of everything that a function has opened, unwinding, fields that are taken
 * over, emptied, or refer to the object itself. */
OWN_FRAME static void unwind(int64_t depth) { tl_mem_exit_scopes_to(depth); }

static void do_right(void)
{
	enter();
	tl_mem_function_enter(0);
	tl_mem_enter_scope();
	node *a = make_node(), *b = make_node();
	a->next = tl_ptr_acquire(b);
	b->next = NULL;
	void* vec = tl_vec_new(1);
	tl_vec_push(vec, a);
	tl_mem_function_exit();
	const int64_t depth = tl_get_scope_depth();
	tl_mem_enter_scope();
	tl_mem_frame_enter(64);
	unwind(depth);
	node* ring = make_node();
	ring->next = tl_ptr_acquire(ring);
	leave();
	if (tl_mem_collect_cycles() != 1) _exit(97);
}

static void store_without_acquire(void)
{
	for (int i = 0; i < 100; i++) {
		tl_mem_enter_scope();
		node* a = make_node();
		a->next = make_node();
		tl_mem_exit_scope();
	}
}

static void store_from_arena(void)
{
	tl_mem_enter_scope();
	tl_arena_init(0);
	make_node()->next = tl_arena_alloc(16);
	tl_mem_exit_scope();
}

static void store_a_cell(void)
{
	void* cell = tl_cell_new(16);
	tl_mem_enter_scope();
	make_node()->next = cell;
	tl_mem_exit_scope();
	tl_cell_free(cell);
}

static void store_in_a_struct_named_vec(void)
{
	node_name = "Vec";
	store_from_arena();
}

static void release_of_the_scope(void)
{
	tl_mem_enter_scope();
	tl_ptr_release(tl_mem_new(8));
	tl_mem_exit_scope();
}

OWN_FRAME static void exit_once_more(void)
{
	tl_mem_function_enter(0);
	tl_mem_function_exit();
	tl_mem_function_exit();
}

static void exit_too_many(void)
{
	tl_mem_function_enter(0);
	exit_once_more();
	__asm__ volatile("" ::: "memory");
}

static void* leave_open(void* nothing)
{
	tl_mem_function_enter(0);
	tl_mem_enter_scope();
	return nothing;
}

static void read_what_is_freed(void)
{
	tl_mem_enter_scope();
	node* a = make_node();
	tl_mem_exit_scope();
	tl_ptr_release(*(void* volatile*)&a->next);
}

static void open_scopes(void) { leave_open(NULL); }
static void end_threads(void)
{
	pthread_t thread;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread, NULL, leave_open, NULL) == 0) pthread_join(thread, NULL);
}
static void exit_in_wrong_order(void)
{
	tl_mem_function_enter(0);
	tl_mem_exit_scope();
	tl_mem_function_exit();
}

static void keep_a_dead_cell(void)
{
	const size_t at = 0;
	tl_type pair;
	CHECK_OK(
		tl_type_define(&(tl_type_desc){.name = "pair", .size = 24, .pointer_offsets = &at, .num_pointers = 1}, &pair));
	void **holder = tl_cell_new_typed(pair), *dead = tl_cell_new(40);
	CHECK(tl_cell_drop(dead));
	CHECK_OK(tl_cell_free(dead));
	*holder = dead;
	CHECK(tl_cell_drop(holder));
	CHECK_OK(tl_cell_free(holder));
}

static const struct ending {
	const char* name;
	void (*body)(void);
	const char* options;
	int status, lines;
	const char* shows;
} endings[] = {
	{"nowhere", fail_nowhere, "TL_ON_ERROR=fail", 0, 0, NULL},
	{"ask", ask, "TL_ON_ERROR=log", 0, 0, NULL},
	{"ask", ask, "TL_ON_ERROR=abort", 0, 0, NULL},
	{"ask", ask, "TL_ON_ERROR=fail", 0, 0, NULL},
	{"once", fail_once, "TL_ON_ERROR=ignore", 0, 0, NULL},
	{"once", fail_once, "TL_ON_ERROR=log", 0, 1, "TL_E_UNKNOWN_POINTER: 0x10 "},
	{"once", fail_once, "TL_ON_ERROR=abort", 128 + SIGABRT, 1, "TL_E_UNKNOWN_POINTER: 0x10 "},
	{"later", abort_later, "TL_ON_ERROR=log", 128 + SIGABRT, 2, "TL_E_UNKNOWN_POINTER: 0x10 "},
	{"once", fail_once, "TL_ON_ERROR=fail", 24, 1, "TL_E_UNKNOWN_POINTER: 0x10 "},
	{"child", fail_in_a_child, "TL_ON_ERROR=fail", 0, 1, "tl_ptr_release: "},
	{"often", fail_often, "TL_ON_ERROR=log", 0, 2, "tl_ptr_release: not live: released already: 1810 more times\n"},
	{"double", release_twice_often, "TL_DEBUG=1 TL_ON_ERROR=log", 0, 2, "not live: released already: 999 more times\n"},
	{"different", fail_differently, "TL_ON_ERROR=fail", 24, 10, ": 92 more times\n"},
	{"leak", leak_and_fail, "TL_LEAK_CHECK=fail TL_ON_ERROR=log", 23, 1, "SUMMARY: LeakSanitizer"},
	{"leak", leak_and_fail, "TL_LEAK_CHECK=fail TL_ON_ERROR=fail", 24, 1, "SUMMARY: LeakSanitizer"},
	{"right", do_right, "TL_DEBUG=1 TL_ON_ERROR=fail TL_LEAK_CHECK=fail", 0, 0, NULL},
	{"dead-cell", keep_a_dead_cell, "TL_DEBUG=1 TL_ON_ERROR=fail", 24, 1,
     ", a cell of pair that ends here, was released before"},
	{"field", store_without_acquire, "TL_DEBUG=1", 0, 2,
     "tl_runtime: 99 more times by the same code: tl_mem_exit_scope: 0x"},
	{"field", store_without_acquire, "TL_DEBUG=1 TL_ON_ERROR=fail", 24, 2,
     ", a Node that ends here, was released before, by somebody "},
	{"field", store_without_acquire, "TL_DEBUG=1 TL_ON_ERROR=abort", 128 + SIGABRT, 2, "\n  released at\n    #0 0x"},
	{"arena", store_from_arena, "TL_DEBUG=1", 0, 1, ", a Node that ends here, is memory of an arena or a frame"},
	{"cell", store_a_cell, "TL_DEBUG=1", 0, 1, ", a Node that ends here, is the inside of an object, or a cell"},
	{"vec", store_in_a_struct_named_vec, "TL_DEBUG=1", 0, 1,
     ", a Vec that ends here, is memory of an arena or a frame"},
	{"entry", release_of_the_scope, "TL_DEBUG=1 TL_ON_ERROR=fail", 24, 1,
     ": this scope holds a reference of it, which was "},
	{"poison", read_what_is_freed, "TL_DEBUG=1 TL_ON_ERROR=fail", 24, 1,
     ": 0xdddddddddddddddd was read from freed memory"},
	{"caller", exit_too_many, "TL_DEBUG=1 TL_ON_ERROR=fail", 24, 1,
     "tl_mem_function_exit: the function that was left here "},
	{"open", open_scopes, "TL_LEAK_CHECK=fail", 0, 1, "2 scopes or frames are open at the end of the process; "},
	{"open", open_scopes, "TL_LEAK_CHECK=fail TL_DEBUG=1", 0, 1, " the newest is a scope, entered at\n    #0 0x"},
	{"threads", end_threads, "TL_LEAK_CHECK=fail", 23, 1, "4 scopes or frames were open when their threads ended; "},
	{"order", exit_in_wrong_order, "TL_DEBUG=1 TL_ON_ERROR=log", 0, 1, "\n  entered at\n    #0 0x"},
	{"damage", overrun, "TL_DEBUG=1 TL_ON_ERROR=fail", 24, 1, "byte 0 behind its 40 bytes"},
};

static void end_as(const char* self, const struct ending* e)
{
	static char output[1 << 16];
	char command[512];
	snprintf(command, sizeof command, "%s %s %s 2>&1; exit $?", e->options, self, e->name);
	FILE* pipe = popen(command, "r");
	size_t n = fread(output, 1, sizeof output - 1, pipe);
	output[n] = 0;
	CHECK_INT(WEXITSTATUS(pclose(pipe)), e->status);
	int lines = 0;
	for (const char* at = output; (at = strstr(at, "tl_runtime: ")) != NULL; at++) lines++;
	CHECK_INT(lines, e->lines);
	CHECK(e->shows == NULL || strstr(output, e->shows) != NULL);
	if (lines != e->lines) fprintf(stderr, "%s %s:\n%s\n", e->options, e->name, output);
}

static int calls;

static void listen(tl_status status, const char* message, void* ctx)
{
	(void)status, (void)message, (void)ctx;
	calls++;
}

/* The callback hears of everything. */
static void the_callback_is_told_of_answers_and_of_equal_failures(void)
{
	CHECK_OK(tl_set_error_callback(listen, NULL));
	for (int i = 0; i < 20; i++) CHECK_STATUS(tl_ptr_check((void*)16), TL_E_UNKNOWN_POINTER);
	for (int i = 0; i < 20; i++) CHECK_STATUS(tl_ptr_release((void*)16), TL_E_UNKNOWN_POINTER);
	CHECK_INT(calls, 40);
	CHECK_OK(tl_set_error_callback(NULL, NULL));
}

int main(int count, char** arguments)
{
	for (size_t i = 0; count > 1 && i < sizeof endings / sizeof *endings; i++) {
		if (strcmp(arguments[1], endings[i].name) != 0) continue;
		endings[i].body();
		return 0;
	}
	if (count > 1) return 2; /* and does not begin anew */
	RUN(the_callback_is_told_of_answers_and_of_equal_failures);
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) end_as(arguments[0], &endings[i]);
	return check_finish();
}
