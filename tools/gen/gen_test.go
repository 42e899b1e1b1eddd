package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// golden is what each output has to contain for the sample interface.
var golden = map[string][]string{
	"packaging/tl_tensor.syms": {"# Other names for the tensor functions of libtl_runtime.a"},
	"include/tl_runtime.h": {
		" * Why\n * ---\n *\n * Because.\n",
		" * Library\n * -------\n *\n * The essay of the section.\n",
		"/* tl_status tells how it went. */\ntypedef int32_t tl_status;\n",
		"    TL_OK = 0, /* fine */\n",
		"struct DLThing;\n", "TL_API tl_status tl_lend(const struct DLThing* thing);\n",
		`/*
 * tl_take takes an object, and a sentence that is long enough to be broken in
 * two.
 *
 * Ownership: the runtime holds the object.
 * Threads: any.
 * Returns: its argument.
 * Errors: TL_E_NOT_LIVE (released).
 * Cost: fast; constant.
 */
TL_API void* tl_take(void* object, const int64_t* shape, uint8_t kind);
`,
	},
	"capi/exports.map": {"global:\n\ttl_known;\n\ttl_lend;\n\ttl_take;\n\ttl_version;\nlocal:\n\t*;\n"},
	symbolList:         {"removes one.\ntl_known 2\ntl_lend 3\ntl_take 3\ntl_version 1\n"},
	"include/tl_graph.h": {
		"#include \"tl_runtime.h\"\n", " * Graphs\n * ------\n *\n * What the full library alone has.\n",
		"TL_API tl_status tl_hire(tl_pair* pair,\n    const tl_lease* lease);\n",
	},
	"capi/exports_full.map": {"global:\n\ttl_hire;\n\ttl_known;\n\ttl_lend;\n\ttl_take;\n\ttl_version;\nlocal:\n\t*;\n"},
	fullSymbolList:          {"removes one.\ntl_hire 3\n"},
	"cshim/generated_graph_calls.c": {
		"//go:build full\n\n/* ",
		"\ntl_status slow_hire(tl_pair* pair, const tl_lease* lease) {\n",
	},
	"runtime/status/functions_full.go": {
		"//go:build full\n\npackage status\n\nfunc init() {\n\tfunctions = append(functions,\n\t\t\"tl_hire\",\n\t)\n}\n",
	},
	"python/tl_runtime/_graph/abi.py": {
		"from .._abi import Function\n", "class tl_lease(ctypes.Structure):", "    Function(\"tl_hire\", ctypes.c_int32, (ctypes.POINTER(tl_pair), ",
	},
	"cshim/base/generated_slow.h": {
		"\tTL_FN_tl_lend,\n\tTL_FN_tl_version,\n\tTL_FN_tl_take,\n\tTL_FN_tl_known,\n" +
			"\tTL_FN_tl_hire,\n\tTL_FN_COUNT\n",
		"#ifdef TL_FULL\n#include \"tl_graph.h\"\n#endif\n",
		"#ifdef TL_FULL\nextern int32_t tlgo_hire(uintptr_t context, uintptr_t pair, uintptr_t lease);\n#endif\n",
		"extern uintptr_t tlgo_take(uintptr_t context, uintptr_t object, uintptr_t shape, uint8_t kind);\n",
		"extern uint8_t tlgo_known(uintptr_t context, uintptr_t deleter, uintptr_t out_pair);\n",
		"void* slow_take(void* object, const int64_t* shape, uint8_t kind);\n",
	},
	"cshim/generated_calls.c": {
		`bool tl_known(tl_deleter deleter, tl_pair* out_pair) {
	tl_status why = TL_OK;
	tl_context* context = tlc_entry_begin(TL_FN_tl_known, &why);
	if (context == NULL) return false;
	uint8_t result = tlgo_known((uintptr_t)context, (uintptr_t)deleter, (uintptr_t)out_pair);
	tlc_entry_end(context);
	return result != 0;
}
`,
		"void* slow_take(", "\tif (context == NULL) return (void*)object;\n", "\treturn (void*)result;\n",
		"tlgo_lend((uintptr_t)context, (uintptr_t)thing);",
	},
	"cshim/base/generated_dtypes.h": {
		"#define TLC_EACH_DTYPE(X) \\\n\tX(F32, 4, FLOAT, 'f') \\\n\tX(BF16, 2, BFLOAT, 0)\n",
	},
	"include/tl_runtime.ll": {
		"declare nonnull ptr @tl_version() nounwind readnone willreturn\n",
		"declare ptr @tl_take(ptr returned, ptr, i8 zeroext)\n",
		"declare zeroext i1 @tl_known(ptr, ptr)\n",
	},
	"capi/generated_structs.go":       {"type tl_pair struct {\n\tFirstOne uintptr\n\tName     uintptr\n}\n"},
	"capi/generated_graph_structs.go": {"//go:build full\n\npackage main\n\ntype tl_lease struct {\n\tBytes uintptr\n}\n"},
	"python/tl_runtime/_abi.py": {
		"class StatusCode(enum.IntEnum):", "    OK = 0\n    NOT_LIVE = 1\n",
		"DTYPES = {\n    0: (\"f32\", \"<f4\", \"f\"),\n    6: (\"bf16\", \"<V2\", \"2x\"),\n}\n",
		"tl_deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)\n",
		"        (\"first_one\", ctypes.c_size_t),\n        (\"name\", ctypes.c_char_p),\n",
		"    Function(\"tl_take\", ctypes.c_void_p, (ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64), ctypes.c_uint8),\n" +
			"             (\"object\", \"shape\", \"kind\"),\n             (\"TL_E_NOT_LIVE\",)),\n",
		"    Function(\"tl_known\", ctypes.c_bool, (tl_deleter, ctypes.POINTER(tl_pair)),\n",
		"    Function(\"tl_lend\", ctypes.c_int32, (ctypes.c_void_p,),\n",
	},
	"cshim/generated_tables.c": {
		"\t\"tl_known\",\n#ifdef TL_FULL\n\t\"tl_hire\",\n#endif\n};\n",
		"#ifdef TL_FULL\n\t{\"tl_hire\", (void*)(uintptr_t)tl_hire},\n#endif\n" +
			"\t{\"tl_known\", (void*)(uintptr_t)tl_known},\n\t{\"tl_lend\",",
	},
	"include/tl_inline.h": {
		"#define TL_INL_TEXT_END(word) ((word).text + TL_INL_TEXT_BYTES)\n#define TL_INL_TEXT_BYTES 8u\n",
		"struct tl_inl_word {\n\tchar gap0[8];\n\ttl_inl_word* next;\n\tchar text[8];\n};\n",
		"struct tl_inl_context {\n\tuint32_t kept;\n\tchar gap0[4];\n\ttl_inl_word* words;\n};\n",
		"/* Answers tl_take. */\nTL_INL_STEP bool tl_inl_op_take(const tl_inl_context* c, tl_inl_search* found, void* object,",
		"\nTL_INL_ACCESSOR uint32_t tl_inl_kept(const tl_inl_context* c) { return c->kept; }\n",
		`TL_INL_FUNCTION void* tl_inl_take(tl_inl_thread* thread, void* object, const int64_t* shape, uint8_t kind)
{
	void* result;
	thread->found.object = object;
	if (TL_INL_LIKELY(thread->context != 0) && TL_INL_LIKELY(tl_inl_op_take((tl_inl_context*)thread->context, &thread->found, object, shape, kind, &result))) return result;
	result = (tl_take)(object, shape, kind);
	thread->context = 0;
	return result;
}
`,
		"tl_inl_op_take(tl_inl_here(), NULL, object, shape, kind, &result)",
		"#define tl_take(...) tl_inl_call_take(__VA_ARGS__)\n",
	},
	"runtime/status/functions.go": {"\t\"\",\n\t\"tl_lend\",\n\t\"tl_version\",\n\t\"tl_take\",\n\t\"tl_known\",\n"},
	"runtime/layout/generated_layout.go": {
		"// How much fits.\n// In bytes.\n" +
			"const (\n\tTextShift = 3\n\tTextBytes = 1 << TextShift // and no more\n)\n\n" +
			"const (\n\tColorRed  = 0\n\tColorBlue = 1\n)\n\n" +
			"// Sizes of rooms.\nvar Rooms = [ColorBlue]uint8{1}\n\n" +
			"// Two numbers.\ntype Word struct {\n\tLowPart, High uint32 // atomic; both\n" +
			"\t// The one\n\t// behind it.\n\tNext uintptr\n\tText [TextBytes]byte\n}\n\n" +
			"// WordBytes is sizeof(tl_word).\nconst WordBytes = 24\n",
	},
	"cshim/generated_layout.c": {
		"IS(TL_TEXT_SHIFT, 3); IS(TL_TEXT_BYTES, 8); IS(TL_COLOR_RED, 0); IS(TL_COLOR_BLUE, 1);\n",
		"SIZE(tl_word, 24); AT(tl_word, low_part, 0); AT(tl_word, high, 4); " +
			"AT(tl_word, next, 8); AT(tl_word, text, 16);\n",
	},
	matrixCalls: {
		`static const matrix_param params_take[] = {
	{"object", "void", MATRIX_OBJECT, 0, false, false},
	{"shape", "int64_t", MATRIX_NUMBERS, 0, false, false},
	{"kind", "uint8_t", MATRIX_INTEGER, sizeof(uint8_t), false, false},
};
`,
		"\treturn (uint64_t)(uintptr_t)tl_take((void*)(uintptr_t)a[0], (const int64_t*)(uintptr_t)a[1], " +
			"(uint8_t)a[2]);\n",
		"\t{\"out_pair\", \"tl_pair\", MATRIX_OUTPUT, sizeof(tl_pair), false, false},\n",
		"\t{\"deleter\", \"tl_deleter\", MATRIX_CALLBACK, 0, false, false},\n",
		"\t{\"thing\", \"DLThing\", MATRIX_STRUCT, 0, false, false},\n",
		"\t{\"tl_take\", call_take, params_take, 3, MATRIX_RETURNS_POINTER, MATRIX_PATH_FAST, 0, 0, " +
			"MATRIX_STATUS(TL_E_NOT_LIVE)},\n",
		"\t{\"tl_known\", call_known, params_known, 2, MATRIX_RETURNS_BOOL, MATRIX_PATH_SLOW, 0, -1, 0},\n",
		"const int matrix_function_count = 4;\n",
	},
	kindsTable:                   {"\n#define KINDS(ROW) \\\n\tROW(tl_version, FAST) \\\n\tROW(tl_take, FAST)\n"},
	matrixFullCalls:              {"static const matrix_param params_hire[] = {\n", "const int matrix_function_count = 1;\n"},
	"cshim/generated_headers.h":  {"The sum of the headers in the other folders of cshim: "},
	"runtime/status/statuses.go": {"const (\n\tOK      Status = 0\n\tNotLive Status = 1\n)\n", "\tNotLive: \"TL_E_NOT_LIVE\",\n"},
}

