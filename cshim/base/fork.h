/* Whether this process is a forked child, which has none of Go's threads. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Points to 0 in a forked child: the page is wiped. NULL: Go has not been started, and a child may start it. */
extern _Atomic(volatile char*) tlc_alive;

/* Before Go's first thread exists: a child that is forked from now on lacks it, and sees that by the page. */
void tlc_mark_forks(void);

static inline bool tlc_forked(void)
{
	const volatile char* page = atomic_load_explicit(&tlc_alive, memory_order_acquire);
	return page != NULL && *page == 0;
}

#pragma GCC visibility pop
