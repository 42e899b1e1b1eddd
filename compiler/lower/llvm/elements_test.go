package llvm

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower"
)

// bodyOf is the text of a function of a module.
func bodyOf(t *testing.T, module, symbol string) string {
	t.Helper()
	_, rest, found := strings.Cut(module, "@"+symbol+"(")
	require.True(t, found, symbol)
	body, _, _ := strings.Cut(rest, "\n}\n")
	return body
}

// TestAddressesAreAskedForOnce counts the calls that return where a tensor's elements
// are: none in a loop over a parameter or a slot. A tensor that changes is another one
// afterwards, perhaps, so that its address is asked for each time.
func TestAddressesAreAskedForOnce(t *testing.T) {
	module := emitted(t, `
func parameter(c: tensor<f64, 8>, n: int) -> float {
	let s = 0.0
	while n > 0 { n = n - 1 s = s + c[n] * c[7 - n] }
	return s
}
func slot(n: int) -> float {
	let c = zeros tensor<f64, 8>
	while n > 0 { n = n - 1 c[n] = c[n] + float(n) c = c * c }
	return sum(c)
}
func once(c: tensor<f64, 8>) -> float { return c[0] }
func never(c: tensor<f64, 8>, n: int) -> float { if n { return once(c) } return never(c, 1) }
func changed(c: tensor<f64, 8>) -> tensor<f64, 8> { c[0] = c[1] c[1] = c[2] return c }
`, lower.Options{}, Options{Version: 15})
	for name, want := range map[string]int{"parameter": 1, "slot": 2, "once": 1, "never": 0, "changed": 4} {
		body := bodyOf(t, module, name)
		require.Equal(t, want, strings.Count(body, "@tl_tensor_data(")+strings.Count(body, "@tensor$read("), "%s: %s",
			name, body)
	}
}

// TestInlineNamesAreTheHeaders looks for what an inlining module calls, with the
// thread, in the header that tl_inline.ll is made of.
func TestInlineNamesAreTheHeaders(t *testing.T) {
	header, err := os.ReadFile("../../../include/tl_inline.h")
	require.NoError(t, err)
	module := emitted(t, everything, lower.Options{}, Options{Version: 15, Inline: true})
	declared := regexp.MustCompile(`(?m)^declare \w+ @(tl_inl_\w+)\((.*)\)$`).FindAllStringSubmatch(module, -1)
	require.Len(t, declared, 8)
	for _, d := range declared {
		name, text := d[1], d[2]
		_, params, found := strings.Cut(string(header), " "+name+"(tl_inl_thread* thread")
		require.True(t, found, name)
		params, _, _ = strings.Cut(params, ")")
		require.Equal(t, strings.Count(text, ","), strings.Count(params, ","), "%s(thread%s)", name, params)
	}
	root := bodyOf(t, module, "root")
	require.Equal(t, 1, strings.Count(root, "@tl_inl_begin("))
	for name := range inlined {
		require.NotContains(t, root, "@"+name+"(")
	}
	require.NotContains(t, bodyOf(t, module, "divided"), "$thread", "a function that counts nothing")
}
