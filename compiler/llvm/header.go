package llvm

import (
	"fmt"
	"slices"
	"strings"

	"tlruntime/compiler/plan"
)

const headerTypes = `#ifndef TL_PLAN_INFO
#define TL_PLAN_INFO
/* A tensor that lies row by row without gaps. */
struct tl_plan_tensor {
    const char* name;
    const int64_t* shape; /* rank extents; NULL for a scalar */
    int64_t bytes;
    int32_t dtype; /* as enum tl_dtype numbers them */
    int32_t rank;
    int32_t embedded; /* 1: the module has it, 2: state of the arena; its entry is not looked at */
    int32_t reserved;
};

/* What a function of a plan takes and gives. */
struct tl_plan_info {
    int64_t size; /* of this structure; a later version has more behind what is here */
    const char* name;
    const char* json; /* the same as JSON */
    int64_t frame_bytes; /* that one call takes from the runtime, or from the caller */
    int64_t slots; /* that it takes them in; 0: in one block */
    int64_t input_count;
    int64_t output_count;
    int64_t constant_count;
    const struct tl_plan_tensor* inputs;
    const struct tl_plan_tensor* outputs;
    const struct tl_plan_tensor* constants;
    int64_t memory; /* 0: a frame of the runtime; 1: its slots; 2: the caller's, the fourth argument */
    int64_t frame_alignment;
    int64_t outside_bytes; /* of the second space, taken from where the frame is; of the caller: the fifth argument */
};
#endif
`

// What is particular to functions with memory of the runtime, and of the caller.
const (
	ofRuntime = ` *
 * Ownership: all tensors stay the caller's.
 * Threads: any number of calls at once, with outputs of their own. The memory
 *     between is the calling thread's frames.
 * Returns: TL_OK, or why there is no result.
 * Errors: TL_E_INVALID_ARGUMENT (an address is NULL; an index, or a number of turns
 *     or elements, is not one that the plan holds for), and those of the runtime's
 *     frames.
 */
int32_t NAME(const void* const* inputs, void* const* outputs, const void* const* constants);
`
	ofCaller = ` *
 * All memory between inputs and outputs is scratch: NAME_FRAME_BYTES bytes at a
 * multiple of NAME_FRAME_ALIGNMENT that overlap no tensor. Its content has no
 * meaning before the call and after it. With a frame of 0 bytes scratch is not
 * looked at. The function calls nothing of the runtime.
 *
 * Ownership: all tensors and scratch stay the caller's.
 * Threads: any number of calls at once, with outputs and scratch of their own.
 * Returns: TL_OK, or why there is no result.
 * Errors: TL_E_INVALID_ARGUMENT (an address or scratch is NULL, scratch is not
 *     aligned; an index, or a number of turns or elements, is not one that the plan
 *     holds for).
 */
int32_t NAME(const void* const* inputs, void* const* outputs, const void* const* constants, void* scratch);
`
	ofCallerOutside = ` *
 * All memory between inputs and outputs is scratch, NAME_FRAME_BYTES bytes, and
 * outside, NAME_OUTSIDE_BYTES bytes to which values are moved that are not needed
 * for a while: other memory, or a file that is mapped. Both begin at a multiple of
 * NAME_FRAME_ALIGNMENT and overlap no tensor and not each other. Their content has
 * no meaning before the call and after it. With a frame of 0 bytes scratch is not
 * looked at. The function calls nothing of the runtime.
 *
 * Ownership: all tensors, scratch and outside stay the caller's.
 * Threads: any number of calls at once, with outputs, scratch and outside of their
 *     own.
 * Returns: TL_OK, or why there is no result.
 * Errors: TL_E_INVALID_ARGUMENT (an address, scratch or outside is NULL, scratch or
 *     outside is not aligned, an index is out of range, a number of turns or
 *     elements is another one than was planned).
 */
int32_t NAME(const void* const* inputs, void* const* outputs, const void* const* constants, void* scratch, void* outside);
`
	ofArena = ` * Entries of arrays that are state are not looked at.
 *
 * Scratch is the arena: NAME_FRAME_BYTES bytes of it, at a multiple of
 * NAME_FRAME_ALIGNMENT, that overlap no tensor. States lie in it at their offsets:
 * the function reads and changes those that it takes and gives, and leaves all
 * others as they are. What lies behind the states has no meaning before the call and
 * after it. The function calls nothing of the runtime.
 *
 * Ownership: all tensors and the arena stay the caller's.
 * Threads: one call at a time for each arena; any number with arenas and outputs of
 *     their own.
 * Returns: TL_OK, or why there is no result.
 * Errors: TL_E_INVALID_ARGUMENT (an address or scratch is NULL, scratch is not
 *     aligned: nothing is changed; an index, or a number of turns or elements, is not
 *     one that the plan holds for: states that the function gives have no meaning).
 */
int32_t NAME(const void* const* inputs, void* const* outputs, const void* const* constants, void* scratch);
`
)

