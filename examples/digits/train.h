/* The training program: a perceptron 64 - 64 - 10, ReLU, softmax cross-entropy, plain stochastic gradient descent. */
#pragma once

#include "data.h"

enum { TRAIN_EPOCHS = 40, TRAIN_BATCH = 16, TRAIN_SEED = 20 };

typedef struct epoch_result {
	double loss;     /* mean over the batches */
	double accuracy; /* of the held-out fifth, 0 .. 1 */
	double seconds;  /* training and test */
} epoch_result;

void train_init(void); /* once, before anything else */

/* A whole training inside one scope: `after`, when not NULL, hears of every epoch. Returns the last one, with the
 * seconds of all. */
epoch_result train(digits* d, void (*after)(int epoch, epoch_result result));
