/* The same; scopes release what functions make. */
#include <stdio.h>
#include <tl_runtime.h>

enum { N = 5 };

static double* smoothed(const double* values)
{
	tl_mem_enter_scope();
	double* padded = tl_mem_new((N + 2) * sizeof *padded);
	double* means = padded == NULL ? NULL : tl_mem_new(N * sizeof *means);
	if (means != NULL) {
		for (int i = 0; i < N; i++) padded[i + 1] = values[i];
		padded[0] = values[0];
		padded[N + 1] = values[N - 1];
		for (int i = 0; i < N; i++) means[i] = (padded[i] + padded[i + 1] + padded[i + 2]) / 3;
	}
	tl_mem_unregister(means); /* the caller's from here on; without it the scope would release it */
	tl_mem_exit_scope();
	return means;
}

int main(void)
{
	const double values[N] = {1, 2, 6, 3, 8};
	tl_mem_enter_scope();
	double* once = smoothed(values);
	tl_mem_register_struct(once); /* this scope releases it */
	double* twice = once == NULL ? NULL : smoothed(once);
	tl_mem_register_struct(twice);
	for (int i = 0; twice != NULL && i < N; i++) printf("%.3f%c", twice[i], i < N - 1 ? ' ' : '\n');
	tl_mem_exit_scope();
	return twice == NULL;
}
