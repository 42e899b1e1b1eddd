/* The digits' network, trained by several processes that share the rows of each batch.
 *
 *   mpiexec -n 4 digits_mpi DIGITS.csv
 *
 * A batch is cut into a fixed number of shards, whichever number of processes there is, and each process takes its part
 * of them. The program trains twice:
 *
 *   exact     every process gets the gradients of all shards and adds them in the order of the shards. One process or
 *             four: the weights are the same to the last bit.
 *   reduced   each process adds its own shards, and MPI adds the processes. Fewer bytes travel, and the last bits of
 *             the weights depend on the number of processes. The program checks how far they are from the exact ones.
 *
 * In both ways the gradients of the output layer travel while those of the hidden layer are computed: a request holds
 * their tensor until they have arrived.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_mpi.h>

#include "../digits/data.h"
#include "../digits/kernels.h"

enum { SHARDS = 4, SHARD_ROWS = 8, BATCH = SHARDS * SHARD_ROWS, HIDDEN = 64, EPOCHS = 20, SEED = 20 };
static const float RATE = 0.15f, TOLERANCE = 1e-3f;
static const double WANTED_ACCURACY = 0.95;

static int rank, ranks, first_shard, own_shards;

/* ---- what cannot fail in a healthy program ---- */

static void stop(const char* sentence)
{
	fprintf(stderr, "digits_mpi: process %d: %s\n", rank, sentence);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void expect_mpi(tl_status status)
{
	if (status != TL_OK) stop(tl_mpi_last_error());
}

static tl_tensor* matrix(int64_t rows, int64_t columns)
{
	const int64_t shape[2] = {rows, columns};
	tl_tensor* made = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	if (made == NULL) stop(tl_last_error());
	return made;
}

static float* floats(tl_tensor* t) { return tl_tensor_data(t); }

/* ---- layers: the weights, and the biases as one more row ---- */

typedef struct layer {
	tl_tensor* weights;
	int inputs, outputs;
} layer;

typedef struct network {
	layer hidden, output;
} network;

/* One shard of a batch on its way through the network. */
typedef struct shard {
	tl_tensor *images, *targets, *hidden, *above;
} shard;

static int parameters(const layer* l) { return (l->inputs + 1) * l->outputs; }

static layer layer_new(random_state* random, int inputs, int outputs)
{
	const layer l = {matrix(inputs + 1, outputs), inputs, outputs};
	const float range = sqrtf(6.0f / (float)inputs);
	float* weights = floats(l.weights);
	for (int i = 0; i < parameters(&l); i++) weights[i] = i < inputs * outputs ? range * random_unit(random) : 0.0f;
	return l;
}

static tl_tensor* forward(const layer* l, tl_tensor* input, int rows)
{
	tl_tensor *product = matrix(rows, l->outputs), *sum = matrix(rows, l->outputs);
	matmul(floats(product), floats(input), floats(l->weights), rows, l->inputs, l->outputs);
	add_rows(floats(sum), floats(product), floats(l->weights) + l->inputs * l->outputs, rows, l->outputs);
	return sum;
}

static tl_tensor* hidden_of(const network* net, tl_tensor* images, int rows)
{
	tl_tensor *sum = forward(&net->hidden, images, rows), *hidden = matrix(rows, HIDDEN);
	relu(floats(hidden), floats(sum), rows * HIDDEN);
	return hidden;
}

static tl_tensor* probabilities_of(const network* net, tl_tensor* hidden, int rows)
{
	tl_tensor *logits = forward(&net->output, hidden, rows), *probabilities = matrix(rows, DIGIT_CLASSES);
	softmax(floats(probabilities), floats(logits), rows, DIGIT_CLASSES);
	return probabilities;
}

/* The gradient of a layer's weights and biases for one shard. */
static void gradient_of(const layer* l, float* into, tl_tensor* input, tl_tensor* above)
{
	tl_tensor* input_t = matrix(l->inputs, SHARD_ROWS);
	transpose(floats(input_t), floats(input), SHARD_ROWS, l->inputs);
	matmul(into, floats(input_t), floats(above), l->inputs, SHARD_ROWS, l->outputs);
	sum_rows(into + l->inputs * l->outputs, floats(above), SHARD_ROWS, l->outputs);
}

/* The gradient below the output layer: of the hidden layer's sums. */
static tl_tensor* below(const network* net, const shard* s)
{
	const layer* l = &net->output;
	tl_tensor *weights_t = matrix(l->outputs, l->inputs), *input = matrix(SHARD_ROWS, l->inputs);
	tl_tensor* result = matrix(SHARD_ROWS, l->inputs);
	transpose(floats(weights_t), floats(l->weights), l->inputs, l->outputs);
	matmul(floats(input), floats(s->above), floats(weights_t), SHARD_ROWS, l->outputs, l->inputs);
	relu_backward(floats(result), floats(input), floats(s->hidden), SHARD_ROWS * l->inputs);
	return result;
}

/* ---- gradients of a layer on their way between the processes ---- */

typedef struct exchange {
	bool exact;
	tl_tensor* rows; /* exact: one for each shard; else one, the sum of this process's shards */
	tl_mpi_request request;
} exchange;

static exchange exchange_new(const layer* l, bool exact)
{
	const exchange e = {exact, matrix(exact ? SHARDS : 1, parameters(l)), {0}};
	if (!exact) memset(floats(e.rows), 0, tl_tensor_nbytes(e.rows));
	return e;
}

/* The gradient of the process's shard number `mine`: into its row, or on top of the others. */
static void exchange_add(exchange* e, const layer* l, int mine, tl_tensor* input, tl_tensor* above)
{
	const int count = parameters(l);
	if (e->exact) {
		gradient_of(l, floats(e->rows) + (first_shard + mine) * count, input, above);
		return;
	}
	tl_tensor* one = matrix(1, count);
	gradient_of(l, floats(one), input, above);
	for (int i = 0; i < count; i++) floats(e->rows)[i] += floats(one)[i];
}

/* What each process has of the shards, in elements of a layer. MPI reads these until a request completes. */
typedef struct parts {
	int counts[256], places[256];
} parts;

static parts parts_of(const layer* l)
{
	parts p;
	for (int i = 0; i < ranks; i++) {
		p.places[i] = i * SHARDS / ranks * parameters(l);
		p.counts[i] = (i + 1) * SHARDS / ranks * parameters(l) - p.places[i];
	}
	return p;
}

static void exchange_start(exchange* e, const parts* p)
{
	MPI_Datatype type;
	MPI_Request request;
	if (!e->exact) {
		expect_mpi(tl_mpi_iallreduce(e->rows, MPI_SUM, MPI_COMM_WORLD, &e->request));
		return;
	}
	expect_mpi(tl_mpi_dtype(TL_DTYPE_F32, &type));
	MPI_Iallgatherv(MPI_IN_PLACE, 0, type, floats(e->rows), p->counts, p->places, type, MPI_COMM_WORLD, &request);
	expect_mpi(tl_mpi_hold(e->rows, NULL, request, &e->request));
}

/* Lets MPI make progress. */
static void exchange_poke(exchange* e)
{
	bool done;
	expect_mpi(tl_mpi_test(&e->request, &done, MPI_STATUS_IGNORE));
}

/* Waits, adds the shards in their order, and takes the step. */
static void exchange_finish(exchange* e, layer* l)
{
	const int count = parameters(l);
	float *total = floats(e->rows), *weights = floats(l->weights);
	expect_mpi(tl_mpi_wait(&e->request, MPI_STATUS_IGNORE));
	for (int s = 1; e->exact && s < SHARDS; s++)
		for (int i = 0; i < count; i++) total[i] += floats(e->rows)[s * count + i];
	for (int i = 0; i < count; i++) weights[i] -= RATE * total[i];
}

/* ---- batches and epochs ---- */

static void take_rows(const digits* d, int first, int rows, tl_tensor** out_images, tl_tensor** out_targets)
{
	*out_images = matrix(rows, DIGIT_PIXELS);
	*out_targets = matrix(rows, DIGIT_CLASSES);
	memset(floats(*out_targets), 0, tl_tensor_nbytes(*out_targets));
	for (int i = 0; i < rows; i++) {
		const int row = d->rows[first + i];
		memcpy(floats(*out_images) + i * DIGIT_PIXELS, d->pixels[row], sizeof d->pixels[row]);
		floats(*out_targets)[i * DIGIT_CLASSES + d->labels[row]] = 1.0f;
	}
}

static void train_batch(network* net, const digits* d, int first, bool exact)
{
	static parts output_parts, hidden_parts;
	shard shards[SHARDS];
	tl_mem_enter_scope();
	exchange output = exchange_new(&net->output, exact), hidden = exchange_new(&net->hidden, exact);
	output_parts = parts_of(&net->output);
	hidden_parts = parts_of(&net->hidden);
	for (int i = 0; i < own_shards; i++) {
		shard* s = &shards[i];
		take_rows(d, first + (first_shard + i) * SHARD_ROWS, SHARD_ROWS, &s->images, &s->targets);
		s->hidden = hidden_of(net, s->images, SHARD_ROWS);
		tl_tensor* probabilities = probabilities_of(net, s->hidden, SHARD_ROWS);
		s->above = matrix(SHARD_ROWS, DIGIT_CLASSES);
		subtract_scaled(floats(s->above), floats(probabilities), floats(s->targets), 1.0f / BATCH,
		                SHARD_ROWS * DIGIT_CLASSES);
		exchange_add(&output, &net->output, i, s->hidden, s->above);
	}
	exchange_start(&output, &output_parts);
	for (int i = 0; i < own_shards; i++) {
		exchange_add(&hidden, &net->hidden, i, shards[i].images, below(net, &shards[i]));
		exchange_poke(&output);
	}
	exchange_start(&hidden, &hidden_parts);
	exchange_finish(&output, &net->output);
	exchange_finish(&hidden, &net->hidden);
	tl_mem_exit_scope();
}

static double accuracy_of(const network* net, const digits* d)
{
	const int rows = d->count - d->train_count;
	tl_tensor *images, *targets;
	tl_mem_enter_scope();
	take_rows(d, d->train_count, rows, &images, &targets);
	tl_tensor* probabilities = probabilities_of(net, hidden_of(net, images, rows), rows);
	const int correct = count_correct(floats(probabilities), floats(targets), rows, DIGIT_CLASSES);
	tl_mem_exit_scope();
	return (double)correct / rows;
}

/* Every process reads all rows, shuffles them in the same way, and ends with the same network. */
static network train(const char* path, bool exact, double* out_accuracy, double* out_seconds)
{
	random_state random = {SEED};
	digits d;
	if (digits_read(path, SEED, &d) != 0) stop("no digits to train on");
	network net = {layer_new(&random, DIGIT_PIXELS, HIDDEN), layer_new(&random, HIDDEN, DIGIT_CLASSES)};
	const double begin = MPI_Wtime();
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		random_shuffle(&random, d.rows, d.train_count);
		for (int first = 0; first + BATCH <= d.train_count; first += BATCH) train_batch(&net, &d, first, exact);
	}
	*out_seconds = MPI_Wtime() - begin;
	*out_accuracy = accuracy_of(&net, &d);
	digits_free(&d);
	return net;
}

