// # Library
//
// The library needs no call to initialise it. The first call of a process
// reserves address space and starts the slow path; the first call of a thread
// gives the thread a context. A program calls tl_init to learn early, and in
// one place, whether this fails.
//
// The library is never unloaded. tl_shutdown closes the scopes and frames of
// the calling thread and gives idle memory back. Objects that others hold stay
// valid and releasable, because a plug-in that shuts the library down must not
// free an array that Python still uses.
package main

import "C"

import (
	"fmt"
	"maps"
	"slices"

	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// TL_ABI_VERSION is the version of the interface that this header declares.
// It grows when functions are added; numbers and layouts never change.
//
//	C: #define TL_ABI_VERSION 1u
const _ = "TL_ABI_VERSION"

// tl_status is the result of a call: TL_OK or one of the TL_E_ values.
//
//	C: typedef int32_t tl_status;
const _ = "tl_status"

// tl_status_code lists the statuses. The numbers are fixed for ever; new ones
// are added at the end.
//
//	C: enum tl_status_code {
//	    TL_OK = 0,
//	    TL_E_INVALID_ARGUMENT = 1,   /* a negative size, an overflowing product, a NULL output, an unknown key */
//	    TL_E_UNKNOWN_POINTER = 2,    /* neither memory of the runtime nor registered */
//	    TL_E_INTERIOR_POINTER = 3,   /* inside an object instead of at its start */
//	    TL_E_NOT_LIVE = 4,           /* released already, or beyond what a frame or the arena holds */
//	    TL_E_ALREADY_REGISTERED = 5, /* the address belongs to another registration */
//	    TL_E_NOT_REGISTERED = 6,     /* live, but in no scope that this function opened */
//	    TL_E_SCOPE_UNDERFLOW = 7,    /* more exits than enters, or out of order */
//	    TL_E_NO_FRAME = 8,           /* no function frame, planned frame or arena is open */
//	    TL_E_SLOT_OUT_OF_RANGE = 9,  /* the frame has fewer slots */
//	    TL_E_ARENA_EXHAUSTED = 10,   /* the arena, the frame stack or the scope stack is full */
//	    TL_E_OUT_OF_MEMORY = 11,     /* the system has no more memory */
//	    TL_E_LIMIT = 12,             /* a limit that was set, or a fixed capacity, is reached */
//	    TL_E_OVERFLOW = 13,          /* a count cannot grow further */
//	    TL_E_DEVICE = 14,            /* a device is absent or its driver failed */
//	    TL_E_UNSUPPORTED = 15,       /* possible in general, but not for this kind of pointer */
//	    TL_E_FORKED = 16,            /* the process was made by fork() and needs the slow path */
//	    TL_E_BUSY = 17,              /* in use by another thread, or called from a signal handler that interrupted the runtime */
//	    TL_E_INTERNAL = 18,          /* a defect of this library, contained; please report the message */
//	    TL_E_CORRUPTED = 19          /* TL_DEBUG: memory beyond an object, or of a released one, was written to */
//	};
const _ = "tl_status_code"

// tl_error_callback receives every failure of any thread: status, rendered
// message and the ctx given to tl_set_error_callback. The message is valid
// during the call. The callback must return normally. It may call this library;
// failures of its own calls do not call it again.
//
//	C: typedef void (*tl_error_callback)(tl_status status, const char* message, void* ctx);
const _ = "tl_error_callback"

// tl_symbol is one row of the table that tl_symbols returns.
//
//	C: typedef struct tl_symbol {
//	    const char* name; /* "tl_mem_alloc" */
//	    void* address;    /* of that function */
//	} tl_symbol;
const _ = "tl_symbol"

// tl_version returns the version of the library, for example "1.0.0".
//
//	C: const char* tl_version(void);
//
// Ownership: the string is static.
// Threads: any thread, also in a forked child.
// Returns: the version, never NULL.
// Errors: none.
// Cost: fast; constant.
// LLVM: nounwind, readnone, willreturn, returns nonnull.
const _ = "tl_version"

// tl_abi_version returns the interface version of the loaded library. A program
// compiled against a header whose TL_ABI_VERSION is greater needs a newer
// library.
//
//	C: uint32_t tl_abi_version(void);
//
// Ownership: none.
// Threads: any thread, also in a forked child.
// Returns: TL_ABI_VERSION of the library.
// Errors: none.
// Cost: fast; constant.
// LLVM: nounwind, readnone, willreturn.
const _ = "tl_abi_version"

// tl_init makes the library ready now instead of at the first use. Calling it
// again does nothing. It reports settings in the environment that the library
// does not understand: a value that is invalid for its option, or a name that
// begins with TL_, is not an option and resembles one closely. The library then
// works with the default of that option, and also reports the setting on
// standard error, once.
//
//	C: tl_status tl_init(void);
//
// Ownership: none.
// Threads: any thread; concurrent first calls wait for one of them.
// Returns: TL_OK, or what went wrong.
// Errors: TL_E_OUT_OF_MEMORY (nothing works), TL_E_INVALID_ARGUMENT (a setting in the
// environment: everything works, or where it is GOMEMLIMIT, GOMAXPROCS or GODEBUG, nothing).
// Cost: slow call; about a millisecond the first time.
//
//export tlgo_init
func tlgo_init(c uintptr) int32 {
	return guardedStatus(c, ready)
}

// tl_is_started tells whether the slow path has been started: when the library was loaded, or
// by the first call that needed it (TL_START). A child of fork() can use the whole library if it was
// not started before the fork. A daemon asks this before it forks.
//
//	C: bool tl_is_started(void);
//
// Ownership: none.
// Threads: any thread, also in a forked child.
// Returns: whether it has been started, in this process or in the one that forked it.
// Errors: none.
// Cost: fast; constant.
// LLVM: nounwind, willreturn.
const _ = "tl_is_started"

// tl_shutdown closes the calling thread's scopes and frames, releases what its
// root scope holds and gives idle memory back to the system. Live objects stay valid and
// releasable, and later calls work as if nothing had happened. Leaks are reported at the
// end of the process (TL_LEAK_CHECK), not here. With TL_DEBUG the call checks
// for damage as tl_mem_check_all does.
//
//	C: tl_status tl_shutdown(void);
//
// Ownership: every reference held by the calling thread's scopes is released.
// Threads: any thread, while no other has open scopes.
// Returns: TL_OK, or why nothing was done.
// Errors: TL_E_BUSY.
// Cost: slow call; linear in what the scopes hold.
//
//export tlgo_shutdown
func tlgo_shutdown(c uintptr) int32 {
	return guardedStatus(c, shutdown)
}

// tl_configure sets an option. Keys and values are those of the TL_ environment
// variables ("TL_ON_ERROR", "abort"), which it overrides. Programs that this one starts
// do not inherit it. Options that shape the reservation of address space are fixed by the first
// use of the library, TL_START by its load.
//
//	C: tl_status tl_configure(const char* key, const char* value);
//
// Ownership: both strings are copied.
// Threads: any thread; the option holds for all of them.
// Returns: TL_OK, or why the option keeps its value.
// Errors: TL_E_INVALID_ARGUMENT (unknown key, or a value that is invalid for it),
// TL_E_BUSY (fixed by the first use or the load), TL_E_OUT_OF_MEMORY (no memory for what
// the option requests).
// Cost: slow call; constant; not meant for hot paths.
// Path: fast.
//
//export tlgo_configure
func tlgo_configure(c, key, value uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return configure(o, key, value) })
}

