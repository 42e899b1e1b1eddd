package offsets_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
)

// instances are the CSV files (id, lower, upper, size, perhaps alignment) below planner/folder.
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
		if k := slices.Index(rows[0], "alignment"); k > 0 {
			b.Alignment, err = strconv.ParseInt(row[k], 10, 64)
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
		if !strings.HasPrefix(name, "light_") && !strings.HasPrefix(name, "tfl_") {
			continue
		}
		s := solved(t, p, offsets.Options{})
		require.True(t, s.Optimal, name)
		require.Equal(t, s.LowerBound(), s.FrameBytes(), name)
	}
}

// Sets without a free byte where most is alive, and with alignments of several sizes, need a search.
func TestTightSets(t *testing.T) {
	sets := instances(t, "")
	if len(sets["tight_120_1.csv"].Buffers) == 0 || len(sets["alignmix_50.csv"].Buffers) == 0 {
		t.Skip("TL_TEST_DATA has no tight sets")
	}
	for seed := range uint64(3) {
		s := solved(t, sets["tight_120_1.csv"], offsets.Options{Seed: seed, MaxSteps: 500_000})
		require.True(t, s.Optimal)
		s = solved(t, sets["alignmix_50.csv"], offsets.Options{Seed: seed, MaxSteps: 100_000})
		require.LessOrEqual(t, s.FrameBytes(), int64(224_000))
	}
}

func TestDensenetInPlace(t *testing.T) {
	s := solved(t, instances(t, "")["light_densenet121.inplace.csv"], offsets.Options{})
	require.Equal(t, int64(7225344), s.FrameBytes())
}

// The capacity is in the name, and each is reached; all but D are also solved.
func TestMinimallocIsOptimal(t *testing.T) {
	for name, p := range instances(t, "minimalloc") {
		capacity, err := strconv.ParseInt(strings.Split(name, ".")[1], 10, 64)
		require.NoError(t, err)
		if !strings.HasPrefix(name, "D.") {
			require.True(t, solved(t, p, offsets.Options{MaxSteps: 2_000_000}).Optimal, name)
		}
		s := solved(t, p, offsets.Options{MaxSteps: 2_000_000, Target: capacity})
		require.LessOrEqual(t, s.FrameBytes(), capacity, name)
		require.Equal(t, s, solved(t, p, offsets.Options{MaxSteps: 2_000_000, Target: capacity}), name)
	}
}

func TestLargeNeedsWhatIsAlive(t *testing.T) {
	for name, p := range instances(t, "large") {
		s := solved(t, p, offsets.Options{})
		require.LessOrEqual(t, s.Gap(), 0.007, name)
		require.True(t, s.Optimal || name == "S_1.csv", name)
	}
}
