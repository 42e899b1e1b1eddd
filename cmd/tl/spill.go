package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"tlruntime/cmd/tl/internal/host"
	"tlruntime/compiler/plan"
)

// page is what memory of a file is aligned to.
const page = 4096

// intoFile has values be moved to a file where one is named.
func (r *running) intoFile() error {
	if r.file == "" {
		return nil
	}
	if r.options.Alignment > page {
		return fmt.Errorf("--spill-file and --alignment %d: a file is aligned to %d bytes", r.options.Alignment, page)
	}
	if err := host.CheckPath(r.file); err != nil {
		return fmt.Errorf("--spill-file: %w", err)
	}
	r.writes = []string{r.file}
	r.spill = cmp.Or(r.spill, inMemory)
	return nil
}

// makeSpill makes the file of a plan's second space.
func makeSpill(path string, e *plan.ExecutionPlan) error {
	if err := reserved(path, e.Outside); err != nil {
		return fmt.Errorf("--spill-file: %w", err)
	}
	return nil
}

// reserved makes a file of so many bytes, or gives one that there is that size, and has the disk keep room for all of
// them: what is written to a hole of a mapped file on a full disk ends the process. A file that was not there before is
// gone when there is no room, and another one is as it was.
func reserved(path string, bytes int64) error {
	_, missing := os.Stat(path)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	about, err := f.Stat()
	switch {
	case err != nil:
		return errors.Join(err, f.Close())
	case !about.Mode().IsRegular():
		return errors.Join(fmt.Errorf("%s: it is no regular file", path), f.Close())
	}
	if err = reserve(f, bytes); err == nil {
		return errors.Join(f.Truncate(bytes), f.Close())
	}
	err = fmt.Errorf("%s: there is no room for %d bytes: %w", path, bytes, err)
	if missing != nil {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	return errors.Join(err, f.Truncate(about.Size()), f.Close())
}

// zero writes zeros to the whole of a file, for systems that reserve no room.
func zero(f *os.File, bytes int64) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < bytes; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), bytes-at)], at); err != nil {
			return err
		}
	}
	return nil
}