func TestGolden(t *testing.T) {
	files, faults := render(repository(t))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if len(files) != len(golden) {
		t.Errorf("%d outputs, %d of them are checked", len(files), len(golden))
	}
	for path, parts := range golden {
		for _, part := range parts {
			if !strings.Contains(files[path], part) {
				t.Errorf("%s lacks\n%s\nit is\n%s", path, part, files[path])
			}
		}
	}
}

func TestPathsRepeatWhatMayRunOutOfMemory(t *testing.T) {
	const library = "capi/library.go"
	short := [3]string{library, "TL_E_NOT_LIVE = 1\n", "TL_E_OUT_OF_MEMORY = 1\n"}
	released := [3]string{library, "TL_E_NOT_LIVE (released)", "TL_E_OUT_OF_MEMORY"}
	lent := [3]string{library, "// Errors: none.\n", "// Errors: TL_E_OUT_OF_MEMORY.\n"}
	answersItself := [3]string{library, "// Fails: object.\n", ""}
	files, faults := render(repository(t, short, released, lent, answersItself))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	paths := files["cshim/generated_calls.c"]
	for _, part := range []string{
		" = tlc_entry_begin_for_memory(TL_FN_tl_take, &why);\n", " = tlc_entry_begin(TL_FN_tl_known, &why);\n",
		"\tint32_t result;\n\tdo {\n\t\tresult = tlgo_lend(",
		"\t} while (result != TL_OK && tlc_entry_again(context));\n",
		"\t\tresult = tlgo_take(", "\t} while (result == 0 && tlc_entry_again(context));\n",
		"\tuint8_t result = tlgo_known(",
	} {
		if !strings.Contains(paths, part) {
			t.Errorf("no %q in\n%s", part, paths)
		}
	}
	files, _ = render(repository(t, short, released))
	if strings.Contains(files["cshim/generated_calls.c"], "tlc_entry_again") {
		t.Error("a call that returns its argument does not tell whether it failed")
	}
}

