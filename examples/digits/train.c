/* Shaped like the output of a tensor-language compiler: every function opens a frame, every intermediate value is a
 * tensor, what is returned is taken out of the callee's scope and put into the caller's. */
#include "train.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "kernels.h"
#include "memory.h"

typedef struct layer {
	tensor *weights, *bias;
	int inputs, outputs;
} layer;

typedef struct network {
	layer *hidden, *output;
} network;

/* What a layer learns from one batch; `input` is the gradient handed on to the layer below. */
typedef struct gradient {
	tensor *weights, *bias, *input;
} gradient;

typedef struct activations {
	tensor *hidden, *probabilities;
} activations;

/* Borrows its tensors: the code that took the batch owns them. */
typedef struct batch {
	tensor *images, *targets;
	int rows;
} batch;

static const size_t layer_fields[] = {offsetof(layer, weights), offsetof(layer, bias)};
static const size_t network_fields[] = {offsetof(network, hidden), offsetof(network, output)};
static const size_t gradient_fields[] = {offsetof(gradient, weights), offsetof(gradient, bias),
                                         offsetof(gradient, input)};
static const size_t activations_fields[] = {offsetof(activations, hidden), offsetof(activations, probabilities)};

static record_type layer_type = {"layer", sizeof(layer), layer_fields, 2, 0};
static record_type network_type = {"network", sizeof(network), network_fields, 2, 0};
static record_type gradient_type = {"gradient", sizeof(gradient), gradient_fields, 3, 0};
static record_type activations_type = {"activations", sizeof(activations), activations_fields, 2, 0};

void train_init(void)
{
	record_define(&layer_type);
	record_define(&network_type);
	record_define(&gradient_type);
	record_define(&activations_type);
}

/* ---- layers ---- */

static tensor* random_matrix(random_state* random, int rows, int columns, float range)
{
	tensor* t = tensor_new(rows, columns);
	float* values = tensor_data(t);
	for (int i = 0; i < rows * columns; i++) values[i] = range * random_unit(random);
	return t;
}

static layer* layer_new(random_state* random, int inputs, int outputs)
{
	function_enter(0);
	layer* l = record_new(&layer_type);
	l->inputs = inputs;
	l->outputs = outputs;
	tensor_store(&l->weights, random_matrix(random, inputs, outputs, sqrtf(6.0f / (float)inputs)));
	tensor_store(&l->bias, random_matrix(random, 1, outputs, 0.0f));
	record_return(l);
	function_exit();
	return l;
}

static void layer_free(layer* l)
{
	tensor_free(l->weights);
	tensor_free(l->bias);
	memory_free(l);
}

static network* network_new(random_state* random)
{
	function_enter(0);
	network* net = record_new(&network_type);
	layer* hidden = record_own(layer_new(random, DIGIT_PIXELS, 64));
	layer* output = record_own(layer_new(random, 64, DIGIT_CLASSES));
	record_store(&net->hidden, hidden);
	record_store(&net->output, output);
	record_return(net);
	function_exit();
	return net;
}

static void network_free(network* net)
{
	layer_free(net->hidden);
	layer_free(net->output);
	memory_free(net);
}

/* ---- forward ---- */

static tensor* linear(const layer* l, tensor* input, int rows)
{
	function_enter(1);
	tensor* product = tensor_in_slot(0, rows, l->outputs);
	matmul(tensor_data(product), tensor_data(input), tensor_data(l->weights), rows, l->inputs, l->outputs);
	tensor* sum = tensor_new(rows, l->outputs);
	add_rows(tensor_data(sum), tensor_data(product), tensor_data(l->bias), rows, l->outputs);
	slot_free(product);
	sum = tensor_return(sum);
	function_exit();
	return sum;
}

static activations* forward(const network* net, tensor* images, int rows)
{
	function_enter(0);
	activations* result = record_new(&activations_type);

	tensor* hidden_sum = tensor_own(linear(net->hidden, images, rows));
	tensor* hidden = tensor_new(rows, net->hidden->outputs);
	relu(tensor_data(hidden), tensor_data(hidden_sum), rows * net->hidden->outputs);
	tensor_store(&result->hidden, hidden);
	tensor_free(hidden_sum);

	tensor* logits = tensor_own(linear(net->output, hidden, rows));
	tensor* probabilities = tensor_new(rows, DIGIT_CLASSES);
	softmax(tensor_data(probabilities), tensor_data(logits), rows, DIGIT_CLASSES);
	tensor_store(&result->probabilities, probabilities);
	tensor_free(logits);

	record_return(result);
	function_exit();
	return result;
}

static void activations_free(activations* a)
{
	tensor_free(a->hidden);
	tensor_free(a->probabilities);
	memory_free(a);
}

/* ---- backward ---- */

static tensor* loss_gradient(tensor* probabilities, tensor* targets, int rows)
{
	function_enter(0);
	tensor* result = tensor_new(rows, DIGIT_CLASSES);
	subtract_scaled(tensor_data(result), tensor_data(probabilities), tensor_data(targets), 1.0f / (float)rows,
	                rows * DIGIT_CLASSES);
	result = tensor_return(result);
	function_exit();
	return result;
}

static tensor* hidden_gradient(tensor* gradient_above, tensor* hidden, int count)
{
	function_enter(0);
	tensor* result = tensor_new(1, count);
	relu_backward(tensor_data(result), tensor_data(gradient_above), tensor_data(hidden), count);
	result = tensor_return(result);
	function_exit();
	return result;
}

