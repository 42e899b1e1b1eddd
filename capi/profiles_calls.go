package main

import (
	"io"

	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/profile"
	"tlruntime/runtime/observe/snapshot"
	"tlruntime/runtime/observe/source"
	"tlruntime/runtime/output"
	"tlruntime/runtime/status"
)

// writeProfile writes a heap profile to the file that the caller's string names.
func writeProfile(o *object.Context, path uintptr) status.Status {
	return toFile(o, path, func() (func(io.Writer) error, status.Status) {
		p, st := profile.Collect(o)
		return func(to io.Writer) error {
			return p.Write(to, new(source.Files))
		}, st
	})
}

// writeSnapshot writes where memory lies, for PyTorch's page.
func writeSnapshot(o *object.Context, path uintptr) status.Status {
	return toFile(o, path, func() (func(io.Writer) error, status.Status) {
		defer forgetSources()
		text := snapshot.Take(codeOf).Pickle()
		return func(to io.Writer) error {
			_, err := to.Write(text)
			return err
		}, status.OK
	})
}

// toFile collects what is to be written, then creates the file, and writes.
func toFile(o *object.Context, path uintptr, collect func() (func(io.Writer) error, status.Status)) status.Status {
	name, named := text(path)
	if !named || name == "" {
		return fail(o, status.InvalidArgument, "the name of a file is needed, of 1 to %d bytes", maxString-1)
	}
	write, st := collect()
	if st != status.OK {
		return st
	}
	if err := output.Write(name, write); err != nil {
		return fail(o, status.InvalidArgument, "the file could not be written: %v", err)
	}
	return status.OK
}
