/* pthread_cancel at a hundred moments and more of a process's first call, and of later ones.
 *
 *     cancel                  all
 *     cancel MICROSECONDS     the first call of this process, cancelled after that long
 */
#include "cancel.h"
#include "prove.h"

enum { POINTS = 100 };

static long first_calls(const char* self, long rounds)
{
	long failed = 0;
	for (long round = 0; round < rounds; round++)
		for (int i = 0; i < POINTS; i++) {
			double after = i * 3 + (double)(round % 3);
			if (in_a_new_process(self, after) == 0) continue;
			fprintf(stderr, "failed: %s %g\n", self, after);
			failed++;
		}
	return failed;
}

static void later_calls(long rounds)
{
	uint64_t state = prove_seed();
	for (long i = 0; i < rounds * POINTS; i++) {
		cancelled_after(calls_until_cancelled, (double)(check_random(&state) % 700));
		calls_of_all_kinds();
	}
}

int main(int argc, char** argv)
{
	if (argc > 1) return cancels_its_first_call(argv[1]);
	long rounds = prove_share(30);
	long failed = first_calls(argv[0], rounds);
	int bad = prove_told("cancellations of a first call", rounds * POINTS, failed, NULL);
	later_calls(rounds);
	bad |= prove_told("cancellations of later calls", rounds * POINTS, check_failures, NULL);
	return check_finish() | bad;
}
