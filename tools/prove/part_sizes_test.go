package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	declared  = regexp.MustCompile(`TL_API [^;(]*?\b(tl_\w+)\(([^;]*)\);`)
	takesSize = regexp.MustCompile(`\b(?:size_t|int64_t) (?:bytes|min_bytes|bytes_each|initial_bytes|element_bytes|size|capacity|elements|slots)\b|\bshape\b`)
)

// A limit is a size that nothing has, and these make or read nothing of it.
var withoutMemory = map[string]bool{
	"tl_memory_pool_set_limit": true, "tl_pool_set_limits": true, "tl_plan_add_space": true, "tl_plan_resize": true, "tl_log_alloc": true,
	"tl_tensor_from_buffer": true, "tl_view_reshape": true, "tl_view_broadcast_to": true,
}

// Each function that takes the size of memory is called by tests_c/proof/sizes.
func TestFunctionsThatTakeASizeAreTried(t *testing.T) {
	files, err := filepath.Glob("../../tests_c/proof/sizes*.c")
	require.NoError(t, err)
	var calls strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		calls.Write(text)
	}
	header, err := os.ReadFile("../../include/tl_runtime.h")
	require.NoError(t, err)
	count := 0
	for _, function := range declared.FindAllSubmatch(header, -1) {
		name := string(function[1])
		if takesSize.Match(function[2]) && !withoutMemory[name] {
			count++
			assert.Regexp(t, `\b`+name+`\b[(,]`, calls.String())
		}
	}
	assert.Greater(t, count, 35)
}
