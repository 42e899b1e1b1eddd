package llvm_test

import (
	"fmt"
	"strings"

	"tlruntime/compiler/lower"
	"tlruntime/compiler/lower/ir"
	"tlruntime/compiler/lower/llvm"
)

func ExampleEmit() {
	program, err := ir.Parse(`func twice(x: int) -> int { return x + x }`) // or build the tree
	if err != nil {
		fmt.Println(err)
		return
	}
	module, err := lower.Lower(program, lower.Options{}) // verifies first
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := llvm.Emit(module, llvm.Options{Version: 18})
	fmt.Println(text[strings.Index(text, "define i64"):], err)
	// Output:
	// define i64 @twice(i64 %x) {
	// .b0:
	//   %t.1 = add i64 %x, %x
	//   ret i64 %t.1
	// }
	//  <nil>
}
