/* One training without a word, then one line of figures. Compiled twice: over the runtime and over malloc. */
#include <stdio.h>

#include "figures.h"
#include "train.h"

int main(int argc, char** argv)
{
	digits d = {0};
	if (argc != 2 || digits_read(argv[1], TRAIN_SEED, &d) != 0) return 2;
	int64_t before = resident_now();
	train_init();
	epoch_result last = train(&d, NULL);
	figures f = {
		.seconds = last.seconds,
		.loss = last.loss,
		.accuracy = last.accuracy,
		.resident_bytes = resident_peak(),
		.training_bytes = resident_peak() - before,
	};
	figures_print(&f);
	digits_free(&d);
	return 0;
}
