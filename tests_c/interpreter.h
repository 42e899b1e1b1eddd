/* An interpreter that consists of three functions, for the tests of capsules. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tl_runtime.h"

typedef struct capsule {
	void* pointer;
	const char* name;
	void (*destructor)(void* capsule);
} capsule;

static int capsules_to_refuse;

static inline void* new_capsule(void* pointer, const char* name, void (*destructor)(void*))
{
	if (capsules_to_refuse-- > 0) return NULL;
	capsule* made = malloc(sizeof *made);
	*made = (capsule){pointer, name, destructor};
	return made;
}

static char python_error[512];

static inline void set_error(void* exception, const char* text)
{
	snprintf(python_error, sizeof python_error, "%s: %s", (const char*)exception, text);
}

static inline int is_valid(void* of, const char* name) { return strcmp(((capsule*)of)->name, name) == 0; }

static inline void* get_pointer(void* of, const char* name)
{
	return is_valid(of, name) ? ((capsule*)of)->pointer : NULL;
}

static inline void end_capsule(void* of)
{
	((capsule*)of)->destructor(of);
	free(of);
}

/* Functions are stored as objects: C has no conversion between the two. */
static inline tl_python_api interpreter(void)
{
	static char buffer_error[] = "BufferError";
	tl_python_api api = {.struct_size = sizeof api, .buffer_error = buffer_error};
	void* (*make)(void*, const char*, void (*)(void*)) = new_capsule;
	int (*valid)(void*, const char*) = is_valid;
	void* (*get)(void*, const char*) = get_pointer;
	void (*set)(void*, const char*) = set_error;
	memcpy(&api.capsule_new, &make, sizeof make);
	memcpy(&api.capsule_is_valid, &valid, sizeof valid);
	memcpy(&api.capsule_get_pointer, &get, sizeof get);
	memcpy(&api.err_set_string, &set, sizeof set);
	return api;
}
