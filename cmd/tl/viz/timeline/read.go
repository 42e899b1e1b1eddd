// Package timeline makes a page of a trace (package trace): live bytes over time, the
// blocks of memory by address and time, the sites that held most, and the sizes that
// were asked for. The page is one file that needs no network.
//
//	read.go                 the trace
//	model.go                what of it is shown
//	stacks.go               frames as readers want them
//	resolve.go              frames of a process that did not complete its trace
//	sites.go                where memory came from
//	holders.go              who held it at the end
//	flame.go                the tree of calls
//	space.go                addresses without what nobody used
//	page.go                 the page
//	data.go                 the trace as the page's scripts read it
//	compare.go, changes.go  two traces, and their page
//	text.go                 the same for terminals
package timeline

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Trace is what a page needs of a trace.
type Trace struct {
	Process string
	Began   string
	End     float64 // microseconds
	Dropped uint64
	Whole   bool  // the file was completed
	Broken  int64 // the byte at which the file breaks off; 0 when it does not

	Blocks  []*Block
	Chunks  []*Chunk
	Marks   []Mark
	Alerts  []Mark // limits and pressure
	Scopes  int
	Threads int
	frames  map[string]frame
	stacks  map[uint32][]located // by site, of a file that was not completed
	left    map[uint64]*Block    // what lives, by address
}

// Block is an allocation. Its end is that of the trace while it lives.
type Block struct {
	Address, Bytes uint64
	Kind, Type     string
	Tag            string
	Site           uint32
	First, End     float64
	Before, Freed  bool
	holders        []holder
}

// Chunk is memory that a pool had from its device.
type Chunk struct {
	Address, Bytes uint64
	Pool           uint64
	Device         int64
	First, End     float64
	returned       bool
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
	Pid  uint64
	Tid  int64
	Sf   uint32
	Args struct {
		Address, Kind, Type, Tag string
		Bytes, Pool              uint64
		Device                   int64
		Before                   uint64
		Name                     string
		Site                     uint32
		Frames                   []located
		By, From                 string
	}
}

// writer is what a trace says of who has written it.
const writer = "TL Runtime"

// errForeign tells of a trace that others have written.
var errForeign = errors.New("not a trace of TL Runtime, such as tl_trace_start and tl.trace write")

// Read reads what tl_trace_start has written, event by event. Of a file that breaks off it
// takes what is there. What no trace is, because others have written to the file as well,
// is an error that says where.
func Read(r io.Reader) (*Trace, error) {
	b := builder{Trace: &Trace{stacks: map[uint32][]located{}, left: map[uint64]*Block{}}, chunks: map[uint64]*Chunk{},
		threads: map[int64]bool{}, parts: map[json.Token]bool{}}
	text := bufio.NewReader(r)
	if err := otherFormat(text); err != nil {
		return nil, err
	}
	d := json.NewDecoder(text)
	err := b.document(d)
	broken := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
	switch {
	case broken && b.ours:
		b.Broken = d.InputOffset()
	case broken:
		return nil, fmt.Errorf("%w: it breaks off before it says who wrote it", errForeign)
	case err != nil && b.ours:
		return nil, fmt.Errorf("the trace is damaged near byte %d: %w", d.InputOffset(), err)
	case err != nil:
		return nil, err
	case !b.ours:
		return nil, errForeign
	}
	b.finish()
	return b.Trace, nil
}

// otherFormat tells of files that the runtime writes as well, by their first bytes.
func otherFormat(r *bufio.Reader) error {
	switch first, _ := r.Peek(2); string(first) {
	case "\x1f\x8b":
		return errors.New("not a trace: the file is compressed, as heap profiles are, which go tool pprof reads")
	case "\x80\x04":
		return errors.New("not a trace but a memory snapshot, which pytorch.org/memory_viz reads")
	}
	return nil
}

// builder follows what is live.
type builder struct {
	*Trace
	ours    bool   // the file says that the runtime has written it
	pid     uint64 // of the process that has, once an event was read
	parts   map[json.Token]bool
	chunks  map[uint64]*Chunk
	threads map[int64]bool
}

