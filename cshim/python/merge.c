/* C frames and frames of Python in one list. The interpreter's lock guards the tables here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "frames.h"

#include "../base/layout.h"

/* What code a return address is in. */
typedef enum code {
	UNKNOWN, /* not looked up yet */
	OTHER,
	INTERPRETER,
	BESIDE,  /* the interpreter's own extension modules, and libffi */
	PASSED,  /* a module of a package that is passed over */
	LIBRARY, /* the C library */
} code;

static const void *interpreter, *program, *library; /* where modules begin; program: NULL unless it is python */

static const void* module_of(uintptr_t address)
{
	Dl_info at;
	return dladdr((const void*)address, &at) != 0 ? at.dli_fbase : NULL;
}

/* With a shared library of Python's, the program `python` is little more than a call of it. */
static bool is_python_program(void)
{
	char name[4096];
	const ssize_t n = readlink("/proc/self/exe", name, sizeof name - 1);
	name[n > 0 ? n : 0] = 0;
	const char* base = strrchr(name, '/');
	return base != NULL && strncmp(base, "/python", strlen("/python")) == 0;
}

void tlc_python_find_modules(uintptr_t function)
{
	const char* (*of_libc)(void) = gnu_get_libc_version;
	interpreter = module_of(function);
	library = module_of((uintptr_t)of_libc);
	if (is_python_program()) program = module_of(getauxval(AT_PHDR));
}

static code look_up(uintptr_t address)
{
	Dl_info at;
	if (dladdr((const void*)address, &at) == 0 || at.dli_fname == NULL) return OTHER;
	if (at.dli_fbase == interpreter || at.dli_fbase == program) return INTERPRETER;
	if (at.dli_fbase == library) return LIBRARY;
	const char* base = strrchr(at.dli_fname, '/');
	const bool beside =
		strstr(at.dli_fname, "/lib-dynload/") != NULL || (base != NULL && strncmp(base, "/libffi", 7) == 0);
	if (beside) return BESIDE;
	return tlc_python_passes_over(at.dli_fname) ? PASSED : OTHER;
}

/* A program allocates at few places. */
static code code_at(uintptr_t address)
{
	static struct {
		uintptr_t address;
		code code;
	} known[1024];
	const size_t i = TL_HASH(address, 10);
	if (known[i].address != address) {
		known[i].code = look_up(address);
		known[i].address = address;
	}
	return known[i].code;
}

size_t tlc_python_merge(const tlc_python_stack* python, const tlc_stack* c, uintptr_t* to)
{
	size_t n = 0, j = 0, last = 0, ours = 0; /* last: where frames of the C library end the stack */
	for (size_t i = 0; i < c->n && !(python->cut && j == python->n); i++) {
		const code in = code_at(c->frames[i]);
		while (in == INTERPRETER && j < python->n) to[n++] = python->words[j++], last = n;
		if (in == INTERPRETER || in == BESIDE || in == PASSED || ours == TLC_MOST_FRAMES) continue;
		to[n++] = c->frames[i], ours++;
		if (in != LIBRARY) last = n;
	}
	if (j == python->n) return last;
	while (j < python->n) to[n++] = python->words[j++];
	return n;
}
