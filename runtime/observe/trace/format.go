package trace

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// recording is the recorder with its lock held, while a trace runs.
type recording struct {
	*recorderState
	now    uint64 // nanoseconds since the start
	inArgs bool
}

// with runs body under the lock if a trace runs, then writes what has become full.
func with(body func(r *recording)) {
	if !On() {
		return
	}
	s := &recorder
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.on.Load() {
		return
	}
	now := clock()
	s.seen.Store(now)
	body(&recording{recorderState: s, now: uint64(now - s.start)})
	if s.file.isFull() {
		_ = s.flush(nil) // kept by the file, and told when the trace ends
	}
	if !s.waits {
		s.waits = true
		time.AfterFunc(mostUnwritten, writeWaiting)
	}
}

// record keeps an event for snapshots, and tells whether the file takes it.
func (r *recording) record(e Event) bool {
	r.keep(e)
	return !r.full()
}

func (r *recording) keep(e Event) {
	e.Micros = r.nanos() / 1000
	r.recent.add(e)
}

// nanos is the time of the event since 1970.
func (r *recording) nanos() uint64 { return uint64(r.began.UnixNano()) + r.now }

// full tells whether the file takes no more, and counts the event: as dropped, or as one that
// may yet be lost.
func (s *recorderState) full() bool {
	if !s.atLimit() {
		s.file.events++
		return false
	}
	s.dropped++
	return true
}

func (s *recorderState) atLimit() bool {
	return s.file.err != nil || s.opts.Limit != 0 && s.file.written() >= s.opts.Limit
}

// thread names a thread when it is first seen. Without a number for it it is the
// calling one.
func (r *recording) thread(context, number uint32) uint32 {
	if number == 0 {
		number = context
		if r.opts.Thread != nil {
			number = r.opts.Thread(context)
		}
	}
	if !r.threads[number] {
		r.threads[number] = true
		r.begin("thread_name", "M", number)
		r.args()
		r.text("name", threadName(number))
		r.end()
	}
	return number
}

func threadName(number uint32) string {
	name, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(int(number)) + "/comm")
	if err != nil {
		return "context " + strconv.Itoa(int(number))
	}
	return strings.TrimSpace(string(name))
}

// site names the site of an event.
func (r *recording) site(site uint32) {
	r.number("sf", uint64(site))
	if !r.sites[site] {
		r.sites[site] = true
		r.fresh = append(r.fresh, site)
	}
}

// stack is the event that tells the frames of a site by place.
func (r *recording) stack(site uint32, frames []Frame) {
	r.begin("stack", "M", 0)
	r.args()
	r.number("site", uint64(site))
	r.key("frames")
	r.line = append(r.line, '[')
	for i, f := range frames {
		if i > 0 {
			r.line = append(r.line, ',')
		}
		r.line = append(r.line, '{')
		r.optional("name", f.Name)
		r.optional("file", f.File)
		if f.Line > 0 {
			r.number("line", uint64(f.Line))
		}
		if f.Module != "" {
			r.text("module", f.Module)
			r.hex("offset", f.Offset)
			r.optional("stamp", f.Stamp)
		}
		r.line = append(r.line, '}')
	}
	r.line = append(r.line, ']')
	r.end()
}

// begin starts an event: the fields that all have.
func (r *recording) begin(name, phase string, thread uint32) {
	r.line = append(r.line[:0], `{"name":`...)
	r.line = appendString(r.line, name)
	r.text("ph", phase)
	r.number("pid", r.pid)
	r.number("tid", uint64(thread))
	if phase != "M" {
		r.line = append(r.line, `,"ts":`...)
		r.line = appendMicros(r.line, r.now)
	}
	r.inArgs = false
}

// instant starts the arguments of an event of a thread that has no end. Site 0 is none.
func (r *recording) instant(name string, thread, site uint32) {
	r.begin(name, "i", thread)
	r.text("s", "t")
	if site != 0 {
		r.site(site)
	}
	r.args()
}

// args starts the arguments, which come last.
func (r *recording) args() {
	r.line = append(r.line, `,"args":{`...)
	r.inArgs = true
}

func (r *recording) key(name string) {
	if last := r.line[len(r.line)-1]; last != '{' {
		r.line = append(r.line, ',')
	}
	r.line = append(append(append(r.line, '"'), name...), '"', ':')
}

func (r *recording) text(name, value string) {
	r.key(name)
	r.line = appendString(r.line, value)
}

func (r *recording) optional(name, value string) {
	if value != "" {
		r.text(name, value)
	}
}

func (r *recording) number(name string, value uint64) {
	r.key(name)
	r.line = strconv.AppendUint(r.line, value, 10)
}

func (r *recording) signed(name string, value int64) {
	r.key(name)
	r.line = strconv.AppendInt(r.line, value, 10)
}

