// Package timeline makes a page of a trace (package trace): live bytes over time, the
// blocks of memory by address and time, the sites that held most, and the sizes that
// were asked for. The page is one file that needs no network.
//
//	read.go   the trace
//	model.go  what of it is shown
//	space.go  addresses without what nobody used
//	page.go   the page
package timeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Trace is what a page needs of a trace.
type Trace struct {
	Process string
	Began   string
	End     float64 // microseconds
	Dropped uint64
	Whole   bool // the file was completed: call stacks are known

	Blocks   []*Block
	Chunks   []*Chunk
	Counters map[string][]Point
	Marks    []Mark
	Alerts   []Mark // limits and pressure
	Scopes   int
	Threads  int
	frames   map[string]frame
}

// Block is an allocation. Its end is that of the trace while it lives.
type Block struct {
	Address, Bytes uint64
	Kind, Type     string
	Tag            string
	Site           uint32
	First, End     float64
	Before, Freed  bool
}

// Chunk is memory that a pool had from its device.
type Chunk struct {
	Address, Bytes uint64
	Pool           uint64
	Device         int64
	First, End     float64
	returned       bool
}

// Point is a counter's value from a time on.
type Point struct {
	Time  float64
	Value uint64
}

// Mark is something that happened at once.
type Mark struct {
	Time float64
	Name string
}

type frame struct {
	Name, Parent, File string
	Line               int
}

type traceEvent struct {
	Name string
	Ph   string
	Cat  string
	Ts   float64
	Tid  int64
	Sf   uint32
	Args struct {
		Address, Kind, Type, Tag string
		Bytes, Value, Pool       uint64
		Device                   int64
		Before                   uint64
		Name                     string
	}
}

type document struct {
	TraceEvents []traceEvent
	StackFrames map[string]frame
	OtherData   struct {
		Writer, Began string
		Complete      bool
		Dropped       uint64
	}
}

// Read reads what tl_trace_start has written.
func Read(r io.Reader) (*Trace, error) {
	var d document
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return nil, fmt.Errorf("not a trace in JSON: %w", err)
	}
	if d.OtherData.Writer != "TL Runtime" {
		return nil, errors.New("not a trace of TL Runtime: otherData does not say so; make one with tl_trace_start or tl.trace")
	}
	t := &Trace{Began: d.OtherData.Began, Dropped: d.OtherData.Dropped, Whole: d.OtherData.Complete, frames: d.StackFrames,
		Counters: map[string][]Point{}}
	b := builder{t, map[uint64]*Block{}, map[uint64]*Chunk{}, map[int64]bool{}}
	for i := range d.TraceEvents {
		if err := b.add(&d.TraceEvents[i]); err != nil {
			return nil, fmt.Errorf("event %d, %q: %w", i, d.TraceEvents[i].Name, err)
		}
	}
	b.finish()
	return t, nil
}

// builder follows what is live.
type builder struct {
	*Trace
	live    map[uint64]*Block
	chunks  map[uint64]*Chunk
	threads map[int64]bool
}

func (b *builder) add(e *traceEvent) error {
	b.End = max(b.End, e.Ts)
	switch {
	case e.Ph == "M":
		if e.Name == "process_name" {
			b.Process = e.Args.Name
		} else {
			b.threads[e.Tid] = true
		}
	case e.Ph == "C":
		b.Counters[e.Name] = append(b.Counters[e.Name], Point{e.Ts, e.Args.Value})
	case e.Ph == "B":
		b.Scopes++
	case e.Ph == "i" && e.Cat == "mark":
		b.Marks = append(b.Marks, Mark{e.Ts, e.Name})
	case e.Ph == "i" && e.Args.Address != "":
		return b.memory(e)
	case e.Ph == "i":
		b.Alerts = append(b.Alerts, Mark{e.Ts, e.Name})
	}
	return nil
}

// memory follows blocks and chunks.
func (b *builder) memory(e *traceEvent) error {
	address, err := strconv.ParseUint(strings.TrimPrefix(e.Args.Address, "0x"), 16, 64)
	if err != nil {
		return fmt.Errorf("no address: %w", err)
	}
	switch e.Name {
	case "alloc":
		b.end(address, e.Ts)
		n := &Block{Address: address, Bytes: e.Args.Bytes, Kind: e.Args.Kind, Type: e.Args.Type, Tag: e.Args.Tag, Site: e.Sf,
			First: e.Ts, Before: e.Args.Before != 0}
		if n.Before {
			n.First = 0
		}
		b.live[address] = n
		b.Blocks = append(b.Blocks, n)
	case "free":
		b.end(address, e.Ts)
	case "site":
		if n := b.live[address]; n != nil {
			n.Site = e.Sf
		}
	case "chunk obtained":
		if b.chunks[address] == nil {
			c := &Chunk{Address: address, Bytes: e.Args.Bytes, Pool: e.Args.Pool, Device: e.Args.Device, First: e.Ts}
			b.chunks[address] = c
			b.Chunks = append(b.Chunks, c)
		}
	case "chunk returned":
		if c := b.chunks[address]; c != nil {
			c.End, c.returned = e.Ts, true
			delete(b.chunks, address)
		}
	}
	return nil
}

func (b *builder) end(address uint64, at float64) {
	if n := b.live[address]; n != nil {
		n.End, n.Freed = at, true
		delete(b.live, address)
	}
}

func (b *builder) finish() {
	b.End = max(b.End, 1)
	for _, n := range b.Blocks {
		if !n.Freed {
			n.End = b.End
		}
	}
	for _, c := range b.Chunks {
		if !c.returned {
			c.End = b.End
		}
	}
	b.Threads = len(b.threads)
}

// Stack returns the frames of a site, innermost first.
func (t *Trace) Stack(site uint32) (all []string) {
	for id := strconv.Itoa(int(site)); site != 0 && id != "" && len(all) < 64; {
		f, known := t.frames[id]
		if !known {
			break
		}
		text := f.Name
		if f.File != "" && f.Line != 0 && !strings.HasSuffix(f.Name, ":"+strconv.Itoa(f.Line)) {
			text += fmt.Sprintf(" (%s:%d)", f.File, f.Line)
		}
		all = append(all, text)
		id = f.Parent
	}
	return all
}
