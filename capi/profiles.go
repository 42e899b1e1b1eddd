// # Profiles
//
// Pictures of where memory goes, in formats that tools read already. A heap profile is
// for pprof, which shows live and allocated bytes by call stack. It needs tracking
// (TL_TRACK=1, or TL_TRACK_SAMPLE for samples) to know call stacks.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_profile_write writes what is live, by where it was allocated, as a heap profile
// that `go tool pprof FILE` and other tools of pprof read. Values are inuse_space,
// inuse_objects, and of what was recorded alloc_space and alloc_objects; labels are
// type, kind, tag, thread and bytes. Of samples, figures are estimates of the whole.
// pprof finds functions and lines of C and C++ in the program's own files.
//
//	C: tl_status tl_profile_write(const char* path);
//
// Ownership: none; the string is not kept.
// Threads: any thread. Objects that others use meanwhile may be missing or too many.
// Returns: TL_OK, or why there is no complete profile.
// Errors: TL_E_INVALID_ARGUMENT (no path, or the file cannot be written),
// TL_E_OUT_OF_MEMORY.
// Cost: linear in the memory in use; symbols are looked up in files.
//
//export tlgo_profile_write
func tlgo_profile_write(c, path uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return writeProfile(o, path) })
}
