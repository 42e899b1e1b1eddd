/* Smooths a row of numbers twice. Each way out of a function frees what was made until then. */
#include <stdio.h>
#include <stdlib.h>

enum { N = 5 };

static double* smoothed(const double* values)
{
	double* padded = malloc((N + 2) * sizeof *padded);
	if (padded == NULL) return NULL;
	double* means = malloc(N * sizeof *means);
	if (means == NULL) {
		free(padded);
		return NULL;
	}
	for (int i = 0; i < N; i++) padded[i + 1] = values[i];
	padded[0] = values[0];
	padded[N + 1] = values[N - 1];
	for (int i = 0; i < N; i++) means[i] = (padded[i] + padded[i + 1] + padded[i + 2]) / 3;
	free(padded);
	return means;
}

int main(void)
{
	const double values[N] = {1, 2, 6, 3, 8};
	double* once = smoothed(values);
	if (once == NULL) return 1;
	double* twice = smoothed(once);
	free(once);
	if (twice == NULL) return 1;
	for (int i = 0; i < N; i++) printf("%.3f%c", twice[i], i < N - 1 ? ' ' : '\n');
	free(twice);
	return 0;
}