func TestRefusalsNeedNoGo(t *testing.T) {
	files, faults := render(repository(t, [3]string{"capi/library.go", "// Fails: object.\n",
		"// Fails: object.\n// Refuses: object.\n// Null: NULL.\n"}))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if want := `	tl_status why = TL_OK;
	if (object == NULL && tlc_is_fast(tlc_tls)) return tlc_null(tlc_tls);
	if (tlc_refuse(TL_FN_tl_take, object, &why)) return (void*)object;
`; !strings.Contains(files["cshim/generated_calls.c"], want) {
		t.Errorf("the slow path lacks\n%s", want)
	}
}

func TestAFunctionHasTheLabelsOfAnother(t *testing.T) {
	lend := "// Ownership: none.\n// Threads: any.\n// Returns: the status.\n// Errors: none.\n// Cost: slow call.\n"
	files, faults := render(repository(t, [3]string{"capi/library.go", lend,
		"// As: tl_take.\n// Errors: none.\n// Path: slow.\n"}))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	_, text, _ := strings.Cut(files["include/tl_runtime.h"], "tl_lend lends one.")
	text, _, _ = strings.Cut(text, "tl_lend(")
	for _, want := range []string{"Ownership: the runtime holds the object.", "Returns: its argument.", "Errors: none."} {
		if !strings.Contains(text, want) {
			t.Errorf("the comment of tl_lend lacks %q: %s", want, text)
		}
	}
	_, faults = render(repository(t, [3]string{"capi/library.go", lend, "// As: tl_gone.\n"}))
	if !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, "no function tl_gone") }) {
		t.Errorf("a function that does not exist: %v", faults)
	}
}

