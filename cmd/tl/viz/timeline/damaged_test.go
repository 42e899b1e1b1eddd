package timeline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ours is a trace as the runtime begins one, of a process with a number.
func ours(events int, pid string) string {
	s := training()
	s.events = s.events[:events]
	return `{"writer":"TL Runtime",` + strings.ReplaceAll(s.text(), `"pid":1,`, `"pid":`+pid+`,`)[1:] + "\n"
}

// TestDamagedTracesAreRefused has what two processes leave that write to one file, and
// what else is no trace any more.
func TestDamagedTracesAreRefused(t *testing.T) {
	long, short := ours(40, "1"), ours(10, "2")
	require.Greater(t, len(long), 2*len(short))
	half := len(long) / 2
	for name, damaged := range map[string]struct{ text, want string }{
		"a shorter trace over a longer one": {short + long[len(short):], "text follows its end"},
		"zeros where the file was cut": {short + strings.Repeat("\x00", 4000) + long[half:],
			"text follows its end"},
		"zeros in front": {strings.Repeat("\x00", 4000) + long, "not a trace in JSON"},
		"zeros in the middle": {long[:half] + strings.Repeat("\x00", 400) + long[half+400:],
			"invalid character"},
		"two traces": {long + short, "text follows its end"},
		"events of another process": {strings.Replace(long, `],"stack`, `,{"name":"a","ph":"i","pid":7}],"stack`, 1),
			"of process 7, and others are of 1"},
		"another trace inside": {long[:half] + short + long[half:], "damaged near byte"},
		"events twice": {strings.Replace(long, `"stackFrames"`, `"traceEvents":[],"stackFrames"`,
			1), "traceEvents is there twice"},
		"no events":  {`{"writer":"TL Runtime","otherData":{}}`, "it has no traceEvents"},
		"no end":     {`{"writer":"TL Runtime","traceEvents":[]}`, "it has no otherData"},
		"nothing":    {"", "the file is empty"},
		"a text":     {"TL Runtime", "not a trace in JSON"},
		"a profile":  {"\x1f\x8b\x08\x00\x00", "go tool pprof reads"},
		"a snapshot": {"\x80\x04\x95\x00", "pytorch.org/memory_viz reads"},
		"a later version": {strings.Replace(long, `"TL Runtime",`, `"TL Runtime","version":2,`, 1),
			"of version 2, and this tl reads version 1"},
		"a version that is no number": {strings.Replace(long, `"TL Runtime",`, `"TL Runtime","version":"x",`, 1),
			"the trace is damaged near byte"},
		"a time beyond all traces": {strings.Replace(long, `"ts":1`, `"ts":1e300,"was":1`, 1),
			"it is at 1e+300 microseconds, and no trace is as long"},
		"a time before the trace": {strings.Replace(long, `"ts":1`, `"ts":-1,"was":1`, 1), "it is at -1 microseconds"},
		"memory beyond all addresses": {strings.Replace(long, `"bytes":1048576`, `"bytes":18446744073709551615`, 1),
			"no memory of a process"},
	} {
		_, err := Read(strings.NewReader(damaged.text))
		assert.ErrorContains(t, err, damaged.want, name)
	}
	for _, whole := range []string{long, short, strings.Replace(long, `{`, `{"version":1,`, 1)} {
		_, err := Read(strings.NewReader(whole))
		assert.NoError(t, err)
	}
}
