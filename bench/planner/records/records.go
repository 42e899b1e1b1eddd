// Package records writes what a benchmark measured: one line of JSON for each record.
package records

import (
	"encoding/json"
	"os"
)

// Write replaces the file at path.
func Write[T any](path string, list []T) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(f)
	for _, r := range list {
		if err = lines.Encode(r); err != nil {
			break
		}
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