// tl_config_dump writes every option, one a line, sorted: its name, its value
// and the source of the value (default, environment, tl_configure). Lines that
// begin with # report settings in the environment that the library does not
// understand, devices that an option names and that are not known so far, and
// how much address space is reserved where an option asks for another size. The
// function writes as much of the text as fits and always ends it with a zero
// byte, as snprintf does.
//
//	C: size_t tl_config_dump(char* buffer, size_t bytes);
//
// Ownership: none.
// Returns: the length of the whole text without its zero byte; when the length is not
// less than bytes, the text was cut. 0 on failure.
// Errors: TL_E_INVALID_ARGUMENT (NULL, and bytes is not 0).
// Cost: slow call; not meant for hot paths.
//
//export tlgo_config_dump
func tlgo_config_dump(c, buffer, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return fillText(o, buffer, bytes, configText()) })
}

// configText is the dump of all options. Drivers are not asked for the devices that options name.
func configText() []byte {
	text, known := options.Dump(), devices().Known()
	text = reservedText(text, "TL_HEAP_RESERVE", object.Globals().HeapBytes)
	text = reservedText(text, "TL_ARENA_BYTES", object.Globals().ArenaCapacity)
	wanted := options.Devices()
	for _, option := range slices.Sorted(maps.Keys(wanted)) {
		for _, name := range wanted[option] {
			if !slices.ContainsFunc(known, func(d device.Device) bool { return d.Name() == name }) {
				text = fmt.Appendf(text, "# %s: no device %s is known so far\n", option, name)
			}
		}
	}
	return text
}

