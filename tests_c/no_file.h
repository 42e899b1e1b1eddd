/* A path where nothing can be written: its folder is missing in one of the test's own. What
 * a machine has anywhere else does not matter. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char no_file_folder[] = "/tmp/tl_no_file_XXXXXX";

static inline void no_file_end(void) { rmdir(no_file_folder); }

static inline const char* no_file(void)
{
	static char path[64];
	if (path[0] == 0) {
		if (mkdtemp(no_file_folder) == NULL || atexit(no_file_end) != 0) {
			perror("mkdtemp");
			exit(1);
		}
		snprintf(path, sizeof path, "%s/missing/file", no_file_folder);
	}
	return path;
}
