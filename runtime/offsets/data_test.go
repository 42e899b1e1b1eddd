package offsets_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
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

// solved solves and checks.
func solved(t testing.TB, p offsets.Problem, o offsets.Options) *offsets.Solution {
	s, err := offsets.Solve(p, o)
	require.NoError(t, err)
	require.NoError(t, check.Solution(p, s))
	return s
}

func TestNetworksNeedWhatIsAlive(t *testing.T) {
	for name, p := range instances(t, "") {
		s := solved(t, p, offsets.Options{})
		require.True(t, s.Optimal, name)
		require.Equal(t, s.LowerBound(), s.FrameBytes(), name)
	}
}

func TestDensenetInPlace(t *testing.T) {
	s := solved(t, instances(t, "")["light_densenet121.inplace.csv"], offsets.Options{})
	require.Equal(t, int64(7225344), s.FrameBytes())
}

// The capacity is in the name; no set has more than it alive at once, so three of
// them can need no less.
func TestMinimallocIsOptimal(t *testing.T) {
	for name, p := range instances(t, "minimalloc") {
		s := solved(t, p, offsets.Options{MaxSteps: 2_000_000})
		require.True(t, s.Optimal, name)
		parts := strings.Split(name, ".")
		capacity, err := strconv.ParseInt(parts[1], 10, 64)
		require.NoError(t, err)
		require.LessOrEqual(t, s.FrameBytes(), capacity, name)
		again := solved(t, p, offsets.Options{MaxSteps: 2_000_000})
		require.Equal(t, s, again, name)
	}
}

func TestLargeNeedsWhatIsAlive(t *testing.T) {
	for name, p := range instances(t, "large") {
		require.True(t, solved(t, p, offsets.Options{}).Optimal, name)
	}
}