/* The two transposed matrices die with the function: they live in its frame's slots. */
static gradient* backward(const layer* l, tensor* input, tensor* above, int rows)
{
	function_enter(2);
	gradient* g = record_new(&gradient_type);

	tensor* input_t = tensor_in_slot(0, l->inputs, rows);
	transpose(tensor_data(input_t), tensor_data(input), rows, l->inputs);
	tensor_store(&g->weights, tensor_new(l->inputs, l->outputs));
	matmul(tensor_data(g->weights), tensor_data(input_t), tensor_data(above), l->inputs, rows, l->outputs);
	slot_free(input_t);

	tensor_store(&g->bias, tensor_new(1, l->outputs));
	sum_rows(tensor_data(g->bias), tensor_data(above), rows, l->outputs);

	tensor* weights_t = tensor_in_slot(1, l->outputs, l->inputs);
	transpose(tensor_data(weights_t), tensor_data(l->weights), l->inputs, l->outputs);
	tensor_store(&g->input, tensor_new(rows, l->inputs));
	matmul(tensor_data(g->input), tensor_data(above), tensor_data(weights_t), rows, l->outputs, l->inputs);
	slot_free(weights_t);

	record_return(g);
	function_exit();
	return g;
}

static void gradient_free(gradient* g)
{
	tensor_free(g->weights);
	tensor_free(g->bias);
	tensor_free(g->input);
	memory_free(g);
}

static void layer_update(layer* l, const gradient* g, float rate)
{
	function_enter(0);
	int count = l->inputs * l->outputs;
	tensor* weights = tensor_new(l->inputs, l->outputs);
	descend(tensor_data(weights), tensor_data(l->weights), tensor_data(g->weights), rate, count);
	tensor_store(&l->weights, weights);
	tensor* bias = tensor_new(1, l->outputs);
	descend(tensor_data(bias), tensor_data(l->bias), tensor_data(g->bias), rate, l->outputs);
	tensor_store(&l->bias, bias);
	function_exit();
}

/* ---- batches and epochs ---- */

static void copy_row(const digits* d, int row, float* image, float* target)
{
	memcpy(image, d->pixels[row], sizeof d->pixels[row]);
	memset(target, 0, DIGIT_CLASSES * sizeof *target);
	target[d->labels[row]] = 1.0f;
}

/* The caller takes over the struct and both tensors. */
static batch* batch_take(const digits* d, int first, int rows)
{
	function_enter(0);
	batch* b = struct_new(sizeof *b);
	b->rows = rows;
	b->images = tensor_new(rows, DIGIT_PIXELS);
	b->targets = tensor_new(rows, DIGIT_CLASSES);
	float *images = tensor_data(b->images), *targets = tensor_data(b->targets);
	for (int i = 0; i < rows; i++)
		copy_row(d, d->rows[first + i], images + i * DIGIT_PIXELS, targets + i * DIGIT_CLASSES);
	b->images = tensor_return(b->images);
	b->targets = tensor_return(b->targets);
	struct_return(b);
	function_exit();
	return b;
}

static batch* batch_own(batch* b)
{
	tensor_own(b->images);
	tensor_own(b->targets);
	return struct_own(b);
}

static void batch_free(batch* b)
{
	tensor_free(b->images);
	tensor_free(b->targets);
	memory_free(b);
}

static float train_step(network* net, const batch* b, float rate)
{
	function_enter(0);
	activations* a = record_own(forward(net, b->images, b->rows));
	float loss = cross_entropy(tensor_data(a->probabilities), tensor_data(b->targets), b->rows, DIGIT_CLASSES);

	tensor* above = tensor_own(loss_gradient(a->probabilities, b->targets, b->rows));
	gradient* output = record_own(backward(net->output, a->hidden, above, b->rows));
	tensor* below = tensor_own(hidden_gradient(output->input, a->hidden, b->rows * net->hidden->outputs));
	gradient* hidden = record_own(backward(net->hidden, b->images, below, b->rows));

	layer_update(net->output, output, rate);
	layer_update(net->hidden, hidden, rate);
	gradient_free(hidden);
	tensor_free(below);
	gradient_free(output);
	tensor_free(above);
	activations_free(a);
	function_exit();
	return loss;
}

static double train_rows(network* net, const digits* d, float rate)
{
	double loss = 0;
	int steps = 0;
	for (int first = 0; first + TRAIN_BATCH <= d->train_count; first += TRAIN_BATCH, steps++) {
		scope_enter();
		batch* b = batch_own(batch_take(d, first, TRAIN_BATCH));
		loss += train_step(net, b, rate);
		batch_free(b);
		scope_exit();
	}
	return loss / steps;
}

static double test_rows(const network* net, const digits* d)
{
	scope_enter();
	batch* b = batch_own(batch_take(d, d->train_count, d->count - d->train_count));
	activations* a = record_own(forward(net, b->images, b->rows));
	int correct = count_correct(tensor_data(a->probabilities), tensor_data(b->targets), b->rows, DIGIT_CLASSES);
	double accuracy = (double)correct / b->rows;
	activations_free(a);
	batch_free(b);
	scope_exit();
	return accuracy;
}

static double seconds_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static epoch_result train_epoch(network* net, digits* d, random_state* random)
{
	const float rate = 0.08f;
	double begin = seconds_now();
	random_shuffle(random, d->rows, d->train_count);
	epoch_result result = {.loss = train_rows(net, d, rate)};
	result.accuracy = test_rows(net, d);
	result.seconds = seconds_now() - begin;
	return result;
}

epoch_result train(digits* d, void (*after)(int epoch, epoch_result result))
{
	random_state random = {TRAIN_SEED};
	epoch_result result = {0};
	double seconds = 0;
	scope_enter();
	network* net = record_own(network_new(&random));
	for (int epoch = 1; epoch <= TRAIN_EPOCHS; epoch++) {
		result = train_epoch(net, d, &random);
		seconds += result.seconds;
		if (after) after(epoch, result);
	}
	network_free(net);
	scope_exit();
	result.seconds = seconds;
	return result;
}
