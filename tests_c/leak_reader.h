/* Reads leak reports. */
#pragma once

#include <regex.h>

#include "check.h"

static char report[1 << 16];

static bool shows(const char* text)
{
	if (strstr(report, text) != NULL) return true;
	fprintf(stderr, "not in the report: %s\n%s\n", text, report);
	return false;
}

static bool hides(const char* text)
{
	if (strstr(report, text) == NULL) return true;
	fprintf(stderr, "in the report: %s\n%s\n", text, report);
	return false;
}

OWN_FRAME static void* forgetful(size_t bytes)
{
	void* p = tl_mem_alloc(bytes);
	__asm__ volatile("" ::: "memory"); /* no tail call: the frame is looked for */
	return p;
}

/* The text behind a match of an expression at the start of `text`, NULL: there is none.
 * Its first two groups come as numbers. */
static const char* match(const char* text, const char* expression, long* first, long* second)
{
	regex_t compiled;
	regmatch_t at[4];
	CHECK(regcomp(&compiled, expression, REG_EXTENDED) == 0);
	int failed = regexec(&compiled, text, 4, at, 0);
	regfree(&compiled);
	if (failed != 0 || at[0].rm_so != 0) return NULL;
	if (first != NULL) *first = strtol(text + at[1].rm_so, NULL, 10);
	if (second != NULL) *second = strtol(text + at[2].rm_so, NULL, 10);
	return text + at[0].rm_eo;
}

#define KIND "(Direct|Indirect) leak of "

/* Reads `report` by the form that LeakSanitizer gives its own (compiler-rt/lib/lsan, and
 * the wiki of github.com/google/sanitizers); how many leaks it sums up, -1: it is no such. */
static long read_as_leak_sanitizers(int* groups, int* frames)
{
	long pid, bytes, count, sum = 0, objects = 0;
	const char *at = strstr(report, "\n=="), *summary = strstr(report, "\nSUMMARY: ");
	while (at != NULL && at[3] == '=') at = strstr(at + 1, "\n==");
	if (at == NULL || summary == NULL) return -1;
	at = match(at + 1, "^==([0-9]+)==ERROR: LeakSanitizer: detected memory leaks\n", &pid, NULL);
	if (at == NULL ||
	    match(summary + 1, "^SUMMARY: LeakSanitizer: ([0-9]+) byte\\(s\\) leaked in ([0-9]+) allocation\\(s\\)\\.\n$",
	          &bytes, &count) == NULL)
		return -1;
	for (*groups = *frames = 0; (at = strstr(at, "irect leak of ")) != NULL; ++*groups) {
		long of, in;
		while (at[-1] != '\n') at--;
		at = match(at, "^" KIND, NULL, NULL);
		if (at == NULL ||
		    (at = match(at, "^([0-9]+) byte\\(s\\) in ([0-9]+) object\\(s\\) allocated from:\n", &of, &in)) == NULL)
			return -1;
		sum += of;
		objects += in;
		long number, before = -1;
		const char* next;
		while ((next = match(at,
		                     "^    #([0-9]+) 0x[0-9a-f]+ (in [^\n]+ )?([^ \n]+:[0-9]+|\\([^ "
		                     "\n]+\\+0x[0-9a-f]+\\)|\\(<unknown module>\\))\n",
		                     &number, NULL)) != NULL) {
			if (number != ++before) return -1;
			at = next;
			++*frames;
		}
		if (strncmp(at, "    #", 5) == 0) return -1; /* a frame that could not be read */
	}
	return sum == bytes && objects == count ? count : -1;
}
