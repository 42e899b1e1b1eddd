/* What the system says of a mapping of this process. */
#pragma once

#include <inttypes.h>
#include <stdio.h>

#include "memory.h"

enum { MARKED = 1, PLAIN = 0, UNKNOWN = -1 };

typedef struct mapping {
	uintptr_t start, end;
	uint64_t touched_kib;
	char flags[256]; /* of two letters, each behind a space */
} mapping;

/* The next mapping of /proc/self/smaps; false: there is none. */
static inline bool next_mapping(FILE* smaps, mapping* m)
{
	char line[512];
	while (smaps != NULL && fgets(line, sizeof line, smaps) != NULL) {
		uintptr_t start, end;
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &start, &end) == 2) *m = (mapping){.start = start, .end = end};
		else if (sscanf(line, "Anonymous: %" SCNu64, &m->touched_kib) != 1 &&
		         sscanf(line, "VmFlags:%255[^\n]", m->flags) == 1)
			return true;
	}
	return false;
}

/* Whether the mapping of an address has a flag: MARKED, PLAIN, or UNKNOWN. */
static inline int mark_of(const void* p, const char* flag)
{
	FILE* smaps = fopen("/proc/self/smaps", "r");
	mapping m;
	int found = UNKNOWN;
	while (found == UNKNOWN && next_mapping(smaps, &m))
		if ((uintptr_t)p >= m.start && (uintptr_t)p < m.end) found = strstr(m.flags, flag) != NULL ? MARKED : PLAIN;
	if (smaps != NULL) fclose(smaps);
	return found;
}
