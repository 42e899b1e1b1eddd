package offsets_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/plan/offsets"
)

// instances are the CSV files (id, lower, upper, size) below planner/folder.
func instances(t testing.TB, folder string) map[string]offsets.Problem {
	root := os.Getenv("TL_TEST_DATA")
	if root == "" {
		t.Skip("TL_TEST_DATA names no folder of instances")
	}
	files, err := filepath.Glob(filepath.Join(root, "planner", folder, "*.csv"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	found := map[string]offsets.Problem{}
	for _, file := range files {
		found[filepath.Base(file)] = read(t, file)
	}
	return found
}

var options = offsets.Options{}

func read(t testing.TB, file string) offsets.Problem {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	p := offsets.Problem{}
	for _, row := range rows[1:] {
		b := offsets.Buffer{Name: row[0]}
		for k, field := range []*int64{&b.First, &b.End, &b.Bytes} {
			*field, err = strconv.ParseInt(row[k+1], 10, 64)
			require.NoError(t, err, "%s: %v", file, row)
		}
		p.Buffers = append(p.Buffers, b)
	}
	return p
}

func TestNetworks(t *testing.T) {
	for name, p := range instances(t, "") {
		start := time.Now()
		s, err := offsets.Solve(p, options)
		took := time.Since(start)
		require.NoError(t, err, name)
		t.Log(name, s.Method, s.FrameBytes(), s.LowerBound(), s.Gap(), s.Steps, took)
	}
}

func TestMinimalloc(t *testing.T) {
	for name, p := range instances(t, "minimalloc") {
		start := time.Now()
		s, err := offsets.Solve(p, options)
		took := time.Since(start)
		require.NoError(t, err, name)
		t.Log(name, s.Method, s.FrameBytes(), s.LowerBound(), s.Gap(), s.Steps, took)
	}
}

func TestLarge(t *testing.T) {
	for name, p := range instances(t, "large") {
		start := time.Now()
		s, err := offsets.Solve(p, options)
		took := time.Since(start)
		require.NoError(t, err, name)
		t.Log(name, s.Method, s.FrameBytes(), s.LowerBound(), s.Gap(), s.Steps, took)
	}
}
