/* Limits that no rlimit sets, and what they end a process with; see host_limits.c. */
#pragma once

#include "limited.h"
#include "prove.h"

/* A process that is run in a way of its own, and the status that it has to end with. */
typedef struct shown {
	const char* what;
	int (*run)(const char* program);
	int wanted;
} shown;

extern const shown all_shown[];
extern const int shown_count;

/* What this program is when it has arguments. */
int host_limits_main(int argc, char** argv);
