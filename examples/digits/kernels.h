/* The arithmetic. Row-major matrices of floats; no memory is obtained here. */
#pragma once

#include <stdint.h>

/* out (n x m) = a (n x k) times b (k x m) */
void matmul(float* restrict out, const float* restrict a, const float* restrict b, int n, int k, int m);
void transpose(float* restrict out, const float* restrict in, int rows, int columns);
void add_rows(float* restrict out, const float* restrict in, const float* restrict row, int rows, int columns);
void sum_rows(float* restrict out, const float* restrict in, int rows, int columns);
void relu(float* restrict out, const float* restrict in, int count);
/* out = gradient where the forward result was positive, else 0 */
void relu_backward(float* restrict out, const float* restrict gradient, const float* restrict result, int count);
void softmax(float* restrict out, const float* restrict in, int rows, int columns);
/* out = (a - b) * scale */
void subtract_scaled(float* restrict out, const float* restrict a, const float* restrict b, float scale, int count);
/* out = a - rate * gradient */
void descend(float* restrict out, const float* restrict a, const float* restrict gradient, float rate, int count);
float cross_entropy(const float* probabilities, const float* targets, int rows, int columns);
int count_correct(const float* probabilities, const float* targets, int rows, int columns);