func TestMatrixKnowsWhatIsTrusted(t *testing.T) {
	files,
		faults := render(repository(t, [3]string{"capi/library.go", "// Fails: object.\n",
		"// Fails: object.\n// Trusts: object.\n"}))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if !strings.Contains(files[matrixCalls], "{\"object\", \"void\", MATRIX_OBJECT, 0, false, true},") {
		t.Error("the caller is believed about the object of tl_take, and the table does not say so")
	}
}

func TestRefuses(t *testing.T) {
	const library, shared, steps = "capi/library.go", "cshim/base/layout.h", "cshim/inline/records.h"
	for name, c := range map[string]struct {
		change [3]string
		want   string
	}{
		"released function": {[3]string{symbolList, "tl_known", "tl_gone"},
			"tl_gone is of interface 2 and is not declared"},
		"missing Ownership": {[3]string{library, "// Ownership: static.\n", ""},
			"tl_version: no line `Ownership: ...`"},
		"missing Errors": {[3]string{library, "// Errors: TL_E_NOT_LIVE (released).\n", ""},
			"tl_take: no line `Errors: ...`"},
		"no kind of cost": {[3]string{library, "Cost: fast; constant.", "Cost: constant."},
			"Cost has to begin with one of: fast, grows, slow call"},
		"unknown status": {[3]string{library, "TL_E_NOT_LIVE (released)", "TL_E_GONE"}, "TL_E_GONE does not exist"},
		"vague errors":   {[3]string{library, "TL_E_NOT_LIVE (released)", "several"}, "lists no TL_E_ status"},
		"status twice": {[3]string{library, "TL_E_NOT_LIVE (released)", "TL_E_NOT_LIVE, TL_E_NOT_LIVE"},
			"listed twice"},
		"foreign name": {[3]string{library, "typedef int32_t tl_status;\nconst _ = \"tl_status\"",
			"typedef int32_t st;\nconst _ = \"st\""}, "st: no line `C: ...`"},
		"other name":        {[3]string{library, "// tl_known tells", "// It tells"}, "has to begin with the name"},
		"other declaration": {[3]string{library, "C: bool tl_known(", "C: bool tl_unknown("}, "declares tl_unknown"},
		"no declaration": {[3]string{library, "//\tC: const char* tl_version(void);\n", ""},
			"tl_version: no line `C: ...`"},
		"pointer in Go": {[3]string{library, "shape uintptr, kind uint8", "shape unsafe.Pointer, kind uint8"},
			"Go parameters are"},
		"narrower in Go":     {[3]string{library, "kind uint8", "kind int32"}, "Go parameters are"},
		"other result in Go": {[3]string{library, "out uintptr) bool {", "out uintptr) int32 {"}, "Go results are"},
		"no context": {[3]string{library, "tlgo_known(c, deleter, out uintptr)", "tlgo_known(deleter, out uintptr)"},
			"Go parameters are"},
		"bypassed guard": {[3]string{library, "return guarded(c, false, known)", "return known(c)"},
			"the body has to be"},
		"work beside guard": {[3]string{library, "\treturn guarded(c, false, known)",
			"\tprepare()\n\treturn guarded(c, false, known)"},
			"the body has to be"},
		"not exported": {[3]string{library, "//export tlgo_known\n", ""}, "no line //export tlgo_known"},
		"unknown C type": {[3]string{library, "const int64_t* shape", "const long* shape"},
			"is no type of the ABI"},
		"unnamed parameter": {[3]string{library, "void* object, const", "void*, const"}, "a parameter without a name"},
		"unknown path":      {[3]string{library, "// Fails: object.", "// Path: back."}, "Path has to be one of"},
		"shim with a twin":  {[3]string{library, "// Fails: object.", "// Path: shim."}, "a shim function has no Go twin"},
		"slow without twin": {[3]string{library, "LLVM: nounwind, readnone, willreturn", "Path: slow.\n// LLVM: nounwind, readnone, willreturn"}, "needs a Go twin"},
		"unknown field":     {[3]string{library, "size_t first_one;", "long first_one;"}, "first_one: long is no type of the ABI"},
		"comment marks": {[3]string{library, "tl_deleter ends memory.", "tl_deleter ends */ memory."},
			"marks of a C comment"},
		"no title": {[3]string{library, "// # Library\n", "// Library\n"}, "has to begin with `# Title`"},
		"unlisted section": {[3]string{"capi/extra.go", "",
			"// # Extra\npackage main\n\n// tl_extra is more.\n//\n//\tC: typedef struct tl_extra tl_extra;\nconst " +
				"_ = \"tl_extra\"\n"}, "is not in sectionOrder"},
		"LLVM attribute": {[3]string{library, "LLVM: returned 0.", "LLVM: argmemonly."}, "is not understood"},
		"nounwind path": {[3]string{library, "LLVM: returned 0.", "LLVM: nounwind, returned 0."},
			"may run destructors"},
		"readonly path": {[3]string{library, "LLVM: returned 0.", "LLVM: readonly, returned 0."},
			"may run destructors"},
		"unknown role": {[3]string{library, "void* object, const", "void* thing, const"},
			"what is `void* thing` to the matrix?"},
		"refuses nobody": {[3]string{library, "// Fails: object.\n", "// Refuses: subject.\n"},
			"Refuses: there is no parameter subject"},
		"answers to nobody": {[3]string{library, "// Fails: object.\n", "// Null: NULL.\n"},
			"Null is the answer for the parameter that Refuses names"},
		"trusts nobody": {[3]string{library, "// Fails: object.\n", "// Trusts: subject.\n"},
			"there is no parameter subject"},
		"broken promise": {[3]string{library, "// Returns: true or false.", "// Returns: -1 on failure."},
			"a line `Fails: -1.` is needed"},
		"bit-field": {[3]string{shared, "char text[TL_TEXT_BYTES];", "uint32_t text : 3;"},
			"not a member that Go can have"},
		"type without width": {[3]string{shared, "char text[TL_TEXT_BYTES];", "long text;"},
			"not a type that Go can have"},
		"union": {[3]string{shared, "typedef struct tlc_alone {", "typedef union tl_alone {"},
			"2 of 3 structs tl_* are understood"},
		"unknown element":  {[3]string{library, "BF16 = 6", "BF16 = 7"}, `TL_DTYPE_BF16 is "" in runtime/dtype`},
		"counting enum":    {[3]string{shared, "TL_COLOR_BLUE = 1", "TL_COLOR_BLUE"}, "without a value of its own"},
		"unknown constant": {[3]string{shared, "#define TL_TEXT_SHIFT 3\n", ""}, "undefined: TextShift"},
		"operation without a call": {[3]string{steps, "tlc_op_take(", "tlc_op_give("},
			"tlc_op_give: tl_give is no function with a fast path"},
		"operation of a slow call": {[3]string{library, "// Fails: object.\n", "// Path: slow.\n// Fails: object.\n"},
			"tlc_op_take: tl_take is no function with a fast path"},
		"operation with other arguments": {[3]string{steps, "uint8_t kind", "uint32_t kind"},
			"tl_take needs (tl_context* c, void* object, const int64_t* shape, uint8_t kind, void** result)"},
		"a name that programs lack": {[3]string{steps, "TLC_NEXT(c->words)", "tl_words[0]"}, "programs do not have tl_words"},
		"two names that become one": {[3]string{steps, "tlc_op_take", "tlc_word(void);\nstatic inline bool tlc_op_take"},
			"would both be tl_inl_word"},
		"another layout": {[3]string{shared, "uint32_t kept, unused;", "uint32_t unused, kept;"},
			"differs from version 2: raise TL_INLINE_VERSION"},
		"another step": {[3]string{steps, "shape != NULL", "shape == NULL"}, "differs from version 2"},
		"a version without a sum": {[3]string{library, "TL_INLINE_VERSION 2u", "TL_INLINE_VERSION 3u"},
			"has no version 3"},
		"one name twice": {[3]string{shared, "TL_COLOR_RED", "TL_WORD"}, "Word redeclared"},
	} {
		t.Run(name, func(t *testing.T) {
			_, faults := render(repository(t, c.change))
			if !strings.Contains(strings.Join(faults, "\n"), c.want) {
				t.Errorf("faults are %q, want one with %q", faults, c.want)
			}
		})
	}
}

