package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime"
	"tlruntime/cmd/tl/internal/host"
)

func TestTheVersionIsTold(t *testing.T) {
	for _, arguments := range []string{"--version", "version"} {
		out, err := tl(t, arguments)
		require.NoError(t, err)
		assert.Equal(t, "tl "+tlruntime.Version+"\n", out)
	}
}

// Messages name options and files of the user's, not what Go calls them here.
func TestMessagesAreThoseOfTheUser(t *testing.T) {
	model, array := write(t, "perceptron.json", perceptron), write(t, "array.json", "[1]")
	wrong := write(t, "wrong.json", `{"Buffers": [{"Bytes": "many"}]}`)
	list := write(t, "list.csv", "id,lower,upper,size\na,0,2,64\n")
	for _, c := range []struct{ says, line string }{
		{"--alignment 3: an alignment is a power of two", "plan " + model + " --bind batch=4 --alignment 3"},
		{"--alignment 3: an alignment is a power of two", "plan " + list + " --alignment 3"},
		{"list.csv: buffer 0 (\"a\"): its 64 bytes do not fit", "plan " + list + " --capacity 63B"},
		{"at byte 1: it is JSON's array and has to be an object", "metrics " + array},
		{"at byte 1: it is JSON's array and has to be an object", "plan --slices " + array},
		{"has to be a whole number", "plan --slices " + wrong},
		{"at byte 1: it is JSON's array and has to be an object", "plan " + model + " --bind batch=4 --capacity 1B --cost " + array},
		{`invalid argument "x" for "--max-steps" flag: invalid syntax`, "plan " + model + " --max-steps x"},
		{`invalid argument "x" for "--budget" flag: invalid duration "x"`, "plan " + model + " --budget x"},
		{"got 0 arguments; usage: tl plan MODEL... [flags]", "plan"},
		{"got 1 argument; usage: tl export MODEL FILE [flags]", "export " + model},
		{"-o FILE is needed", "compile " + model},
		{`the symbol "foo" is bound, which no input has; the graph has batch`, "plan " + model + " --bind foo=3"},
	} {
		_, err := tl(t, strings.Fields(c.line)...)
		assert.ErrorContains(t, err, c.says)
		for _, internal := range []string{"Go value", "main.", "figures.", "Options.", "arg(s)", "offsets:", "remat:", "plan:", "strconv", "time:"} {
			assert.NotContains(t, err.Error(), internal)
		}
	}
}

func TestHelpHasNoDefaultsOfGo(t *testing.T) {
	for _, c := range rootCommand().Commands() {
		out, err := tl(t, c.Name(), "--help")
		require.NoError(t, err)
		assert.NotContains(t, out, "[]", c.Name())
		assert.NotContains(t, out, `="`, c.Name())
	}
	out, err := tl(t, "plan", "--help")
	require.NoError(t, err)
	assert.Contains(t, out, "--spill [=BYTES] ")
}

func TestTimesAreWrittenInFull(t *testing.T) {
	for text, ns := range map[string]int64{"1240 ms": 1_240_000_000, "124 ms": 124_000_000, "12.4 ms": 12_400_000,
		"0.0012 ms": 1_200} {
		assert.Equal(t, text, milliseconds(ns))
	}
	assert.Equal(t, "of one run", runs(&host.Report{Runs: 1}))
	assert.Contains(t, runs(&host.Report{Runs: 2}), "median of 2 runs; first ")
}
