package trace

import (
	"io"

	"tlruntime/runtime/output"
)

// disk is what a trace is written to, an *output.File.
type disk interface {
	io.Writer
	io.WriterAt
	Truncate(size int64) error
	Streams() bool
	Publish() error
	Close()
}

// file is the trace's file. Behind what is written for good stands the end of it, which
// the next part overwrites. What streams has an end when the trace has.
type file struct {
	f       disk
	good    int64  // bytes that stay
	end     []byte // behind them, and behind it the summary
	summary func(complete bool) []byte
	buffer  []byte
	events  uint64 // in the buffer, of those that are dropped at the limit
	first   bool   // no event yet
	err     error  // the first that happened: from there on nothing is written
	lost    uint64 // events that were in the buffer then
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

// begin writes the first part, which replaces the file of an earlier trace: it stays as it was
// when a trace cannot begin.
func (f *file) begin(flush func(*code) error) error {
	if err := flush(nil); err != nil {
		return err
	}
	return f.f.Publish()
}

func (f *file) text(text string) { f.buffer = append(f.buffer, text...) }

func (f *file) event(text []byte) {
	if f.err != nil {
		return
	}
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
// written any more: the file is left as it was before, and counts what it lacks.
func (f *file) flush(end []byte, complete bool) error {
	if f.err == nil {
		if f.err = f.put(end, complete); f.err != nil {
			f.lost += f.events
		}
	}
	f.buffer, f.events = f.buffer[:0], 0
	if f.err != nil && !f.f.Streams() {
		f.restore()
	}
	return f.err
}

func (f *file) put(end []byte, complete bool) error {
	n := int64(len(f.buffer))
	part := f.buffer
	if !f.f.Streams() || complete {
		part = append(append(part, end...), f.summary(complete)...)
	}
	var err error
	if f.f.Streams() {
		_, err = f.f.Write(part)
	} else if _, err = f.f.WriteAt(part, f.good); err == nil {
		err = f.f.Truncate(f.good + int64(len(part)))
	}
	if err == nil {
		f.good += n
		f.end = append(f.end[:0], end...)
	}
	return err
}

// restore takes half a part back, as a full disk leaves it. There is room for the end that
// stood there, and when it fails nevertheless there is nothing else to try.
func (f *file) restore() {
	rest := append(f.end, f.summary(false)...)
	if _, err := f.f.WriteAt(rest, f.good); err == nil {
		_ = f.f.Truncate(f.good + int64(len(rest)))
	}
}
