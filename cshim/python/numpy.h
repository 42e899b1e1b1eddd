/* Python's functions, given by tl_python_attach; the library is not linked with Python. */
#pragma once

#include <stdatomic.h>

#pragma GCC visibility push(hidden)

typedef void (*tlc_capsule_destructor)(void* capsule);
typedef void* (*tlc_capsule_new)(void* pointer, const char* name, tlc_capsule_destructor);
typedef int (*tlc_capsule_is_valid)(void* capsule, const char* name);
typedef void* (*tlc_capsule_get_pointer)(void* capsule, const char* name);
typedef void (*tlc_err_set_string)(void* exception, const char* text);

typedef struct tlc_python_api {
	_Atomic(tlc_capsule_new) make; /* written last: NULL until all fields are set */
	_Atomic(tlc_capsule_is_valid) is_valid;
	_Atomic(tlc_capsule_get_pointer) get_pointer;
	_Atomic(tlc_err_set_string) set_error;
	_Atomic(void*) buffer_error;
} tlc_python_api;

extern tlc_python_api tlc_python;

/* Sets the Python exception for a capsule that was not made, and returns NULL. */
void* tlc_python_refuse(void);

#pragma GCC visibility pop