// What programs do not see has no version.
func TestTheLayoutMayChangeWhereProgramsDoNotLook(t *testing.T) {
	for _, change := range [][3]string{
		{"cshim/base/layout.h", "kept, unused;", "kept, spare;"},
		{"cshim/inline/records.h", "/* Answers tl_take. */", "/* May answer\n * tl_take. */"},
		{"packaging/VERSION", "1.2.3", "1.2.4"},
	} {
		if _, faults := render(repository(t, change)); len(faults) > 0 {
			t.Errorf("%q: %q", change, faults)
		}
	}
}

func TestStale(t *testing.T) {
	root := repository(t)
	if faults := write(root); len(faults) > 0 {
		t.Fatal(faults)
	}
	if faults := checkStale(root); len(faults) > 0 {
		t.Errorf("fresh files are called stale: %q", faults)
	}
	for name := range golden {
		if slices.Contains(ofTests, name) {
			continue
		}
		path := filepath.Join(root, name)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(text, '\n'), 0o644))
		if faults := checkStale(root); len(faults) != 1 || !strings.HasPrefix(faults[0], name+" is stale") {
			t.Errorf("%s was changed; faults are %q", name, faults)
		}
		require.NoError(t, os.Remove(path))
		if faults := checkStale(root); len(faults) != 1 {
			t.Errorf("%s was removed; faults are %q", name, faults)
		}
		write(root)
	}
}

