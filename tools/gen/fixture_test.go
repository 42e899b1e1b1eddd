package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// minimal is the smallest interface that uses every kind of declaration.
var minimal = map[string]string{
	"packaging/VERSION": "1.2.3\n",
	"capi/symbols.txt":  "# As it was.\ntl_version 1\ntl_known 2\n",
	"capi/main.go":      "// Package main is a sample.\n//\n// # Why\n//\n// Because.\npackage main\n",
	"capi/library.go": `// # Library
//
// The essay of the section.
package main

// tl_status tells how it went.
//
//	C: typedef int32_t tl_status;
const _ = "tl_status"

// tl_status_code lists the statuses.
//
//	C: enum tl_status_code {
//	    TL_OK = 0, /* fine */
//	    TL_E_NOT_LIVE = 1
//	};
const _ = "tl_status_code"

// tl_dtype lists element types.
//
//	C: enum tl_dtype {
//	    TL_DTYPE_F32 = 0,
//	    TL_DTYPE_BF16 = 6
//	};
const _ = "tl_dtype"

// TL_ABI_VERSION is the version of the interface.
//
//	C: #define TL_ABI_VERSION 3u
const _ = "TL_ABI_VERSION"

// TL_INLINE_VERSION is the version of the layout.
//
//	C: #define TL_INLINE_VERSION 2u
const _ = "TL_INLINE_VERSION"

// tl_deleter ends memory.
//
//	C: typedef void (*tl_deleter)(void* ptr, void* ctx);
const _ = "tl_deleter"

// tl_pair is two numbers.
//
//	C: typedef struct tl_pair {
//	    size_t first_one; /* how many */
//	    const char* name;
//	} tl_pair;
const _ = "tl_pair"

// DLThing is of somebody else's header.
//
//	C: struct DLThing;
const _ = "DLThing"

// tl_lend lends one.
//
//	C: tl_status tl_lend(const struct DLThing* thing);
//
// Ownership: none.
// Threads: any.
// Returns: the status.
// Errors: none.
// Cost: slow call.
//
//export tlgo_lend
func tlgo_lend(c, thing uintptr) int32 {
	return guardedStatus(c, lend)
}

// tl_version returns the version.
//
//	C: const char* tl_version(void);
//
// Ownership: static.
// Threads: any.
// Returns: it.
// Errors: none.
// Cost: fast; constant.
// LLVM: nounwind, readnone, willreturn, returns nonnull.
const _ = "tl_version"

// tl_take takes an object, and a sentence that is long enough to be broken in
// two.
//
//	C: void* tl_take(void* object, const int64_t* shape, uint8_t kind);
//
// Ownership: the runtime holds
// the object.
// Threads: any.
// Returns: its argument.
// Errors: TL_E_NOT_LIVE (released).
// Cost: fast; constant.
// Fails: object.
// LLVM: returned 0.
//
//export tlgo_take
func tlgo_take(c, pointer, shape uintptr, kind uint8) uintptr {
	return guarded(c, pointer, take)
}

// tl_known tells whether a deleter is known.
//
//	C: bool tl_known(tl_deleter deleter, tl_pair* out_pair);
//
// Ownership: none.
// Returns: true or false.
// Errors: none.
//
//export tlgo_known
func tlgo_known(c, deleter, out uintptr) bool {
	return guarded(c, false, known)
}
`,
	"capi/graphs.go": `//go:build full

// # Graphs
//
// What the full library alone has.
package main

// tl_lease is a struct of the second interface.
//
//	C: typedef struct tl_lease {
//	    size_t bytes;
//	} tl_lease;
const _ = "tl_lease"

// tl_hire takes a pair, and stands between others in the alphabet.
//
//	C: tl_status tl_hire(tl_pair* pair,
//	    const tl_lease* lease);
//
// Ownership: none.
// Threads: any.
// Returns: the status.
// Errors: none.
// Cost: fast; constant.
//
//export tlgo_hire
func tlgo_hire(c, pair, lease uintptr) int32 {
	return guardedStatus(c, hire)
}
`,
	"cshim/base/layout.h": `/* What the header is about. */

/* How much fits.
 * In bytes. */
#define TL_TEXT_SHIFT 3
#define TL_TEXT_BYTES (1u << TL_TEXT_SHIFT) /* and no more */

enum { TL_COLOR_RED = 0, TL_COLOR_BLUE = 1 };
enum { TLC_OWN, TLC_ALONE };

/* Sizes of rooms. */
static const uint8_t tl_rooms[TL_COLOR_BLUE] = {1};

/* Two numbers. */
typedef struct tl_word {
	_Atomic uint32_t low_part, high; /* both */
	/* The one
	 * behind it. */
	struct tl_word* next;
	char text[TL_TEXT_BYTES];
} tl_word;

typedef struct tl_context {
	uint32_t kept, unused;
	tl_word* words;
} tl_context;
#define TL_TEXT_END(word) ((word).text + TL_TEXT_BYTES)

typedef struct tlc_alone { int x : 3; } tlc_alone;
static inline int tlc_add(int a) { return a + TL_TEXT_SHIFT; }
`,
}

// The operation of the sample, and the files beside it, which have nothing to say.
func init() {
	minimal["cshim/inline/records.h"] = `/* About the file. */
#ifndef TL_INLINE_RECORDS_H
#define TL_INLINE_RECORDS_H

#define TLC_NEXT(word) ((word)->next)

/* Answers tl_take. */
static inline bool tlc_op_take(const tl_context* c, tlc_search* found, void* object, const int64_t* shape, uint8_t kind,
                               void** result)
{
	tl_word* word = TLC_NEXT(c->words);
	*result = TL_TEXT_END(*word);
	return c->kept == kind && object != NULL && shape != NULL;
}

static inline __attribute__((pure)) uint32_t tlc_kept(const tl_context* c) { return c->kept; }

#endif
`
	for _, name := range append([]string{inlineSurroundings, inlineNames}, inlineSteps[1:]...) {
		guard := "TL_INLINE_" + strings.ToUpper(strings.TrimSuffix(name, ".h")) + "_H"
		minimal["cshim/inline/"+name] = "/* More. */\n#ifndef " + guard + "\n#define " + guard + "\n\n#endif\n"
	}
	minimal[inlineVersions] = "1 first\n2 ff0105ca4168c569ad2a32600428cb21\n"
}

// repository writes minimal, with changes over it, into a fresh directory. Each
// change is a path, a text in that file and what replaces it; an empty text
// replaces the file.
func repository(t *testing.T, changes ...[3]string) string {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{}
	for path, text := range minimal {
		files[path] = text
	}
	for _, c := range changes {
		if c[1] == "" {
			files[c[0]] = c[2]
			continue
		}
		if !strings.Contains(files[c[0]], c[1]) {
			t.Fatalf("%s does not contain %q", c[0], c[1])
		}
		files[c[0]] = strings.Replace(files[c[0]], c[1], c[2], 1)
	}
	for path, text := range files {
		full := filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		require.NoError(t, os.WriteFile(full, []byte(text), 0o644))
	}
	return root
}
