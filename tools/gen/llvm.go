package main

import (
	"fmt"
	"strconv"
	"strings"
)

const llvmNotice = `; TL Runtime: declarations for compilers that emit LLVM IR. Opaque pointers:
; LLVM 15 and later as it is, LLVM 14 with -opaque-pointers.
; ` + notice + `
;
; Only attributes that are true stand here. nounwind is missing wherever a
; callback of the user (destructor, deleter) may run, because it may throw: in
; every function that may enter the slow path, where the thread catches up with
; what others have left it to finish. For the same reason such a function is
; neither readonly nor willreturn, not even one that only looks at something: a
; call that fails writes the thread's status. tl_inl_NAME_unchecked in
; tl_inline.ll are.
; noalias stands on results whose life ends through that same pointer; not on
; registered objects and frame memory, which a later call without the pointer
; ends: a load moved past tl_mem_exit_scope would read freed memory. No
; argument is nonnull, because NULL is a value everywhere. No function is an
; allocator to LLVM (allockind), because dropping a pair of calls would drop a
; count.

`

// renderLLVM writes one declare for each function, with the attributes that
// its LLVM line states.
func renderLLVM(s *source) (string, error) {
	var b strings.Builder
	b.WriteString(llvmNotice)
	for i, sec := range s.sections {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString("; " + sec.title + "\n")
		for _, e := range sec.entries {
			if e.proto == nil {
				continue
			}
			line, err := s.declare(e)
			if err != nil {
				return "", err
			}
			b.WriteString(line + "\n")
		}
	}
	return b.String(), nil
}

// attributes splits an LLVM line: "nounwind, readonly, returns noalias, returned 0".
type attributes struct {
	function []string
	result   []string
	returned int // index of the parameter that is returned, -1 for none
}

func parseAttributes(text string) (attributes, error) {
	a := attributes{returned: -1}
	for _, one := range strings.Split(text, ", ") {
		verb, what, _ := strings.Cut(strings.TrimSpace(one), " ")
		switch verb {
		case "":
		case "nounwind", "readnone", "readonly", "willreturn":
			a.function = append(a.function, verb)
		case "returns":
			a.result = append(a.result, what)
		case "returned":
			n, err := strconv.Atoi(what)
			if err != nil {
				return a, err
			}
			a.returned = n
		default:
			return a, fmt.Errorf("LLVM: %q is not understood", one)
		}
	}
	return a, nil
}

func (s *source) declare(e *entry) (string, error) {
	a, err := parseAttributes(e.value("LLVM"))
	if err != nil {
		return "", fmt.Errorf("%s: %w", e.name, err)
	}
	var params []string
	for i, p := range e.proto.params {
		t, _ := s.scalar(p.ctype)
		text := afterType(t.llvm)
		if i == a.returned {
			text += " returned"
		}
		params = append(params, text)
	}
	r, _ := s.scalar(e.proto.result)
	words := append([]string{"declare"}, a.result...)
	words = append(words, r.llvm, "@"+e.name+"("+strings.Join(params, ", ")+")")
	return strings.Join(append(words, a.function...), " "), nil
}

// afterType puts the attribute of a narrow integer where a parameter has it:
// behind the type, where a result has it in front.
func afterType(llvm string) string {
	if t, ok := strings.CutPrefix(llvm, "zeroext "); ok {
		return t + " zeroext"
	}
	return llvm
}