func TestTheMatrixIsWrittenWhereTheBuildWantsIt(t *testing.T) {
	for which, count := range map[string]string{matrixCalls: "4", matrixFullCalls: "1"} {
		path := filepath.Join(t.TempDir(), "calls.c")
		if faults := writeOne(repository(t), path, which); len(faults) > 0 {
			t.Fatal(faults)
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "const int matrix_function_count = "+count+";\n") {
			t.Errorf("%v, %s", err, text)
		}
	}
}

func TestWriteKeepsUnchangedFiles(t *testing.T) {
	root := repository(t)
	write(root)
	path := filepath.Join(root, "include", "tl_runtime.h")
	require.NoError(t, os.Chmod(path, 0o444))
	before, _ := os.Stat(path)
	if faults := write(root); len(faults) > 0 {
		t.Fatal(faults)
	}
	after, _ := os.Stat(path)
	if !before.ModTime().Equal(after.ModTime()) {
		t.Error("an unchanged file was written again")
	}
}

func TestCoverage(t *testing.T) {
	root := repository(t)
	want := "no test has `covers: tl_take TL_E_NOT_LIVE`, or a check of it"
	if faults := checkCoverage(root); len(faults) != 1 || faults[0] != want {
		t.Errorf("faults are %q, want %q", faults, want)
	}
	for _, text := range []string{"/* covers: tl_take TL_E_NOT_LIVE */", "CHECK_REFUSED(tl_take(f(1), 2),\n\t0, TL_E_NOT_LIVE);",
		"CHECK_REFUSES((intptr_t)tl_take(bad), 0);"} {
		covered := repository(t, [3]string{"tests_c/take_test.c", "", text + "\n"})
		if faults := checkCoverage(covered); len(faults) > 0 {
			t.Errorf("a pair that %q covers is missed: %q", text, faults)
		}
	}
	for _, text := range []string{"CHECK_FAILS(tl_take(0), TL_E_BUSY);", "CHECK_OK(tl_take(TL_E_NOT_LIVE));"} {
		if faults := checkCoverage(repository(t, [3]string{"tests_c/take_test.c", "", text + "\n"})); len(faults) != 1 {
			t.Errorf("%q covers nothing that is documented: %q", text, faults)
		}
	}
	orphan := repository(t, [3]string{"python/tests/test_take.py", "", "# covers: tl_take TL_E_NOT_LIVE, TL_E_BUSY\n"})
	want = "python/tests/test_take.py: covers an error that is not documented: tl_take TL_E_BUSY"
	if faults := checkCoverage(orphan); len(faults) != 1 || faults[0] != want {
		t.Errorf("faults are %q, want %q", faults, want)
	}
}

