package llvm

import (
	"fmt"
	"strings"
)

// kernel returns the loop over the elements of tensors that has this name, as
// "add$f32", or "". The result of an elementwise kernel may be one of its operands.
func kernel(name string) string {
	what, dtype, _ := strings.Cut(name, "$")
	element := map[string]string{"f32": "float", "f64": "double"}[dtype]
	if element == "" {
		return ""
	}
	switch what {
	case "fill":
		return fillKernel(name, element)
	case "sum":
		return sumKernel(name, element)
	case "get":
		return getKernel(name, element)
	case "put":
		return putKernel(name, element)
	}
	return elementwiseKernel(name, element, map[string]string{"add": "fadd", "sub": "fsub", "mul": "fmul"}[what])
}

// loopText is a kernel: before the loop, in each turn, and behind it.
func loopText(head, before, phi, turn, end string) string {
	return fmt.Sprintf(`define internal %s #0 {
entry:
%s  br label %%loop
loop:
  %%i = phi i64 [ 0, %%entry ], [ %%next, %%loop ]
%s%s  %%next = add nuw nsw i64 %%i, 1
  %%more = icmp ult i64 %%next, %%n
  br i1 %%more, label %%loop, label %%done
done:
  %s
}
`, head, before, phi, turn, end)
}

// at addresses element i of an array.
func at(value, array, element string) string {
	return fmt.Sprintf("  %%%s.at = getelementptr inbounds %s, ptr %%%s, i64 %%i\n", value, element, array)
}

func loadAt(value, array, element string) string {
	return at(value, array, element) + fmt.Sprintf("  %%%s = load %s, ptr %%%s.at\n", value, element, value)
}

func storeAt(value, array, element string) string {
	return at(value, array, element) + fmt.Sprintf("  store %s %%%s, ptr %%%s.at\n", element, value, value)
}

func fillKernel(name, element string) string {
	before, value := "", "x"
	if element == "float" {
		before, value = "  %x = fptrunc double %value to float\n", "value"
	}
	return loopText(fmt.Sprintf("void @%s(ptr nocapture writeonly %%to, double %%%s, i64 %%n)", name, value),
		before, "", storeAt("x", "to", element), "ret void")
}

func sumKernel(name, element string) string {
	turn := loadAt("x", "from", element)
	wide := "%x"
	if element == "float" {
		turn += "  %wide = fpext float %x to double\n"
		wide = "%wide"
	}
	turn += "  %sum = fadd double %before, " + wide + "\n"
	return loopText(fmt.Sprintf("double @%s(ptr nocapture readonly %%from, i64 %%n)", name),
		"", "  %before = phi double [ 0.0, %entry ], [ %sum, %loop ]\n", turn, "ret double %sum")
}

// getKernel reads element i of n; those outside are zeros.
func getKernel(name, element string) string {
	body, wide := loadAt("x", "from", element), "%x"
	if element == "float" {
		body += "  %wide = fpext float %x to double\n"
		wide = "%wide"
	}
	return elementKernel(fmt.Sprintf("double @%s(ptr nocapture readonly %%from, i64 %%i, i64 %%n)", name),
		body+"  ret double "+wide, "ret double 0.0")
}

// putKernel changes element i of n, and nothing outside.
func putKernel(name, element string) string {
	body, value := "", "x"
	if element == "float" {
		body, value = "  %x = fptrunc double %value to float\n", "value"
	}
	return elementKernel(fmt.Sprintf("void @%s(ptr nocapture writeonly %%to, i64 %%i, i64 %%n, double %%%s)", name,
		value), body+storeAt("x", "to", element)+"  ret void", "ret void")
}

func elementKernel(head, body, outside string) string {
	return fmt.Sprintf(`define internal %s #0 {
  %%inside = icmp ult i64 %%i, %%n
  br i1 %%inside, label %%element, label %%outside
element:
%s
outside:
  %s
}
`, head, body, outside)
}

func elementwiseKernel(name, element, operation string) string {
	turn := loadAt("x", "a", element) + loadAt("y", "b", element) +
		fmt.Sprintf("  %%z = %s %s %%x, %%y\n", operation, element) + storeAt("z", "to", element)
	return loopText(fmt.Sprintf("void @%s(ptr nocapture writeonly %%to, ptr nocapture readonly %%a, ptr nocapture "+
		"readonly %%b, i64 %%n)", name),
		"", "", turn, "ret void")
}