// document reads the members of the outermost object.
func (b *builder) document(d *json.Decoder) error {
	switch start, err := d.Token(); {
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty")
	case err != nil:
		return fmt.Errorf("not a trace in JSON: %w", err)
	case start != json.Delim('{'):
		return errForeign // a list of events, which is a trace of other tools
	}
	for d.More() {
		key, err := d.Token()
		if err == nil {
			err = b.member(d, key)
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("not a trace in JSON: %w", err)
	}
	return b.nothingElse(d)
}

// nothingElse holds a file to what the runtime writes: all parts, and nothing behind them.
func (b *builder) nothingElse(d *json.Decoder) error {
	for _, part := range []string{"traceEvents", "otherData"} {
		if b.ours && !b.parts[part] {
			return fmt.Errorf("it has no %s", part)
		}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text follows its end, as when two processes write to one file")
	}
	return nil
}

func (b *builder) member(d *json.Decoder, key json.Token) error {
	if b.parts[key] {
		return fmt.Errorf("%s is there twice", key)
	}
	b.parts[key] = true
	switch key {
	case "writer":
		return b.writtenBy(d)
	case "version":
		return b.versionOf(d)
	case "traceEvents":
		return b.events(d)
	case "stackFrames":
		return b.foreign(d.Decode(&b.frames))
	case "otherData":
		return b.otherData(d)
	}
	var rest json.RawMessage
	return d.Decode(&rest)
}

func (b *builder) writtenBy(d *json.Decoder) error {
	var name string
	err := d.Decode(&name)
	b.ours = name == writer
	return b.foreign(err)
}

// version is what the runtime writes (runtime/observe/trace/format.go); traces without a number are of it, too.
const version = 1

// versionOf refuses traces of later versions, whose events may mean something else.
func (b *builder) versionOf(d *json.Decoder) error {
	var n json.Number
	if err := d.Decode(&n); err != nil || n.String() == fmt.Sprint(version) {
		return b.foreign(err)
	}
	return fmt.Errorf("the trace is of version %s, and this tl reads version %d: use the tl of the library that wrote it",
		n, version)
}

func (b *builder) otherData(d *json.Decoder) error {
	var data struct {
		Writer, Began string
		Complete      bool
		Dropped       uint64
	}
	if err := d.Decode(&data); err != nil {
		return b.foreign(err)
	}
	b.ours = b.ours || data.Writer == writer
	b.Began, b.Dropped, b.Whole = data.Began, data.Dropped, data.Complete
	return nil
}

// foreign tells of a value of another type than the runtime writes that the trace is
// somebody else's, unless it says otherwise.
func (b *builder) foreign(err error) error {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) && !b.ours {
		return errForeign
	}
	return err
}

func (b *builder) events(d *json.Decoder) error {
	if start, err := d.Token(); err != nil {
		return err
	} else if start != json.Delim('[') {
		return errForeign
	}
	for n := 0; d.More(); n++ {
		var e traceEvent
		err := b.foreign(d.Decode(&e))
		if err == nil {
			err = b.add(&e)
		}
		if err != nil && !errors.Is(err, errForeign) {
			return fmt.Errorf("event %d, %q: %w", n, e.Name, err)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func (b *builder) add(e *traceEvent) error {
	if b.pid == 0 {
		b.pid = e.Pid
	}
	if e.Pid != b.pid {
		return fmt.Errorf("it is of process %d, and others are of %d", e.Pid, b.pid)
	}
	if !(e.Ts >= 0 && e.Ts <= longest) {
		return fmt.Errorf("it is at %g microseconds, and no trace is as long", e.Ts)
	}
	b.End = max(b.End, e.Ts)
	switch {
	case e.Ph == "M":
		switch e.Name {
		case "process_name":
			b.Process = e.Args.Name
		case "stack":
			b.stacks[e.Args.Site] = e.Args.Frames
		default:
			b.threads[e.Tid] = true
		}
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

// longest bounds times, in microseconds: they can be told apart up to there, after more than a hundred years.
const longest = 1 << 52

// highest bounds addresses and sizes, so that sums of them stay numbers: no processor has
// as many.
const highest = 1 << 57

// memory follows blocks and chunks.
func (b *builder) memory(e *traceEvent) error {
	address, err := strconv.ParseUint(strings.TrimPrefix(e.Args.Address, "0x"), 16, 64)
	if err != nil {
		return fmt.Errorf("no address: %w", err)
	}
	if address > highest || e.Args.Bytes > highest {
		return fmt.Errorf("%d bytes at %#x are no memory of a process", e.Args.Bytes, address)
	}
	switch e.Name {
	case "alloc":
		b.end(address, e.Ts)
		n := &Block{Address: address, Bytes: e.Args.Bytes, Kind: e.Args.Kind, Type: e.Args.Type, Tag: e.Args.Tag,
			Site:  e.Sf,
			First: e.Ts, Before: e.Args.Before != 0}
		if n.Before {
			n.First = 0
		}
		b.left[address] = n
		b.Blocks = append(b.Blocks, n)
	case "free":
		b.end(address, e.Ts)
	case "site":
		if n := b.left[address]; n != nil {
			n.Site = e.Sf
		}
	case "held":
		if n := b.left[address]; n != nil {
			from, _ := strconv.ParseUint(strings.TrimPrefix(e.Args.From, "0x"), 16, 64) // 0 = no object
			n.holders = append(n.holders, holder{e.Args.By, from, e.Sf})
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
	if n := b.left[address]; n != nil {
		n.End, n.Freed = at, true
		delete(b.left, address)
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
	if b.frames == nil {
		began, _ := time.Parse(time.RFC3339Nano, b.Began)
		b.frames = resolve(b.stacks, b.pid, began.Add(time.Duration(b.End*1000)))
	}
	b.stacks = nil
}
