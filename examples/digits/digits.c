/* Trains a network on handwritten digits with every value in the runtime's memory, tells what that memory did, and
 * times the same training with malloc and free beside it.
 *
 *   digits DIGITS.csv
 *
 * The programs time_tl and time_malloc stand in the same folder. Exit status 0 when the network is at least 95 % right
 * and nothing was leaked. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tl_runtime.h>

#include "figures.h"
#include "memory.h"
#include "train.h"

enum { RUNS = 7 };

static const double wanted_accuracy = 0.95;

/* ---- the training and its memory ---- */

static tl_stats before_last_epoch, after_last_epoch;

static tl_stats stats_now(void)
{
	tl_stats s = {.struct_size = sizeof s};
	tl_stats_get(&s);
	return s;
}

static void show_epoch(int epoch, epoch_result r)
{
	if (epoch == TRAIN_EPOCHS) after_last_epoch = stats_now();
	if (epoch == 1 || epoch % 10 == 0)
		printf("%5d   %.4f   %5.1f %%   %6.2f\n", epoch, r.loss, 100 * r.accuracy, 1e3 * r.seconds);
	if (epoch == TRAIN_EPOCHS - 1) before_last_epoch = stats_now();
}

/* Idle memory is given back first. */
static uint64_t leaked(const tl_stats* begin)
{
	tl_mem_purge();
	tl_stats end = stats_now();
	return (end.live_objects - begin->live_objects) + (end.foreign_live - begin->foreign_live);
}

static void line(const char* what, const char* format, uint64_t value)
{
	printf("  %-42s", what);
	printf(format, value);
	printf("\n");
}

/* The number of objects leaked. */
static uint64_t show_memory(const tl_stats* begin, const tl_stats* end)
{
	uint64_t system_calls = after_last_epoch.system_calls - before_last_epoch.system_calls;
	/* The second of the two looks at the statistics was itself one. */
	uint64_t slow_calls = after_last_epoch.slow_calls - before_last_epoch.slow_calls - 1;
	uint64_t live = end->tensors_live - begin->tensors_live;
	uint64_t leaks = leaked(begin);
	line("tensors created", "%12" PRIu64, memory_tensors_created);
	line("tensors released", "%12" PRIu64, memory_tensors_created - live);
	line("tensors in frame slots (no allocation)", "%12" PRIu64, memory_slots_used);
	printf("  %-42s%8.2f MiB\n", "peak memory of this process", (double)resident_peak() / (1 << 20));
	line("calls to the operating system, last epoch", "%12" PRIu64, system_calls);
	line("calls through the slow path, last epoch", "%12" PRIu64, slow_calls);
	line("objects leaked", "%12" PRIu64, leaks);
	return leaks;
}

/* ---- beside malloc ---- */

static int keep_faster(const char* program, const char* data, figures* best)
{
	figures run;
	if (figures_run(program, data, &run) != 0) return -1;
	if (best->seconds == 0 || run.seconds < best->seconds) *best = run;
	return 0;
}

/* Alternates, so that both sides see the same machine, and keeps the best of each, because other
 * processes only slow it down. */
static int compare_runs(const char* folder, const char* data, figures* ours, figures* theirs)
{
	char tl[4096], plain[4096];
	snprintf(tl, sizeof tl, "%s/time_tl", folder);
	snprintf(plain, sizeof plain, "%s/time_malloc", folder);
	*ours = *theirs = (figures){0};
	for (int i = 0; i < RUNS; i++)
		if (keep_faster(tl, data, ours) != 0 || keep_faster(plain, data, theirs) != 0) return -1;
	return 0;
}

static void show_comparison(const figures* ours, const figures* theirs)
{
	const double mib = 1 << 20;
	printf("The same training, best of %d alternating runs, a process each\n", RUNS);
	printf("  %-28s%14s%14s\n", "", "TL Runtime", "malloc/free");
	printf("  %-28s%11.1f ms%11.1f ms\n", "time", 1e3 * ours->seconds, 1e3 * theirs->seconds);
	printf("  %-28s%10.2f MiB%10.2f MiB\n", "peak memory, training alone", (double)ours->training_bytes / mib,
	       (double)theirs->training_bytes / mib);
	printf("  %-28s%10.2f MiB%10.2f MiB\n", "peak memory, whole process", (double)ours->resident_bytes / mib,
	       (double)theirs->resident_bytes / mib);
	printf("  %-28s%14s\n", "results are the same bits", ours->loss == theirs->loss ? "yes" : "NO");
}

static int beside_malloc(const char* program, const char* data)
{
	char folder[2048];
	figures ours, theirs;
	snprintf(folder, sizeof folder, "%s", program);
	char* slash = strrchr(folder, '/');
	snprintf(slash ? slash : folder, 3, "%s", slash ? "" : ".");
	if (compare_runs(folder, data, &ours, &theirs) != 0) return -1;
	show_comparison(&ours, &theirs);
	return ours.loss == theirs.loss ? 0 : -1;
}

int main(int argc, char** argv)
{
	digits d = {0};
	if (argc != 2) {
		fprintf(stderr, "usage: %s DIGITS.csv\n", argv[0]);
		return 2;
	}
	if (digits_read(argv[1], TRAIN_SEED, &d) != 0) return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("Handwritten digits: %d to train, %d held out; a perceptron 64 - 64 - 10, batches of %d\n\n", d.train_count,
	       d.count - d.train_count, TRAIN_BATCH);
	printf("epoch     loss   held out      ms\n");

	train_init();
	tl_stats begin = stats_now();
	epoch_result last = train(&d, show_epoch);
	tl_stats end = stats_now();
	digits_free(&d);

	printf("\naccuracy: %.1f %%\n\nTL Runtime\n", 100 * last.accuracy);
	uint64_t leaks = show_memory(&begin, &end);
	printf("\n");
	int compared = beside_malloc(argv[0], argv[1]);
	return last.accuracy >= wanted_accuracy && leaks == 0 && compared == 0 ? 0 : 1;
}
