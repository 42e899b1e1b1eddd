package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func runMetrics(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := metricsCommand()
	c.SetArgs(args)
	c.SetIn(strings.NewReader(in))
	c.SetOut(&out)
	c.SetErr(&out)
	err := c.Execute()
	return out.String(), err
}

func TestMetricsReadsAFileOrStandardInput(t *testing.T) {
	folder := "../../runtime/observe/openmetrics/testdata"
	want, err := os.ReadFile(filepath.Join(folder, "metrics.txt"))
	require.NoError(t, err)
	got, err := runMetrics(t, "", filepath.Join(folder, "stats.json"))
	require.NoError(t, err)
	require.Equal(t, string(want), got)
	given, err := os.ReadFile(filepath.Join(folder, "stats.json"))
	require.NoError(t, err)
	got, err = runMetrics(t, string(given), "-")
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestMetricsSaysWhatIsWrongWithItsInput(t *testing.T) {
	for in, want := range map[string]string{"": "not what tl_stats_json writes", "[]": "not what",
		`{"version": 7}`: "version 7; this command reads version 1"} {
		_, err := runMetrics(t, in, "-")
		require.ErrorContains(t, err, want)
	}
	_, err := runMetrics(t, "", "no/such/file.json")
	require.ErrorContains(t, err, "no/such/file.json")
}
