/* The stack that Go works on.
 *
 * A call runs on the stack of a goroutine, but Go's scheduler, its collector and the growth of that stack work where the
 * call came from. They take several KiB there, and nobody promises how many. Programs call from stacks of 16 KiB
 * (PTHREAD_STACK_MIN) and from those of coroutines, which have no guard. So a thread that enters Go leaves its own stack
 * for one of the library's, and has it until it ends.
 *
 * crosscall2 is the function through which C calls Go. Where there is no stack, or nothing was put in its place, Go works
 * on the caller's.
 *
 *	low                                                                high
 *	| guard | memory of a walk | room for a program's signal handlers | Go, drivers |
 */
#define _GNU_SOURCE
#include "stack.h"

#include "valgrind.h"

#include <sys/mman.h>

#include "../base/fork.h"
#include "../base/lock.h"
#include "go_1_26.h"

#define GUARD_BYTES ((size_t)64 << 10) /* the largest page */
#define HANDLER_BYTES ((size_t)64 << 10)
#define STACK_BYTES ((size_t)256 << 10)

/* Its words stand in the highest bytes of a stack that no thread has. */
typedef struct unused {
	struct unused* next;
	char* low;
} unused;

static unused* ended;         /* stacks of threads that have ended */
static _Atomic uint32_t lock; /* guards ended */

static __thread struct {
	char* low;       /* above the guard; NULL: the thread has no stack */
	uintptr_t other; /* where the stack goes on that the thread is not on: Go's while `ready`, else the program's */
	bool ready;      /* for Go to be entered: there is a stack, and Go is not on it */
	bool ends;       /* the thread: a stack is for one call */
} own __attribute__((tls_model("initial-exec")));

/* Calls function(a, b, c, d) on the other stack. Meanwhile *other is where this one goes on. */
uintptr_t tlc_switch_stack(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t* other, uintptr_t function)
	__attribute__((visibility("hidden")));

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".globl tlc_switch_stack\n"
        ".hidden tlc_switch_stack\n"
        ".type tlc_switch_stack, @function\n"
        "tlc_switch_stack:\n"
        ".cfi_startproc\n"
        "	endbr64\n"
        "	push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "	mov %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "	push %r8\n"
        "	push %r8\n" /* the stack pointer stays aligned */
        "	mov (%r8), %rax\n"
        "	mov %rsp, (%r8)\n"
        "	mov %rax, %rsp\n"
        "	call *%r9\n"
        "	mov -8(%rbp), %r8\n"
        "	mov %rsp, (%r8)\n"
        "	mov %rbp, %rsp\n"
        "	pop %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "	ret\n"
        ".cfi_endproc\n"
        ".size tlc_switch_stack, . - tlc_switch_stack\n"
        ".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".globl tlc_switch_stack\n"
        ".hidden tlc_switch_stack\n"
        ".type tlc_switch_stack, %function\n"
        "tlc_switch_stack:\n"
        ".cfi_startproc\n"
        "	hint #34\n" /* bti c */
        "	stp x29, x30, [sp, #-32]!\n"
        ".cfi_def_cfa_offset 32\n"
        ".cfi_offset x29, -32\n"
        ".cfi_offset x30, -24\n"
        "	mov x29, sp\n"
        ".cfi_def_cfa_register x29\n"
        "	str x4, [x29, #16]\n"
        "	ldr x9, [x4]\n"
        "	str x29, [x4]\n"
        "	mov sp, x9\n"
        "	blr x5\n"
        "	ldr x4, [x29, #16]\n"
        "	mov x9, sp\n"
        "	str x9, [x4]\n"
        "	mov sp, x29\n"
        "	ldp x29, x30, [sp], #32\n"
        ".cfi_def_cfa sp, 0\n"
        ".cfi_restore x29\n"
        ".cfi_restore x30\n"
        "	ret\n"
        ".cfi_endproc\n"
        ".size tlc_switch_stack, . - tlc_switch_stack\n"
        ".popsection\n");
#endif

/* Tells valgrind of a stack. It would take a switch to one that lies near the thread's for a large frame, and report what
 * stands between as undefined. */
