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
	documented = regexp.MustCompile(`(?s)/\*(.*?)\*/\s*TL_API [^;]*?\b(tl_\w+)\(`)
	tried      = regexp.MustCompile(`\.name = "(tl_\w+)"`)
)

// Each function whose errors may be TL_E_OUT_OF_MEMORY is a call of tests_c/proof/faults;
// those that start the library are called by its mode "start".
func TestCallsThatMayRunOutOfMemoryAreTried(t *testing.T) {
	steps := map[string]bool{"tl_init": true, "tl_mem_manager_init": true, "tl_configure": true}
	files, err := filepath.Glob("../../tests_c/proof/faults_*.c")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range tried.FindAllSubmatch(text, -1) {
			steps[string(found[1])] = true
		}
	}
	header, err := os.ReadFile("../../include/tl_runtime.h")
	require.NoError(t, err)
	count := 0
	for _, function := range documented.FindAllSubmatch(header, -1) {
		comment := string(function[1])
		_, errors, _ := strings.Cut(comment[strings.LastIndex(comment, "/*")+1:], "Errors:")
		if strings.Contains(errors, "TL_E_OUT_OF_MEMORY") {
			count++
			assert.True(t, steps[string(function[2])], "%s is never refused memory", function[2])
		}
	}
	assert.Greater(t, count, 70)
}
