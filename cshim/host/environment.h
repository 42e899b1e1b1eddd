/* What the library takes from the environment; see environment.c. */
#pragma once

#include "start.h"

#pragma GCC visibility push(hidden)

/* The settings of this moment, up to a NULL. A program that has rights its caller lacks gets none. */
char** tlc_environment(void);

/* One of them; NULL: it is not set. */
const char* tlc_setting(const char* name);

/* How many processors GOMAXPROCS gives to Go; 0: Go chooses. */
int tlc_go_processors(void);

/* Whether Go would end the process for what it finds in its own variables. */
tlc_lack tlc_look_at_go_settings(void);

#pragma GCC visibility pop