// reservedText adds the bytes that were reserved for an option, where they differ from what it says.
func reservedText(text []byte, option string, bytes uint64) []byte {
	if wanted := options.Bytes(option); wanted == 0 || wanted == bytes {
		return text
	}
	return fmt.Appendf(text, "# %s: %d bytes are reserved\n", option, bytes)
}

// tl_status_string returns a status as a sentence, for example "not live:
// released already". tl_last_error says more about the last failure.
//
//	C: const char* tl_status_string(tl_status status);
//
// Ownership: the string is static.
// Threads: any thread, also in a forked child.
// Returns: the sentence, never NULL; "unknown status" for other numbers.
// Errors: none.
// Cost: fast; constant.
// LLVM: nounwind, readnone, willreturn, returns nonnull.
const _ = "tl_status_string"

// tl_last_status returns the status of the calling thread's last call that
// failed or returned NULL.
//
//	C: tl_status tl_last_status(void);
//
// Ownership: none.
// Threads: the calling thread's own status.
// Returns: that status; TL_OK when nothing failed since tl_clear_error.
// Errors: none.
// Cost: fast; constant, a few instructions.
// LLVM: nounwind, readonly, willreturn.
const _ = "tl_last_status"

// tl_last_error explains the last failure of the calling thread in a sentence:
// which function failed, for which pointer, what the runtime found there, and
// what to do. Only this function composes the text, so a failure whose text
// nobody reads costs nothing.
//
//	C: const char* tl_last_error(void);
//
// Ownership: the string belongs to the thread and holds until its next failing
// call.
// Threads: the calling thread's own message.
// Returns: the text, never NULL; "" when nothing failed since tl_clear_error.
// Errors: none.
// Cost: slow call; about a microsecond when the text is new.
// Path: fast.
// Fails: tl_status_string(why).
// LLVM: returns nonnull.
//
//export tlgo_last_error
func tlgo_last_error(c uintptr) uintptr {
	return guarded(c, layout.Address(&object.At(c).Context.Error.Message), lastError)
}

// tl_clear_error sets the calling thread's last status to TL_OK and its message
// to "".
//
//	C: void tl_clear_error(void);
//
// Ownership: none.
// Threads: the calling thread's own status.
// Returns: nothing.
// Errors: none.
// Cost: fast; constant, a few instructions.
// LLVM: nounwind, willreturn.
const _ = "tl_clear_error"

// tl_set_error_callback installs a function that is called for every failure,
// in addition to what TL_ON_ERROR selects. NULL removes it.
//
//	C: tl_status tl_set_error_callback(tl_error_callback callback, void* ctx);
//
// Ownership: ctx stays the caller's and must live as long as the callback is
// installed.
// Threads: any thread; the callback is called on the thread that failed.
// Returns: TL_OK.
// Errors: none.
const _ = "tl_set_error_callback"

// tl_symbols returns the table of all functions of this library, for JIT
// compilers that resolve names without dlsym. Rows are sorted by name.
//
//	C: const tl_symbol* tl_symbols(size_t* out_count);
//
// Ownership: the table is static.
// Threads: any thread, also in a forked child.
// Returns: the first row; *out_count is the number of rows.
// Errors: TL_E_INVALID_ARGUMENT.
// Cost: fast; constant.
const _ = "tl_symbols"

// tl_thread_detach parks the calling thread's context now, as the end of the
// thread would. The thread that adopts the context releases what the scopes
// still hold. The function is for thread pools whose threads outlive their use
// of the runtime. The next call attaches the thread again.
//
//	C: tl_status tl_thread_detach(void);
//
// Ownership: references held by the thread's scopes pass to the runtime.
// Threads: the calling thread.
// Returns: TL_OK, also when the thread was not attached, or why the thread is still
// attached.
// Errors: TL_E_BUSY (from inside a callback).
// Cost: slow call; constant.
const _ = "tl_thread_detach"

// tl_mem_manager_init is tl_init under the name that the TL compiler emits.
//
//	C: tl_status tl_mem_manager_init(void);
//
// As: tl_init.
//
//export tlgo_mem_manager_init
func tlgo_mem_manager_init(c uintptr) int32 {
	return guardedStatus(c, ready)
}

// tl_mem_manager_shutdown is tl_shutdown under the name that the TL compiler
// emits.
//
//	C: tl_status tl_mem_manager_shutdown(void);
//
// As: tl_shutdown.
//
//export tlgo_mem_manager_shutdown
func tlgo_mem_manager_shutdown(c uintptr) int32 {
	return guardedStatus(c, shutdown)
}
