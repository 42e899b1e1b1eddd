/* The one place of the library that reads the environment.
 *
 * Somebody who starts a setuid program, or one with capabilities of its file, chooses its environment, and must not choose
 * by it which code the program runs (TL_CUDA_LIBRARY) and which files it writes (TL_TRACE). Such a program sets options by
 * tl_configure.
 *
 * Go reads variables of its own, and ends the process when it cannot read them. They are looked at before Go starts, in
 * the block that Go reads: the strings behind the arguments, as the system handed them to the program. */
#define _GNU_SOURCE
#include "environment.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static char* nothing[] = {NULL};

char** tlc_environment(void) { return getauxval(AT_SECURE) != 0 || environ == NULL ? nothing : environ; }

static const char* find(char** settings, const char* name)
{
	size_t length = strlen(name);
	for (; *settings != NULL; settings++)
		if (strncmp(*settings, name, length) == 0 && (*settings)[length] == '=') return *settings + length + 1;
	return NULL;
}

const char* tlc_setting(const char* name) { return find(tlc_environment(), name); }

/* ---- Go's variables ----------------------------------------------------------------- */

static char** of_go = nothing;

__attribute__((constructor(TLC_BEFORE_GO))) static void find_what_go_reads(int count, char** arguments)
{
	if (arguments != NULL) of_go = arguments + count + 1;
}

/* A whole number with or without a sign, as Go's strconv.ParseInt reads it. */
static bool parse(const char* text, size_t length, int64_t most, int64_t* out)
{
	bool negative = length > 0 && *text == '-';
	size_t i = negative || (length > 0 && *text == '+');
	int64_t n = 0;
	if (i == length) return false;
	for (; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, text[i] - '0', &n))
			return false;
	}
	*out = negative ? -n : n;
	return n <= most;
}

/* Go takes bytes, with one of five units behind them. */
static bool is_byte_count(const char* text)
{
	static const char units[] = "KMGT";
	size_t length = strlen(text), unit = 0;
	int64_t n;
	if (length > 0 && text[length - 1] == 'B') length--;
	if (text[length] == 'B' && length > 1 && text[length - 1] == 'i') {
		const char* found = memchr(units, text[length - 2], sizeof units - 1);
		if (found == NULL) return false;
		unit = (size_t)(found - units) + 1;
		length -= 2;
	}
	return parse(text, length, INT64_MAX >> 10 * unit, &n) && n >= 0;
}

static bool is_memory_limit(const char* text)
{
	return text == NULL || *text == 0 || strcmp(text, "off") == 0 || is_byte_count(text);
}

/* A setting of GODEBUG, 0 without one. Of two with a name the last one that is a number counts. */
static int64_t of_godebug(const char* name)
{
	const char* text = find(of_go, "GODEBUG");
	const size_t named = strlen(name);
	int64_t n = 0;
	for (size_t length; text != NULL; text = text[length] != 0 ? text + length + 1 : NULL) {
		length = strcspn(text, ",");
		int64_t value;
		if (length > named && strncmp(text, name, named) == 0 && text[named] == '=' &&
		    parse(text + named + 1, length - named - 1, INT32_MAX, &value))
			n = value;
	}
	return n;
}

int tlc_go_processors(void)
{
	const char* text = find(of_go, "GOMAXPROCS");
	int64_t n;
	return text != NULL && parse(text, strlen(text), INT32_MAX, &n) && n > 0 ? (int)n : 0;
}

tlc_lack tlc_look_at_go_settings(void)
{
	enum { MOST_PROCESSORS = 1024 }; /* each takes 18 KiB at Go's start */
	if (!is_memory_limit(find(of_go, "GOMEMLIMIT"))) return TLC_REFUSES_GOMEMLIMIT;
	if (tlc_go_processors() > MOST_PROCESSORS) return TLC_REFUSES_GOMAXPROCS;
	return of_godebug("cgocheck") > 1 || of_godebug("profstackdepth") < 0 ? TLC_REFUSES_GODEBUG : TLC_LACKS_NOTHING;
}
