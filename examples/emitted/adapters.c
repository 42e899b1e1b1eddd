/* Functions with the arguments and results that code of the TL compiler expects. names.txt says which call reaches
 * which function. */
#include <stdio.h>
#include <tl_runtime.h>

void emitted_trace_mem(const char* file, int32_t line, int32_t column, const char* tag)
{
	char message[256];
	snprintf(message, sizeof message, "%s:%d:%d %s", file != NULL ? file : "unknown", line, column,
	         tag != NULL ? tag : "");
	tl_trace_mem(message);
}

static double mebibytes(int64_t bytes) { return (double)bytes / (1024 * 1024); }

double emitted_memory_mb(void) { return mebibytes(tl_get_memory_bytes()); }

double emitted_metal_pool_mb(void) { return mebibytes(tl_get_metal_pool_bytes()); }
