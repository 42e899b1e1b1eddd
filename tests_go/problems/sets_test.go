package problems_test

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/tests_go/problems"
)

func packed(t *testing.T, folder, name, text string) {
	f, err := os.Create(filepath.Join(folder, name))
	require.NoError(t, err)
	w := gzip.NewWriter(f)
	_, err = w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
}

func TestSetsAreRead(t *testing.T) {
	folder := t.TempDir()
	packed(t, folder, "b.csv.gz", "begin,life,bytes\n")
	packed(t, folder, "a.csv.gz", "begin,life,bytes\n2,3,1\n0,1,64\n5,9,100\n")
	list, err := problems.Sets(folder)
	require.NoError(t, err)
	require.Equal(t, []problems.Set{{Name: "a", Problem: offsets.Problem{Buffers: []offsets.Buffer{
		{Bytes: 64, First: 2, End: 5}, {Bytes: 64, First: 2, End: 3}, {Bytes: 128, First: 7, End: 16}}}}, {Name: "b"}}, list)
}

func TestSpoiledSetsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "the first line",
		"id,lower,upper,size\n1,2,3,4\n": "the first line",
		"begin,life,bytes\n1,2\n":        "has 2 fields",
		"begin,life,bytes\n1,0,8\n":      "lives for no step",
		"begin,life,bytes\n1,-1,8\n":     "invalid syntax",
		"begin,life,bytes\n1,1,8\nx\n":   "buffer 1: ",
		"begin,life,bytes\n1,1," + "9223372036854775807\n": "out of range",
	} {
		folder := t.TempDir()
		packed(t, folder, "a.csv.gz", text)
		_, err := problems.Sets(folder)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "a.csv.gz")
	}
	folder := t.TempDir()
	_, err := problems.Sets(folder)
	require.ErrorContains(t, err, "no *.csv.gz")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "plain.csv.gz"), []byte("begin,life,bytes\n"), 0o600))
	_, err = problems.Sets(folder)
	require.ErrorIs(t, err, gzip.ErrHeader)
}

// The recorded training steps have the sizes that bench/data/README.md tells.
func TestRecordedTrainingSteps(t *testing.T) {
	list, err := problems.Sets("../../bench/data/sets")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(list), 9)
	for _, set := range list {
		require.Greater(t, len(set.Problem.Buffers), 15_000, set.Name)
	}
}
