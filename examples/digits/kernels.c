#include "kernels.h"

#include <math.h>
#include <string.h>

void matmul(float* restrict out, const float* restrict a, const float* restrict b, int n, int k, int m)
{
	memset(out, 0, sizeof(float) * (size_t)n * (size_t)m);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < k; j++) {
			float factor = a[i * k + j];
			for (int c = 0; c < m; c++) out[i * m + c] += factor * b[j * m + c];
		}
}

void transpose(float* restrict out, const float* restrict in, int rows, int columns)
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++) out[j * rows + i] = in[i * columns + j];
}

void add_rows(float* restrict out, const float* restrict in, const float* restrict row, int rows, int columns)
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++) out[i * columns + j] = in[i * columns + j] + row[j];
}

void sum_rows(float* restrict out, const float* restrict in, int rows, int columns)
{
	memset(out, 0, sizeof(float) * (size_t)columns);
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++) out[j] += in[i * columns + j];
}

void relu(float* restrict out, const float* restrict in, int count)
{
	for (int i = 0; i < count; i++) out[i] = in[i] > 0.0f ? in[i] : 0.0f;
}

void relu_backward(float* restrict out, const float* restrict gradient, const float* restrict result, int count)
{
	for (int i = 0; i < count; i++) out[i] = result[i] > 0.0f ? gradient[i] : 0.0f;
}

static void softmax_row(float* restrict out, const float* restrict in, int columns)
{
	float largest = in[0], sum = 0.0f;
	for (int j = 1; j < columns; j++) largest = in[j] > largest ? in[j] : largest;
	for (int j = 0; j < columns; j++) sum += out[j] = expf(in[j] - largest);
	for (int j = 0; j < columns; j++) out[j] /= sum;
}

void softmax(float* restrict out, const float* restrict in, int rows, int columns)
{
	for (int i = 0; i < rows; i++) softmax_row(out + i * columns, in + i * columns, columns);
}

void subtract_scaled(float* restrict out, const float* restrict a, const float* restrict b, float scale, int count)
{
	for (int i = 0; i < count; i++) out[i] = (a[i] - b[i]) * scale;
}

void descend(float* restrict out, const float* restrict a, const float* restrict gradient, float rate, int count)
{
	for (int i = 0; i < count; i++) out[i] = a[i] - rate * gradient[i];
}

float cross_entropy(const float* probabilities, const float* targets, int rows, int columns)
{
	float sum = 0.0f;
	for (int i = 0; i < rows * columns; i++)
		if (targets[i] > 0.0f) sum -= logf(probabilities[i] + 1e-12f);
	return sum / (float)rows;
}

static int largest_of(const float* values, int count)
{
	int best = 0;
	for (int i = 1; i < count; i++)
		if (values[i] > values[best]) best = i;
	return best;
}

int count_correct(const float* probabilities, const float* targets, int rows, int columns)
{
	int correct = 0;
	for (int i = 0; i < rows; i++)
		correct += largest_of(probabilities + i * columns, columns) == largest_of(targets + i * columns, columns);
	return correct;
}
