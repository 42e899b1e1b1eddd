/* How the demo times one whole training, in a process of its own. */
#pragma once

#include <stdint.h>

typedef struct figures {
	double seconds;
	double loss; /* of the last epoch: the same bits on both sides, or the comparison is void */
	double accuracy;
	int64_t resident_bytes; /* peak of the process */
	int64_t training_bytes; /* of that, what came after the data was read */
} figures;

int64_t resident_peak(void);
int64_t resident_now(void);
void figures_print(const figures* f);
/* Runs `program data`, which prints figures. 0, or -1 with a message on stderr. */
int figures_run(const char* program, const char* data, figures* out_figures);