// hex writes numbers that doubles do not hold, such as addresses.
func (r *recording) hex(name string, value uint64) {
	r.key(name)
	r.line = append(strconv.AppendUint(append(r.line, `"0x`...), value, 16), '"')
}

func (r *recording) address(value uint64) { r.hex("address", value) }

// end completes an event.
func (r *recording) end() {
	if r.inArgs {
		r.line = append(r.line, '}')
	}
	r.line = append(r.line, '}')
	r.file.event(r.line)
}

// appendMicros writes nanoseconds as microseconds with three decimals.
func appendMicros(to []byte, nanos uint64) []byte {
	to = strconv.AppendUint(to, nanos/1000, 10)
	rest := nanos % 1000
	return append(to, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// appendString quotes a text as JSON wants it.
func appendString(to []byte, text string) []byte {
	const digits = "0123456789abcdef"
	to = append(to, '"')
	if isPlain(text) {
		return append(append(to, text...), '"')
	}
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			to = append(to, '\\', byte(r))
		case r < ' ':
			to = append(to, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		default:
			to = utf8.AppendRune(to, r)
		}
	}
	return append(to, '"')
}

// isPlain tells whether JSON takes a text as it is.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// head writes what comes before the first event.
func (s *recorderState) head() {
	r := &recording{recorderState: s}
	s.file.text(`{"writer":"TL Runtime","version":1,"displayTimeUnit":"ms","traceEvents":[` + "\n")
	r.begin("process_name", "M", 0)
	r.args()
	name, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		name = []byte("process")
	}
	r.text("name", strings.TrimSpace(string(name)))
	r.end()
}

// flush writes what was recorded, with what ends the file as it is now.
func (s *recorderState) flush(code *code) error {
	var end []byte
	if s.file.err == nil {
		end = s.tail(code)
	}
	return s.file.flush(end, code != nil)
}

// tail returns the ends of what is open, and the code of sites when it is known.
func (s *recorderState) tail(code *code) []byte {
	r := &recording{recorderState: s, now: uint64(clock() - s.start)}
	mark := s.file.mark()
	s.open.closeAll(r, code != nil)
	end := s.file.takeFrom(mark)
	end = append(end, "\n]"...)
	if code != nil {
		end = append(append(end, `,"stackFrames":`...), code.text...)
	}
	return end
}

// countRoom is how wide the number of dropped events is written: on a full disk it can still be changed in place.
const countRoom = 20

// summary says what can be said of the whole.
func (s *recorderState) summary(complete bool) []byte {
	r := &recording{recorderState: s}
	r.line = append(r.line[:0], `,"otherData":{`...)
	r.text("writer", "TL Runtime")
	r.text("began", s.began.UTC().Format(time.RFC3339Nano))
	r.key("complete")
	r.line = strconv.AppendBool(r.line, complete)
	number := len(r.line)
	r.number("dropped", s.dropped+s.file.lost)
	for len(r.line) < number+len(`,"dropped":`)+countRoom {
		r.line = append(r.line, ' ')
	}
	return append(r.line, "}}\n"...)
}

// code is the text of stackFrames.
type code struct{ text []byte }

// stackFrame is a frame of the file, with the number of its caller.
type stackFrame struct {
	Frame
	parent int // 0 = none
}

// firstCaller is the number of the first frame that is no site.
const firstCaller = 1 << 32

// resolve finds the code of sites. A site is a frame by its number, callers have
// numbers from firstCaller on; equal callers are one frame.
func resolve(sites map[uint32]bool, frames func(uint32) []Frame) *code {
	w := &recording{recorderState: &recorderState{line: []byte{'{'}}}
	callers := map[stackFrame]int{}
	for _, site := range slices.Sorted(maps.Keys(sites)) {
		var stack []Frame
		if frames != nil {
			stack = frames(site)
		}
		if len(stack) == 0 {
			stack = []Frame{{Name: "[unknown]"}}
		}
		parent := 0
		for _, f := range slices.Backward(stack[1:]) {
			frame := stackFrame{f, parent}
			id, known := callers[frame]
			if !known {
				id = firstCaller + len(callers)
				callers[frame] = id
				w.stackFrame(id, frame)
			}
			parent = id
		}
		w.stackFrame(int(site), stackFrame{stack[0], parent})
	}
	return &code{append(w.line, '}')}
}

func (r *recording) stackFrame(id int, f stackFrame) {
	r.key(strconv.Itoa(id))
	r.line = append(r.line, '{')
	r.text("category", "memory")
	r.text("name", f.Name)
	r.optional("file", f.File)
	if f.Line > 0 {
		r.number("line", uint64(f.Line))
	}
	if f.parent != 0 {
		r.text("parent", strconv.Itoa(f.parent))
	}
	r.line = append(r.line, '}')
}
