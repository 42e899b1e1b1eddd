/* What the programs of the proof suite share: how much to try, from which seed, and how to
 * tell what was tried; see tools/prove/main.go. */
#pragma once

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* How much of the whole proof is tried: 1 is all of it. */
static inline double prove_scale(void)
{
	const char* text = getenv("PROVE_SCALE");
	double scale = text == NULL ? 0.01 : atof(text);
	return scale > 0 ? scale : 0.01;
}

/* So many of a whole proof's, and one at least. */
static inline long prove_share(double whole)
{
	double share = whole * prove_scale();
	return share < 1 ? 1 : (long)share;
}

static inline uint64_t prove_seed(void)
{
	const char* text = getenv("PROVE_SEED");
	uint64_t seed = text == NULL ? 1 : strtoull(text, NULL, 10);
	return seed == 0 ? 1 : seed;
}

/* The line that tools/prove reads. Returns the program's exit status. */
static inline int prove_told_skipping(const char* what, long tried, long failed, long skipped, const char* detail)
{
	printf("proof: %ld %s tried, %ld failed", tried, what, failed);
	if (skipped > 0) printf(", %ld skipped", skipped);
	printf("%s%s\n", detail == NULL ? "" : ": ", detail == NULL ? "" : detail);
	return failed == 0 && tried > 0 ? 0 : 1;
}

static inline int prove_told(const char* what, long tried, long failed, const char* detail)
{
	return prove_told_skipping(what, tried, failed, 0, detail);
}
