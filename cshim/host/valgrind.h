/* Requests to valgrind, if the process runs under it. The instructions are those of valgrind.h; elsewhere they change
 * nothing, and the answer is 0. */
#pragma once

#include <stdint.h>

enum {
	TLC_VALGRIND_RUNS = 0x1001,  /* RUNNING_ON_VALGRIND */
	TLC_VALGRIND_STACK = 0x1501, /* VALGRIND_STACK_REGISTER */
};

static inline uintptr_t tlc_ask_valgrind(uintptr_t what, uintptr_t a, uintptr_t b)
{
	const uintptr_t request[6] = {what, a, b, 0, 0, 0};
#if defined(__x86_64__)
	uintptr_t result = 0;
	__asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
	                 : "+d"(result)
	                 : "a"(request)
	                 : "cc", "memory");
	return result;
#elif defined(__aarch64__)
	register uintptr_t result __asm__("x3") = 0;
	register const uintptr_t* at __asm__("x4") = request;
	__asm__ volatile(
		"ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\torr x10, x10, x10"
		: "+r"(result)
		: "r"(at)
		: "cc", "memory");
	return result;
#else
	(void)request;
	return 0;
#endif
}
