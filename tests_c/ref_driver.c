/* Random calls on references, drawn from a seed: `ref_driver SEED STEPS` prints what each call has answered, on two
 * threads that take turns, for references to live objects and to objects whose memory has belonged to others since. A
 * model of the counts says what the answer has to be. tests_go/paths compares the lines of both paths. */
#include <inttypes.h>

#include "check.h"
#include "thread.h"

enum { OBJECTS = 40, STALE = 200, KINDS = 4 };

/* An object: the owner's count, that of the others, and whether they have become one. */
typedef struct object {
	void* p;
	tl_ref ref;
	int owner, own, others;
	bool merged;
} object;

static object objects[OBJECTS]; /* p is NULL: none */
static tl_ref stale[STALE];
static uint64_t state, number_of_stale;
static tl_type node_type;

static uint64_t draw(uint64_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % below;
}

/* ---- one call on one of the threads --------------------------------------------------- */

typedef enum name { MAKE, ACQUIRE, RELEASE, RELEASE_POINTER, GET, CHECK_IT, WEAK, SHARE, OF, POLL, NAMES } name;
static const char* const names[NAMES] = {"make",  "acquire",  "release",    "ptr_release", "get",
                                         "check", "weak_get", "weak_share", "ref_of",      "poll"};

typedef struct call {
	name name;
	uint64_t argument; /* a reference, an address, or a kind */
	uint64_t result;
	tl_status status;
} call;

/* An object with one reference, which no scope holds. */
static void* make(uint64_t kind)
{
	static const int64_t shape[] = {5, 7};
	tl_mem_enter_scope();
	void* made = kind == 0   ? tl_mem_new(64)
	             : kind == 1 ? tl_object_new(node_type)
	             : kind == 2 ? tl_vec_new(2)
	                         : (void*)tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	tl_ptr_acquire(made);
	tl_mem_exit_scope();
	return made;
}

static void make_call(call* c)
{
	void* p = (void*)(uintptr_t)c->argument;
	tl_clear_error();
	switch (c->name) {
	case MAKE: c->result = (uintptr_t)make(c->argument); break;
	case ACQUIRE: c->result = tl_ref_acquire(c->argument); break;
	case RELEASE: c->result = (uint64_t)tl_ref_release(c->argument); break;
	case RELEASE_POINTER: c->result = (uint64_t)tl_ptr_release(p); break;
	case GET: c->result = (uintptr_t)tl_ref_get(c->argument); break;
	case CHECK_IT: c->result = (uint64_t)tl_ref_check(c->argument); break;
	case WEAK: c->result = (uintptr_t)tl_weak_get(c->argument); break;
	case SHARE: c->result = tl_weak_share(p); break;
	case OF: c->result = tl_ref_of(p); break;
	default: tl_mem_enter_scope(), tl_mem_exit_scope();
	}
	c->status = tl_last_status();
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static call* for_second; /* guarded by lock; NULL: done */

static void* second_thread(void* unused)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (for_second == NULL) pthread_cond_wait(&changed, &lock);
		make_call(for_second);
		for_second = NULL;
		pthread_cond_broadcast(&changed);
	}
	return unused;
}

static call run(int thread, name name, uint64_t argument)
{
	static bool started;
	call c = {.name = name, .argument = argument};
	if (thread == 0) {
		make_call(&c);
		return c;
	}
	if (!started) start_thread(second_thread, NULL);
	started = true;
	pthread_mutex_lock(&lock);
	for_second = &c;
	pthread_cond_broadcast(&changed);
	while (for_second != NULL) pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return c;
}

/* ---- the model ---------------------------------------------------------------------------- */

static void expect(call c, uint64_t result, tl_status status)
{
	if (c.result == result && c.status == status) return;
	fprintf(stderr, "%s of %" PRIx64 ": %" PRIx64 " and %d, want %" PRIx64 " and %d\n", names[c.name], c.argument,
	        c.result, c.status, result, status);
	exit(3);
}

static void ended(object* o)
{
	stale[number_of_stale++ % STALE] = o->ref;
	o->p = NULL;
}

