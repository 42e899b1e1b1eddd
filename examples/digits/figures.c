#define _POSIX_C_SOURCE 200809L
#include "figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int64_t status_bytes(const char* name)
{
	char line[128];
	int64_t kib = 0;
	FILE* file = fopen("/proc/self/status", "r");
	if (!file) return 0;
	while (fgets(line, sizeof line, file))
		if (strncmp(line, name, strlen(name)) == 0) sscanf(line + strlen(name), ":%" SCNd64, &kib);
	fclose(file);
	return kib * 1024;
}

/* VmHWM and not ru_maxrss, which a child inherits from the process that started it. */
int64_t resident_peak(void) { return status_bytes("VmHWM"); }
int64_t resident_now(void) { return status_bytes("VmRSS"); }

static const char format_out[] = "figures %.6f %a %.6f %" PRId64 " %" PRId64 "\n";
static const char format_in[] = "figures %lf %la %lf %" SCNd64 " %" SCNd64;

void figures_print(const figures* f)
{
	printf(format_out, f->seconds, f->loss, f->accuracy, f->resident_bytes, f->training_bytes);
}

int figures_run(const char* program, const char* data, figures* f)
{
	char command[4096];
	snprintf(command, sizeof command, "'%s' '%s'", program, data);
	FILE* pipe = popen(command, "r");
	int fields =
		pipe ? fscanf(pipe, format_in, &f->seconds, &f->loss, &f->accuracy, &f->resident_bytes, &f->training_bytes) : 0;
	int status = pipe ? pclose(pipe) : -1;
	if (fields == 5 && status == 0) return 0;
	fprintf(stderr, "digits: %s did not finish\n", program);
	return -1;
}
