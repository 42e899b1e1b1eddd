package llvm

import (
	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// divide writes a division or remainder of ints. LLVM's has no value for a divisor of 0,
// nor for the least int and -1: unless it is another constant, a routine looks first.
func (f *function) divide(o *flow.Op) {
	instruction, name := "sdiv", "int$div"
	if o.Op == ir.Rem {
		instruction, name = "srem", "int$rem"
	}
	a := f.gets(o.Args)
	if d := o.Args[1]; d.Var == flow.NoVar && d.Int != 0 && d.Int != -1 {
		f.compute(o.Dst, "%s i64 %s, %s", instruction, a[0], a[1])
		return
	}
	f.compute(o.Dst, "call i64 %s(i64 %s, i64 %s)", f.need(name), a[0], a[1])
}

// intSupport are the routines for ints, by name.
var intSupport = map[string]routine{
	"int$div": {nil, division("int$div", "0", "%least", "sdiv")},
	"int$rem": {nil, division("int$rem", "%a", "0", "srem")},
}

// division is a routine: what a divisor of 0 gives, what -1 gives, and the instruction
// for all others.
func division(name, zero, minusOne, instruction string) string {
	return "define internal i64 @" + name + `(i64 %a, i64 %b) {
  %least = sub i64 0, %a
  switch i64 %b, label %other [ i64 0, label %zero
                                i64 -1, label %minus ]
zero:
  ret i64 ` + zero + `
minus:
  ret i64 ` + minusOne + `
other:
  %q = ` + instruction + ` i64 %a, %b
  ret i64 %q
}
`
}
