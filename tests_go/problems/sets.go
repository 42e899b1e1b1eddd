package problems

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tlruntime/runtime/offsets"
)

const (
	setHeader = "begin,life,bytes"
	// setAlignment is what sizes are rounded up to, as plans of networks are aligned; those who align nothing then
	// place the same problem.
	setAlignment = 64
)

// Set is the problem of a recorded program.
type Set struct {
	Name    string
	Problem offsets.Problem
}

// Sets reads the sets of a folder, NAME.csv.gz, in the order of their names.
func Sets(folder string) ([]Set, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.csv.gz"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no *.csv.gz in %s", folder)
	}
	list := []Set{}
	for _, file := range files {
		p, err := readSet(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		list = append(list, Set{strings.TrimSuffix(filepath.Base(file), ".csv.gz"), p})
	}
	return list, err
}

func readSet(file string) (offsets.Problem, error) {
	f, err := os.Open(file)
	if err != nil {
		return offsets.Problem{}, err
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		return offsets.Problem{}, err
	}
	return parseSet(plain)
}

// parseSet reads what bench/planner/training/lifetimes.py writes: for each buffer the steps since the one before began,
// the steps that it lives for, and its bytes.
func parseSet(from io.Reader) (offsets.Problem, error) {
	p, lines := offsets.Problem{}, bufio.NewScanner(from)
	if !lines.Scan() || lines.Text() != setHeader {
		return p, errors.Join(fmt.Errorf("the first line is %q, want %q", lines.Text(), setHeader), lines.Err())
	}
	now := int64(0)
	for lines.Scan() {
		row, err := setRow(lines.Text())
		if err != nil {
			return p, fmt.Errorf("buffer %d: %w", len(p.Buffers), err)
		}
		now += row[0]
		bytes := (row[2] + setAlignment - 1) / setAlignment * setAlignment
		p.Buffers = append(p.Buffers, offsets.Buffer{Bytes: bytes, First: now, End: now + row[1]})
	}
	return p, lines.Err()
}

// setRow is a line's three numbers, none of them below 0, and a life of a step at least.
func setRow(line string) (row [3]int64, err error) {
	fields := strings.Split(line, ",")
	if len(fields) != len(row) {
		return row, fmt.Errorf("%q has %d fields, want %s", line, len(fields), setHeader)
	}
	for k, field := range fields {
		n, err := strconv.ParseUint(field, 10, 48)
		if err != nil {
			return row, err
		}
		row[k] = int64(n)
	}
	if row[1] == 0 {
		return row, fmt.Errorf("%q lives for no step", line)
	}
	return row, nil
}
