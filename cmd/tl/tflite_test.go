package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chain.tflite is the model of internal/tflite's tests: four tensors in a row, and one of text.
const chainModel = "testdata/chain.tflite"

func TestArenaOfAModel(t *testing.T) {
	planned := filepath.Join(t.TempDir(), "planned.tflite")
	out, err := tl(t, "tflite", chainModel, "-o", planned, "--validate")
	require.NoError(t, err)
	assert.Contains(t, out, "chain.tflite: 4 tensors in the arena, 1 tensor placed by the interpreter\n")
	assert.Regexp(t, `frame +144 B +144 +no placement is smaller \(proved\)`, out)
	file, err := os.ReadFile(planned)
	require.NoError(t, err)
	assert.Contains(t, string(file), "OfflineMemoryAllocation")

	places := filepath.Join(t.TempDir(), "places.csv")
	again, err := tl(t, "plan", planned, "-o", places, "--alignment", "64")
	require.NoError(t, err)
	assert.Contains(t, again, "planned.tflite: 4 tensors in the arena")
	text, err := os.ReadFile(places)
	require.NoError(t, err)
	assert.Contains(t, string(text), "id,lower,upper,size,offset\nx,0,2,48,")

	for _, bad := range []struct {
		arguments []string
		message   string
	}{
		{[]string{"tflite", chainModel}, "-o FILE is needed"},
		{[]string{"tflite", "absent.tflite", "-o", planned}, "absent.tflite"},
		{[]string{"tflite", write(t, "text.tflite", "not a model"), "-o", planned}, "no TensorFlow Lite model"},
		{[]string{"plan", chainModel, "--alignment", "8"}, "--alignment 8: the interpreter aligns to 16 bytes"},
		{[]string{"tflite", chainModel, "-o", planned, "--budget", "-1s"}, "time cannot be negative"},
	} {
		_, err := tl(t, bad.arguments...)
		require.ErrorContains(t, err, bad.message)
	}
}