static void tell_valgrind(const char* low, const char* high)
{
	tlc_ask_valgrind(TLC_VALGRIND_STACK, (uintptr_t)low, (uintptr_t)high);
}

static char* map(void)
{
#if defined(TLC_MEMCHECK)
	return NULL; /* it would take the switch for a large frame */
#endif
	enum { LAZY = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK };
	char* at = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE, LAZY, -1, 0);
	if (at == MAP_FAILED) return NULL;
	if (mprotect(at, GUARD_BYTES, PROT_NONE) == 0) {
		tell_valgrind(at + GUARD_BYTES, at + GUARD_BYTES + STACK_BYTES);
		return at + GUARD_BYTES;
	}
	munmap(at, GUARD_BYTES + STACK_BYTES);
	return NULL;
}

static unused* top_of(char* low) { return (unused*)(void*)(low + STACK_BYTES) - 1; }

static bool obtain(void)
{
	tlc_lock(&lock);
	unused* u = ended;
	if (u != NULL) ended = u->next;
	tlc_unlock(&lock);
	own.low = u != NULL ? u->low : map();
	own.other = own.low != NULL ? (uintptr_t)top_of(own.low) : 0;
	own.ready = own.low != NULL;
	return own.ready;
}

static void give_up(void)
{
	if (own.low == NULL) return;
	unused* u = top_of(own.low);
	u->low = own.low;
	own.low = NULL;
	own.ready = false;
	tlc_lock(&lock);
	u->next = ended;
	ended = u;
	tlc_unlock(&lock);
}

/* The first call of a thread; and one of C that Go has called. */
static __attribute__((noinline)) void enter_rarely(go_body body, void* argument, int bytes, size_t context)
{
	const bool obtained = own.low == NULL && obtain();
	if (obtained) __wrap_crosscall2(body, argument, bytes, context);
	else __real_crosscall2(body, argument, bytes, context);
	if (obtained && own.ends) give_up();
}

void __wrap_crosscall2(go_body body, void* argument, int bytes, size_t context)
{
	if (__builtin_expect(!own.ready, 0)) {
		enter_rarely(body, argument, bytes, context);
		return;
	}
	own.ready = false;
	tlc_switch_stack((uintptr_t)body, (uintptr_t)argument, (uintptr_t)bytes, context, &own.other,
	                 (uintptr_t)__real_crosscall2);
	own.ready = true;
}

/* The program's function may call the library, so Go may be entered again, further in. */
uintptr_t tlc_call_program(uintptr_t function, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
	if (own.low == NULL || own.ready)
		return ((uintptr_t (*)(uintptr_t, uintptr_t, uintptr_t, uintptr_t))function)(a, b, c, d);
	own.ready = true;
	uintptr_t result = tlc_switch_stack(a, b, c, d, &own.other, function);
	own.ready = false;
	return result;
}

/* A thread that has not entered Go, and one whose end has begun, has a stack for one walk. */
void* tlc_begin_walk(bool* lent)
{
	*lent = own.low == NULL && obtain();
	return own.ready ? own.low : NULL;
}

void tlc_end_walk(bool lent)
{
	if (lent) give_up();
}

bool tlc_stack_of_go(uintptr_t bounds[2])
{
	if (own.low == NULL || own.ready) return false;
	bounds[0] = (uintptr_t)own.low + TLC_WALK_BYTES + HANDLER_BYTES;
	bounds[1] = (uintptr_t)own.low + STACK_BYTES;
	return true;
}

/* ---- the end of a thread ------------------------------------------------------------- */

static go_call* leave_go;

/* In a forked child the locks of Go and of this list are as the fork found them, maybe held for ever. Destructors of
 * thread-local storage may call the library after this, and nobody tells when the last one has. */
static void end(go_body body, void* g, int bytes, size_t context)
{
	if (tlc_forked()) return;
	leave_go(body, g, bytes, context);
	own.ends = true;
	give_up();
}

void tlc_watch_ends(void)
{
	if (&x_crosscall2_ptr == NULL || leave_go != NULL) return;
	leave_go = x_crosscall2_ptr;
	x_crosscall2_ptr = end;
}
