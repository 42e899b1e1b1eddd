package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"tlruntime/runtime/observe/figures"
	"tlruntime/runtime/observe/openmetrics"
)

func metricsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "metrics STATS.json",
		Short: "Writes statistics, as tl_stats_json gives them, as OpenMetrics text; - reads standard input",
		Args:  takes(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := readStats(args[0], c.InOrStdin())
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(openmetrics.Text(s))
			return err
		},
	}
}

// readStats reads what tl_stats_json has written.
func readStats(path string, in io.Reader) (*figures.Snapshot, error) {
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	var s figures.Snapshot
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return nil, fmt.Errorf("%s: not what tl_stats_json writes: %w", path, jsonError(err))
	}
	if s.Version != figures.Version {
		return nil, fmt.Errorf("%s: statistics of version %d; this command reads version %d", path, s.Version,
			figures.Version)
	}
	return &s, nil
}