/* FNV-1a of all bits of the weights. */
static uint64_t sum_of(const network* net)
{
	uint64_t sum = UINT64_C(0xCBF29CE484222325);
	const layer* const layers[2] = {&net->hidden, &net->output};
	for (int i = 0; i < 2; i++) {
		const uint8_t* bytes = tl_tensor_data(layers[i]->weights);
		for (size_t j = 0; j < tl_tensor_nbytes(layers[i]->weights); j++)
			sum = (sum ^ bytes[j]) * UINT64_C(0x100000001B3);
	}
	return sum;
}

static float farthest(tl_tensor* a, tl_tensor* b)
{
	float most = 0;
	for (int64_t i = 0; i < tl_tensor_len(a); i++) most = fmaxf(most, fabsf(floats(a)[i] - floats(b)[i]));
	return most;
}

/* Trains both ways; rank 0 tells. True when all is as it should be. */
static bool trainings(const char* path)
{
	double accuracies[2], seconds[2];
	tl_mem_enter_scope();
	network exact = train(path, true, &accuracies[0], &seconds[0]);
	network reduced = train(path, false, &accuracies[1], &seconds[1]);
	const uint64_t sum = sum_of(&exact);
	const float far = fmaxf(farthest(exact.hidden.weights, reduced.hidden.weights),
	                        farthest(exact.output.weights, reduced.output.weights));
	tl_mem_exit_scope();
	uint64_t sums[2] = {sum, ~sum};
	MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
	const bool same = sums[0] == ~sums[1]; /* the least and the greatest of all processes */
	if (rank == 0) {
		printf("processes %d, shards %d\n", ranks, SHARDS);
		printf("exact    accuracy %.2f %%  weights %016llx  %.3f s\n", 100 * accuracies[0], (unsigned long long)sum,
		       seconds[0]);
		printf("reduced  accuracy %.2f %%  at most %.1e from the exact weights  %.3f s\n", 100 * accuracies[1],
		       (double)far, seconds[1]);
		if (!same) printf("the processes have different weights\n");
		if (!(far <= TOLERANCE)) printf("more than %g from the exact weights\n", (double)TOLERANCE);
	}
	return same && far <= TOLERANCE && accuracies[0] >= WANTED_ACCURACY && accuracies[1] >= WANTED_ACCURACY;
}

int main(int argc, char** argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 2) stop("usage: mpiexec -n N digits_mpi DIGITS.csv");
	if (ranks > 256) stop("more than 256 processes");
	first_shard = rank * SHARDS / ranks;
	own_shards = (rank + 1) * SHARDS / ranks - first_shard;
	const bool good = trainings(argv[1]);
	tl_stats stats = {.struct_size = sizeof stats};
	tl_stats_get(&stats);
	uint64_t left = stats.live_objects;
	MPI_Allreduce(MPI_IN_PLACE, &left, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0) printf("objects leaked %llu\n", (unsigned long long)left);
	MPI_Finalize();
	return good && left == 0 ? 0 : 1;
}