// The header is read more often than the manual, so most of it has to explain.
func TestHeaderIsMostlyComment(t *testing.T) {
	files, faults := render("../..")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	comment, all, inside := 0, 0, false
	for _, line := range strings.Split(files["include/tl_runtime.h"], "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		all++
		inside = inside || strings.HasPrefix(line, "/*")
		if inside {
			comment++
		}
		inside = inside && !strings.Contains(line, "*/")
	}
	if 100*comment < 60*all {
		t.Errorf("%d of %d lines of the header are comments, want 60 %%", comment, all)
	}
}

func TestRedefineListsFunctionsOfAPrefix(t *testing.T) {
	src, faults := load(filepath.Join("..", ".."))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	lines := src.redefine("tl_vec_=my_vec_")
	if !slices.Contains(lines, "tl_vec_push my_vec_push\n") {
		t.Fatalf("no tl_vec_push in %q", lines)
	}
	for _, line := range lines {
		if old, renamed, _ := strings.Cut(strings.TrimSpace(line), " "); renamed != "my_"+strings.TrimPrefix(old, "tl_") {
			t.Error(line)
		}
	}
	for _, wrong := range []string{"tl_vec_", "=my_", "tl_vec_=", "tl_nothing_=my_"} {
		if lines := src.redefine(wrong); lines != nil {
			t.Errorf("%s gives %q", wrong, lines)
		}
	}
}
