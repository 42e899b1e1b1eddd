/* The handwritten digits, as the host program hands them to the trained code. */
#pragma once

#include <stdint.h>

enum { DIGIT_PIXELS = 64, DIGIT_CLASSES = 10, DIGITS_MAX = 2000 };

typedef struct digits {
	int count;
	int train_count;               /* rows[0 .. train_count) train, the rest is held out */
	float (*pixels)[DIGIT_PIXELS]; /* 0 .. 1 */
	uint8_t* labels;
	int* rows; /* a permutation of 0 .. count */
} digits;

/* Reads lines of 64 values and a label; holds out a fifth, chosen by the seed. 0, or -1 with a message on stderr. */
int digits_read(const char* path, uint64_t seed, digits* out_digits);
void digits_free(digits* d);

/* A small generator with a fixed sequence, so that every run trains the same network. */
typedef struct random_state {
	uint64_t state;
} random_state;

uint64_t random_next(random_state* r);
float random_unit(random_state* r); /* -1 .. 1 */
void random_shuffle(random_state* r, int* values, int count);
