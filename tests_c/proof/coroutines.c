/* Coroutines with stacks of 16 KiB, which go from thread to thread between their calls: made by ucontext, and by a switch
 * written by hand, which has no unwind tables. Each round of work begins and ends between two switches, since scopes
 * belong to threads. */
#include <pthread.h>
#include <stdbool.h>

#include "hosts/work.h"
#include "prove.h"
#include "small_stack.h"

enum { COROUTINES = 64 };

typedef struct coroutine {
	small_stack stack;
	void *here, *there; /* where the coroutine goes on, and where its caller does */
	long failed;
	bool by_hand;
} coroutine;

/* Goes on at `to`; *from is where to come back to. */
void hand_switch(void** from, void* to);

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl hand_switch\n"
        ".type hand_switch, @function\n"
        "hand_switch:\n"
        "	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
        "	mov %rsp, (%rdi)\n"
        "	mov %rsi, %rsp\n"
        "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
        "	ret\n"
        ".size hand_switch, . - hand_switch\n");
enum { RETURNS_AT = 6, FRAME_WORDS = 8 };
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl hand_switch\n"
        ".type hand_switch, %function\n"
        "hand_switch:\n"
        "	sub sp, sp, #160\n"
        "	stp x19, x20, [sp]\n	stp x21, x22, [sp, #16]\n	stp x23, x24, [sp, #32]\n"
        "	stp x25, x26, [sp, #48]\n	stp x27, x28, [sp, #64]\n	stp x29, x30, [sp, #80]\n"
        "	stp d8, d9, [sp, #96]\n	stp d10, d11, [sp, #112]\n	stp d12, d13, [sp, #128]\n	stp d14, d15, [sp, #144]\n"
        "	mov x9, sp\n"
        "	str x9, [x0]\n"
        "	mov sp, x1\n"
        "	ldp x19, x20, [sp]\n	ldp x21, x22, [sp, #16]\n	ldp x23, x24, [sp, #32]\n"
        "	ldp x25, x26, [sp, #48]\n	ldp x27, x28, [sp, #64]\n	ldp x29, x30, [sp, #80]\n"
        "	ldp d8, d9, [sp, #96]\n	ldp d10, d11, [sp, #112]\n	ldp d12, d13, [sp, #128]\n	ldp d14, d15, [sp, #144]\n"
        "	add sp, sp, #160\n"
        "	ret\n"
        ".size hand_switch, . - hand_switch\n");
enum { RETURNS_AT = 11, FRAME_WORDS = 20 };
#endif

static coroutine all[COROUTINES];
static __thread coroutine* entered; /* before it knows itself */

static __attribute__((noinline)) void leave(coroutine* c)
{
	if (c->by_hand) hand_switch(&c->here, c->there);
	else swapcontext(&c->stack.callee, &c->stack.caller);
}

static void body(void)
{
	coroutine* const c = entered;
	for (;;) {
		c->failed += host_round() != 0;
		leave(c);
	}
}

static void resume(coroutine* c)
{
	entered = c;
	if (c->by_hand) hand_switch(&c->there, c->here);
	else swapcontext(&c->stack.caller, &c->stack.callee);
}

static void begin(coroutine* c, bool by_hand)
{
	c->by_hand = by_hand;
	small_stack_open(&c->stack);
	if (by_hand) {
		void** top = (void**)(void*)(c->stack.low + SMALL_STACK_BYTES) - FRAME_WORDS;
		*(void (**)(void))(void*)&top[RETURNS_AT] = body;
		c->here = top;
	} else {
		getcontext(&c->stack.callee);
		c->stack.callee.uc_stack.ss_sp = c->stack.low;
		c->stack.callee.uc_stack.ss_size = SMALL_STACK_BYTES;
		makecontext(&c->stack.callee, body, 0);
	}
}

/* Half of the coroutines, the others with the next round. */
static void* resume_half(void* parity)
{
	for (int i = 0; i < COROUTINES; i++)
		if (i % 2 == (int)(intptr_t)parity) resume(&all[i]);
	return NULL;
}

int main(void)
{
	const long rounds = prove_share(2000) < 20 ? 20 : prove_share(2000);
	long failed = 0;
	for (int i = 0; i < COROUTINES; i++) begin(&all[i], i / 2 % 2 == 0);
	for (long round = 0; round < rounds; round++) {
		pthread_t other;
		if (pthread_create(&other, NULL, resume_half, (void*)(intptr_t)(round % 2)) != 0) return 1;
		resume_half((void*)(intptr_t)(1 - round % 2));
		pthread_join(other, NULL);
	}
	for (int i = 0; i < COROUTINES; i++) {
		failed += all[i].failed;
		small_stack_close(&all[i].stack);
	}
	failed += host_live() != 0;
	return prove_told("rounds in coroutines of 16 KiB", rounds * COROUTINES, failed, NULL);
}
