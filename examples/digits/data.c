#include "data.h"

#include <stdio.h>
#include <stdlib.h>

/* splitmix64: one word of state, passes the usual tests, and is the same on every machine. */
uint64_t random_next(random_state* r)
{
	uint64_t z = (r->state += UINT64_C(0x9E3779B97F4A7C15));
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

float random_unit(random_state* r) { return (float)(random_next(r) >> 40) * (2.0f / 16777216.0f) - 1.0f; }

void random_shuffle(random_state* r, int* values, int count)
{
	for (int i = count - 1; i > 0; i--) {
		int j = (int)(random_next(r) % (uint64_t)(i + 1));
		int kept = values[i];
		values[i] = values[j];
		values[j] = kept;
	}
}

static int read_row(FILE* file, float* pixels, uint8_t* label)
{
	int value;
	for (int i = 0; i < DIGIT_PIXELS; i++) {
		if (fscanf(file, "%d,", &value) != 1) return -1;
		pixels[i] = (float)value / 16.0f;
	}
	if (fscanf(file, "%d", &value) != 1 || value < 0 || value >= DIGIT_CLASSES) return -1;
	*label = (uint8_t)value;
	return 0;
}

static void split(digits* d, uint64_t seed)
{
	random_state r = {seed};
	for (int i = 0; i < d->count; i++) d->rows[i] = i;
	random_shuffle(&r, d->rows, d->count);
	d->train_count = d->count - d->count / 5;
}

int digits_read(const char* path, uint64_t seed, digits* d)
{
	FILE* file = fopen(path, "r");
	if (!file) {
		perror(path);
		return -1;
	}
	d->pixels = malloc(DIGITS_MAX * sizeof *d->pixels);
	d->labels = malloc(DIGITS_MAX);
	d->rows = malloc(DIGITS_MAX * sizeof *d->rows);
	d->count = 0;
	while (d->count < DIGITS_MAX && read_row(file, d->pixels[d->count], &d->labels[d->count]) == 0) d->count++;
	int whole = feof(file);
	fclose(file);
	if (!whole || d->count == 0) {
		fprintf(stderr, "%s: line %d is not 64 values and a label\n", path, d->count + 1);
		digits_free(d);
		return -1;
	}
	split(d, seed);
	return 0;
}

void digits_free(digits* d)
{
	free(d->pixels);
	free(d->labels);
	free(d->rows);
	*d = (digits){0};
}
