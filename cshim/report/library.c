/* Version, the table of symbols, options: what needs no context. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../host/environment.h"
#include "../object/fast.h"
#include "../host/output.h"

bool tl_is_started(void) { return atomic_load_explicit(&tlc_alive, memory_order_acquire) != NULL; }

const char* tl_version(void) { return TL_RUNTIME_VERSION; }
uint32_t tl_abi_version(void) { return TL_ABI_VERSION; }

const tl_symbol* tl_symbols(size_t* out_count)
{
	if (out_count == NULL) {
		tlc_fail(TL_E_INVALID_ARGUMENT, TL_FN_tl_symbols, NULL);
		return NULL;
	}
	*out_count = tlc_symbol_count;
	return tlc_symbols;
}

/* A flag, as package config reads it. */
static bool is_on(const char* value)
{
	static const char* const words[] = {"1", "on", "true", "yes"};
	for (size_t i = 0; value != NULL && i < sizeof words / sizeof *words; i++)
		if (strcasecmp(value, words[i]) == 0) return true;
	return false;
}

/* What the program has set TL_MEM_LOG to before the first use. */
static _Atomic enum { FROM_ENVIRONMENT, OFF, ON } mem_log;

/* Before the first use package config keeps the value, for the first use to take it over the environment's. */
tl_status tl_configure(const char* key, const char* value)
{
	tl_status status;
	if (tlc_shared != &tlc_g) return slow_configure(key, value);
	if (key == NULL || value == NULL) return tlc_fail(TL_E_INVALID_ARGUMENT, TL_FN_tl_configure, NULL);
	if (!tlc_configure_first(key, value, &status)) return slow_configure(key, value);
	if (status != TL_OK) return tlc_fail_to_start(status, TL_FN_tl_configure);
	if (strcmp(key, "TL_MEM_LOG") == 0) mem_log = is_on(value) ? ON : OFF;
	return TL_OK;
}

int64_t tl_get_memory_bytes(void)
{
	FILE* f = fopen("/proc/self/statm", "re");
	if (f == NULL) return 0;
	long total = 0, resident = 0;
	int fields = fscanf(f, "%ld %ld", &total, &resident);
	fclose(f);
	return fields == 2 ? resident * sysconf(_SC_PAGESIZE) : 0;
}

int64_t tl_get_memory_mb(void) { return tl_get_memory_bytes() >> 20; }

/* ---- TL_MEM_LOG ------------------------------------------------------------------ */

/* Reading TL_MEM_LOG must not start the library. */
static bool logging(void)
{
	if (TLC_LIKELY(tlc_shared != &tlc_g)) return TLC_LOAD(tlc_shared->mem_log) != 0;
	return mem_log == FROM_ENVIRONMENT ? is_on(tlc_setting("TL_MEM_LOG")) : mem_log == ON;
}

enum { NUMBERS = 80 }; /* bytes for a pointer, a number and the words between them */

static void log_place(const char* what, const char* file, uint32_t line)
{
	char place[NUMBERS];
	snprintf(place, sizeof place, ":%u\n", line);
	tlc_tell("tl_runtime: ", what, file != NULL ? file : "?", place, NULL);
}

tl_status tl_log_alloc(const void* pointer, int64_t bytes, const char* file, uint32_t line)
{
	if (logging()) {
		char what[NUMBERS];
		snprintf(what, sizeof what, "alloc %p %lld bytes ", pointer, (long long)bytes);
		log_place(what, file, line);
	}
	return TLC_UNLIKELY(tlc_may_name(pointer)) ? slow_log_alloc(pointer, bytes, file, line) : TL_OK;
}

tl_status tl_log_free(const void* pointer, const char* file, uint32_t line)
{
	if (logging()) {
		char what[NUMBERS];
		snprintf(what, sizeof what, "free %p ", pointer);
		log_place(what, file, line);
	}
	return TL_OK;
}

tl_status tl_trace_mem(const char* message)
{
	if (logging()) {
		char resident[NUMBERS];
		snprintf(resident, sizeof resident, ": %lld bytes resident\n", (long long)tl_get_memory_bytes());
		tlc_tell("tl_runtime: ", message != NULL ? message : "", resident, NULL);
	}
	return TL_OK;
}