// Header returns a C header that declares what the module of Module defines.
func Header(p *plan.ExecutionPlan, o Options) (string, error) {
	info, err := Describe(p, o)
	if err != nil {
		return "", err
	}
	return guarded(info.Name, func(b *strings.Builder) { declareFunction(b, &info) }), nil
}

// guarded is a header around declarations.
func guarded(name string, declare func(*strings.Builder)) string {
	var b strings.Builder
	guard := "TL_PLAN_" + strings.ToUpper(name) + "_H"
	fmt.Fprintf(&b,
		"/* %s: an execution plan of TL Runtime, compiled. */\n#ifndef %s\n#define %s\n\n#include <stdint.h>\n\n",
		name, guard, guard)
	fmt.Fprintf(&b, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n%s\n", headerTypes)
	declare(&b)
	b.WriteString("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
	return b.String()
}

// declareFunction writes what is known of one function.
func declareFunction(b *strings.Builder, info *Info) {
	fmt.Fprintf(b, "#define %s_FRAME_BYTES %d\n#define %[1]s_FRAME_ALIGNMENT %[3]d\n", info.Name, info.FrameBytes,
		info.Alignment)
	if info.Outside > 0 {
		fmt.Fprintf(b, "#define %s_OUTSIDE_BYTES %d\n", info.Name, info.Outside)
	}
	describeArray(b, info.Name, "INPUT", info.Inputs)
	describeArray(b, info.Name, "OUTPUT", info.Outputs)
	describeArray(b, info.Name, "CONSTANT", info.Constants)
	about := ofRuntime
	if info.Memory == memoryNames[Caller] {
		about = ofCaller
		if info.Outside > 0 {
			about = ofCallerOutside
		}
	}
	if slices.ContainsFunc(slices.Concat(info.Inputs, info.Outputs), func(t TensorInfo) bool { return t.State != "" }) {
		about = ofArena
	}
	fmt.Fprintf(b, `
/*
 * %[1]s computes the outputs. Each argument is an array with the addresses of
 * tensors, in the order above; an array without entries may be NULL. Addresses are
 * aligned to their element. No output may overlap an input, a constant or another
 * output.
%[2]s
extern const struct tl_plan_info %[1]s_info;
extern const char %[1]s_json[];
`, info.Name, strings.ReplaceAll(about, "NAME", info.Name))
}

func describeArray(b *strings.Builder, name, array string, list []TensorInfo) {
	fmt.Fprintf(b, "\n#define %s_%sS %d\n", name, array, len(list))
	for i, t := range list {
		note := ""
		switch {
		case t.Embedded:
			note = ", in the module"
		case t.State != "":
			note = ", state " + plainText(t.State)
		}
		fmt.Fprintf(b, "#define %s_%s%d_BYTES %d /* %s: %s %v%s */\n", name, array, i, t.Bytes, plainText(t.Name), t.DType,
			t.Shape, note)
	}
}

// plainText is text that cannot end a comment.
func plainText(s string) string {
	return strings.NewReplacer("*/", "* /", "/*", "/ *", "\n", " ", "\\", "/").Replace(s)
}
