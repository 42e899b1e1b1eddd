// Package text is what the writers of LLVM modules have in common: those of plans and of lowered programs.
package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tlruntime/include"
)

// MemoryKnown is the first version of LLVM with the attribute memory(...).
const MemoryKnown = 16

// Code is the body of functions while it is written.
type Code struct {
	Text  strings.Builder
	Names int // registers and labels that were given out
}

// Name returns a name of its own.
func (c *Code) Name(prefix string) string {
	c.Names++
	return prefix + strconv.Itoa(c.Names)
}

// Do emits an instruction without a result.
func (c *Code) Do(format string, args ...any) { fmt.Fprintf(&c.Text, "  "+format+"\n", args...) }

// Give emits an instruction with a result, and returns the name, which the register has.
func (c *Code) Give(name, format string, args ...any) string {
	c.Text.WriteString("  " + name + " = ")
	fmt.Fprintf(&c.Text, format+"\n", args...)
	return name
}

// Double returns the literal of a double or, for a number that a float has, of a float.
func Double(x float64) string { return fmt.Sprintf("0x%016X", math.Float64bits(x)) }

// Runtime returns the declaration of a function of the runtime, "" when there is no such function.
func Runtime(name string) string {
	before, after, found := strings.Cut(include.LLVM, " @"+name+"(")
	if !found {
		return ""
	}
	rest, _, _ := strings.Cut(after, "\n")
	return before[strings.LastIndexByte(before, '\n')+1:] + " @" + name + "(" + rest
}

// ArgumentsOnly says, in a version of LLVM, that a function with these attributes touches only what its arguments
// point to.
func ArgumentsOnly(version int, attributes string) string {
	if version < MemoryKnown {
		return "argmemonly " + attributes
	}
	return attributes + " memory(argmem: readwrite)"
}
