/* Numbers that tracking.c and Go (runtime/observe/track, capi/tracking.go) share. */
#pragma once

#include <stdint.h>

extern uint64_t tlc_recorded __attribute__((visibility("hidden")));

/* track.Kind */
enum { TLC_TRACK_OBJECT = 0, TLC_TRACK_FOREIGN = 1, TLC_TRACK_BLOCK = 2 };