static void merge(object* o)
{
	o->others += o->own;
	o->own = 0;
	o->merged = true;
	if (o->others == 0) ended(o);
}

static void count_one(object* o, int thread)
{
	if (!o->merged && o->owner == thread) o->own++;
	else o->others++;
}

/* The owner looks at what others have left to it at once. */
static void drop_one(object* o, int thread)
{
	if (!o->merged && o->owner == thread) {
		if (--o->own == 0) merge(o);
	} else if (o->others > 0) {
		if (--o->others == 0 && o->merged) ended(o);
	} else {
		run(o->owner, POLL, 0);
		o->own--;
		merge(o);
	}
}

static void on_object(object* o, int thread)
{
	const name name = (enum name)(ACQUIRE + draw(POLL - ACQUIRE));
	const bool by_pointer = name == RELEASE_POINTER || name == SHARE || name == OF;
	const bool counts = o->merged || o->owner == thread;
	const call c = run(thread, name, by_pointer ? (uintptr_t)o->p : o->ref);
	switch (name) {
	case ACQUIRE:
		expect(c, o->ref, TL_OK);
		count_one(o, thread);
		break;
	case RELEASE:
	case RELEASE_POINTER:
		expect(c, TL_OK, TL_OK);
		drop_one(o, thread);
		break;
	case GET: expect(c, (uintptr_t)o->p, TL_OK); break;
	case WEAK:
		expect(c, counts ? (uintptr_t)o->p : 0, counts ? TL_OK : TL_E_BUSY);
		if (counts) count_one(o, thread);
		break;
	case SHARE:
		expect(c, counts ? o->ref : 0, counts ? TL_OK : TL_E_BUSY);
		if (counts && !o->merged) merge(o);
		break;
	case OF: expect(c, o->ref, TL_OK); break;
	default: expect(c, TL_OK, TL_OK);
	}
	printf("%d %s %d\n", thread, names[name], (int)c.status);
}

static void on_stale(tl_ref ref, int thread)
{
	static const name all[] = {ACQUIRE, RELEASE, GET, CHECK_IT, WEAK};
	const name name = all[draw(sizeof all / sizeof *all)];
	const call c = run(thread, name, ref);
	const bool is_status = name == RELEASE || name == CHECK_IT;
	if (ref == 0) expect(c, 0, TL_OK);
	else if (name == WEAK) expect(c, 0, TL_OK);
	else expect(c, is_status ? TL_E_NOT_LIVE : 0, TL_E_NOT_LIVE);
	printf("%d stale %s %d\n", thread, names[name], (int)c.status);
}

static void new_object(object* o, int thread)
{
	const uint64_t kind = draw(KINDS);
	const call c = run(thread, MAKE, kind);
	*o = (object){.p = (void*)(uintptr_t)c.result, .owner = thread, .own = 1};
	if (kind == KINDS - 1) o->own = 0, o->others = 1, o->merged = true;
	o->ref = tl_ref_of(o->p);
	printf("%d make %d\n", thread, (int)c.status);
}

int main(int argc, char** argv)
{
	static const size_t offsets[] = {0};
	const tl_type_desc desc = {.name = "node", .size = 64, .pointer_offsets = offsets, .num_pointers = 1};
	if (argc != 3 || tl_type_define(&desc, &node_type) != TL_OK) return 2;
	state = strtoull(argv[1], NULL, 0);
	for (long i = 0; i < atol(argv[2]); i++) {
		const int thread = (int)draw(2);
		object* o = &objects[draw(OBJECTS)];
		if (draw(5) == 0) on_stale(stale[draw(STALE)], thread);
		else if (o->p == NULL) new_object(o, thread);
		else on_object(o, thread);
		if (i % 1000 == 0) tl_mem_purge();
	}
	for (int i = 0; i < OBJECTS; i++)
		while (objects[i].p != NULL) {
			expect(run(1, RELEASE, objects[i].ref), TL_OK, TL_OK);
			drop_one(&objects[i], 1);
		}
	tl_mem_purge();
	const check_balance left = check_take_balance();
	printf("%" PRIu64 " objects are left\n", left.objects);
	return left.objects != 0;
}
