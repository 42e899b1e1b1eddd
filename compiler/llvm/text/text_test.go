package text

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRuntime(t *testing.T) {
	for name, want := range map[string]string{
		"tl_last_error":     "declare nonnull ptr @tl_last_error()",
		"tl_mem_alloc":      "declare noalias ptr @tl_mem_alloc(i64)",
		"tl_mem_exit_scope": "declare i32 @tl_mem_exit_scope()",
		"tl_mem":            "",
		"abort":             "",
	} {
		require.Equal(t, want, Runtime(name), name)
	}
}

func TestCode(t *testing.T) {
	var c Code
	c.Do("store i32 %s, ptr %%at", c.Give(c.Name("%v"), "add i32 %[2]d, %[1]d", 1, 2))
	require.Equal(t, "  %v1 = add i32 2, 1\n  store i32 %v1, ptr %at\n", c.Text.String())
}
