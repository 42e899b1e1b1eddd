package trace

import (
	"io"

	"tlruntime/runtime/output"
)

// disk is what a trace is written to, an *output.File.
type disk interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
}

// file is the trace's file. Behind what is written for good stands the end of it, which
// the next part overwrites.
type file struct {
	f      disk
	good   int64  // bytes that stay
	end    []byte // behind them
	buffer []byte
	first  bool  // no event yet
	err    error // the first that happened: from there on nothing is written
}

// bufferBytes is what is kept before it is written.
const bufferBytes = 256 << 10

func create(path string) (*file, error) {
	f, err := output.Create(path)
	if err != nil {
		return nil, err
	}
	return &file{f: f, buffer: make([]byte, 0, bufferBytes+4096), first: true}, nil
}

func (f *file) text(text string) { f.buffer = append(f.buffer, text...) }

func (f *file) event(text []byte) {
	if !f.first {
		f.buffer = append(f.buffer, ",\n"...)
	}
	f.first = false
	f.buffer = append(f.buffer, text...)
}

func (f *file) isFull() bool { return len(f.buffer) >= bufferBytes }

// written returns the bytes that the trace has.
func (f *file) written() uint64 { return uint64(f.good) + uint64(len(f.buffer)) }

// mark and takeFrom take out again what was added meanwhile.
func (f *file) mark() int { return len(f.buffer) }

func (f *file) takeFrom(mark int) []byte {
	taken := append([]byte(nil), f.buffer[mark:]...)
	f.buffer = f.buffer[:mark]
	return taken
}

// flush writes the buffer for good, and the end behind it. After an error nothing is
// written any more: the file is left as it was before.
func (f *file) flush(end []byte) error {
	part := append(f.buffer, end...)
	n := len(f.buffer)
	f.buffer = f.buffer[:0]
	if f.err != nil {
		return f.err
	}
	_, f.err = f.f.WriteAt(part, f.good)
	if f.err == nil {
		f.err = f.f.Truncate(f.good + int64(len(part)))
	}
	if f.err != nil {
		f.restore()
		return f.err
	}
	f.good += int64(n)
	f.end = append(f.end[:0], end...)
	return nil
}

// restore takes half a part back, as a full disk leaves it. There is room for the end that
// stood there, and when it fails nevertheless there is nothing else to try.
func (f *file) restore() {
	if f.f.Truncate(f.good) == nil {
		_, _ = f.f.WriteAt(f.end, f.good)
	}
}

func (f *file) close() error { return f.f.Close() }
