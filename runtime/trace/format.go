package trace

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
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
	body(&recording{recorderState: s, now: uint64(time.Since(s.began))})
	if s.file.isFull() {
		_ = s.file.flush(s.tail(nil)) // kept by the file, and told when the trace ends
	}
}

// record keeps an event for snapshots, and tells whether the file takes it.
func (r *recording) record(e Event) bool {
	r.keep(e)
	return !r.full()
}

func (r *recording) keep(e Event) {
	e.Micros = uint64(r.began.UnixMicro()) + r.now/1000
	r.recent.add(e)
}

// full tells whether the file is at its limit, and counts what is dropped then.
func (s *recorderState) full() bool {
	if !s.atLimit() {
		return false
	}
	s.dropped++
	return true
}

func (s *recorderState) atLimit() bool { return s.opts.Limit != 0 && s.file.written() >= s.opts.Limit }

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

// begin starts an event: the fields that all have.
func (r *recording) begin(name, phase string, thread uint32) {
	r.line = append(r.line[:0], `{"name":`...)
	r.line = appendString(r.line, name)
	r.text("ph", phase)
	r.number("pid", pid())
	r.number("tid", uint64(thread))
	if phase != "M" {
		r.line = append(r.line, `,"ts":`...)
		r.line = appendMicros(r.line, r.now)
	}
	r.inArgs = false
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

func appendString(to []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(text)
			if err != nil {
				return append(to, `""`...)
			}
			return append(to, quoted...)
		}
	}
	return append(append(append(to, '"'), text...), '"')
}

// head writes what comes before the first event.
func (s *recorderState) head() {
	r := &recording{recorderState: s}
	s.file.text(`{"displayTimeUnit":"ms","traceEvents":[` + "\n")
	r.begin("process_name", "M", 0)
	r.args()
	name, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		name = []byte("process")
	}
	r.text("name", strings.TrimSpace(string(name)))
	r.end()
}

// tail returns what ends the file as it is now: the ends of what is open, the code of
// sites when it is known, and what can be said of the whole.
func (s *recorderState) tail(code *code) []byte {
	r := &recording{recorderState: s, now: uint64(time.Since(s.began))}
	mark := s.file.mark()
	s.open.closeAll(r)
	end := s.file.takeFrom(mark)
	end = append(end, "\n]"...)
	if code != nil {
		end = append(append(end, `,"stackFrames":`...), code.text...)
	}
	other, err := json.Marshal(map[string]any{
		"writer": "TL Runtime", "complete": code != nil, "dropped": s.dropped,
		"began": s.began.UTC().Format(time.RFC3339Nano),
	})
	if err == nil {
		end = append(append(end, `,"otherData":`...), other...)
	}
	return append(end, "}\n"...)
}

// code is the text of stackFrames.
type code struct{ text []byte }

type stackFrame struct {
	Category string `json:"category"`
	Name     string `json:"name"`
	Parent   string `json:"parent,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
}

// resolve finds the code of sites. A site is a frame by its number, callers have
// numbers from 2^32 on; equal callers are one frame.
func resolve(sites map[uint32]bool, frames func(uint32) []Frame) *code {
	all, callers := map[string]stackFrame{}, map[stackFrame]string{}
	for site := range sites {
		var stack []Frame
		if frames != nil {
			stack = frames(site)
		}
		if len(stack) == 0 {
			stack = []Frame{{Name: "[unknown]"}}
		}
		parent := ""
		for _, f := range slices.Backward(stack[1:]) {
			frame := stackFrame{"memory", f.Name, parent, f.File, f.Line}
			id, known := callers[frame]
			if !known {
				id = strconv.Itoa(1<<32 + len(callers))
				callers[frame], all[id] = id, frame
			}
			parent = id
		}
		all[strconv.Itoa(int(site))] = stackFrame{"memory", stack[0].Name, parent, stack[0].File, stack[0].Line}
	}
	text, err := json.Marshal(all)
	if err != nil {
		text = []byte("{}")
	}
	return &code{text}
}
