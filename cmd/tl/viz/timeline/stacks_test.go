package timeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// stack writes frames, innermost first, as the frames of site 1.
func (s *script) stack(frames ...string) *script {
	for i, f := range frames {
		parent := ""
		if i+1 < len(frames) {
			parent = fmt.Sprintf(`,"parent":"%d"`, i+2)
		}
		name, at, _ := strings.Cut(f, " @ ")
		if file, line, found := strings.Cut(at, ":"); found {
			parent += fmt.Sprintf(`,"file":%q,"line":%s`, file, line)
		}
		s.frames = append(s.frames, fmt.Sprintf(`"%d":{"name":%q%s}`, i+1, name, parent))
	}
	return s
}

const interpreted = "_PyEval_EvalFrameDefault @ Python/ceval.c:4769"

// TestCodeIsTheProgramsOwn has stacks of each language, as the runtime writes them.
func TestCodeIsTheProgramsOwn(t *testing.T) {
	for _, c := range []struct {
		name         string
		frames, want []string
	}{
		{"C", []string{"tensor_new @ /src/net.c:14", "train @ /src/net.c:40", "main @ /src/main.c:7",
			"libc.so.6+0x27249", "__libc_start_main (libc.so.6+0x27304)", "_start (net+0x1080)"},
			[]string{"net.c:14 tensor_new", "net.c:40 train", "main.c:7 main"}},
		{"without debugging information", []string{"make (net+0x1200)", "main (net+0x1300)"},
			[]string{"make (net+0x1200)", "main (net+0x1300)"}},
		{"a line of Python", []string{"train.py:10 @ /home/u/train.py:10", "libffi.so.8+0x6f79",
			"_call_function_pointer @ /b/Python-3.11.7/Modules/_ctypes/callproc.c:923", interpreted,
			"fast_empty (_fast.abi3.so+0x4739)", "Py_BytesMain @ Modules/main.c:734", "_start (python3.11+0x1080)"},
			[]string{"train.py:10"}},
		{"frames of Python", []string{"fast_empty (_fast.abi3.so+0x4739)", "cfunction_call @ Objects/methodobject.c:443",
			interpreted, "layer @ /home/u/train.py:10", interpreted, "forward @ /home/u/train.py:16",
			"Py_BytesMain @ Modules/main.c:734"}, []string{"train.py:10 layer", "train.py:16 forward"}},
		{"a line, and the frame that it is in", []string{"train.py:10 @ /home/u/train.py:10",
			"empty @ /lib/tl_runtime/_tensor.py:88", interpreted, "layer @ /home/u/train.py:10", interpreted,
			"forward @ /home/u/train.py:16"}, []string{"train.py:10 layer", "train.py:16 forward"}},
		{"C++ below Python", []string{"void conv<float, long>(tensor&) @ /src/conv.cpp:9",
			"wrap @ /src/Objects/bind.cpp:3", interpreted, "layer @ /home/u/train.py:10"},
			[]string{"conv.cpp:9 void conv<float, long>(tensor&)", "bind.cpp:3 wrap", "train.py:10 layer"}},
		{"another program in folders of these names", []string{"new @ Objects/pool.c:3", "main @ Modules/main.c:1"},
			[]string{"pool.c:3 new", "main.c:1 main"}},
		{"the interpreter alone", []string{interpreted, "Py_BytesMain @ Modules/main.c:734"},
			[]string{"ceval.c:4769 _PyEval_EvalFrameDefault", "main.c:734 Py_BytesMain"}},
		{"nothing known", []string{"[unknown]"}, nil},
		{"no stack", nil, nil},
	} {
		trace := (&script{}).stack(c.frames...).trace(t)
		var got []string
		for _, f := range trace.code(1) {
			got = append(got, f.text())
		}
		assert.Equal(t, c.want, got, c.name)
		assert.Len(t, trace.Stack(1), len(c.frames), "details have all frames")
	}
}

// TestStacksInARing has frames that are their own callers.
func TestStacksInARing(t *testing.T) {
	s := &script{frames: []string{`"1":{"name":"a","parent":"2"}`, `"2":{"name":"b","parent":"1"}`}}
	assert.Len(t, s.trace(t).Stack(1), mostFrames)
}

// TestSitesBehindPlumbingAreOne has one line of Python by two ways through the interpreter.
func TestSitesBehindPlumbingAreOne(t *testing.T) {
	s := &script{frames: []string{
		`"1":{"name":"train.py:7","file":"/u/train.py","line":7,"parent":"11"}`, `"11":{"name":"libffi.so.8+0x6f79","parent":"20"}`,
		`"2":{"name":"train.py:7","file":"/u/train.py","line":7,"parent":"12"}`,
		`"12":{"name":"fast_empty (_fast.abi3.so+0x4739)","parent":"20"}`,
		`"20":{"name":"_PyEval_EvalFrameDefault","file":"Python/ceval.c","line":1}`,
	}}
	s.alloc(1, heapAt, 100, "object", "tensor", 1)
	s.alloc(2, heapAt+mib, 200, "object", "tensor", 2)
	trace := s.trace(t)
	sites, number := trace.sites(2)
	assert.Len(t, sites, 1)
	assert.Equal(t, map[uint32]int{1: 0, 2: 0}, number)
	assert.Equal(t, "train.py:7", sites[0].Name)
	assert.Equal(t, Figures{Peak: 300, End: 300, Count: 2, Bytes: 300}, sites[0].Figures)
	live, peak, when := trace.live()
	assert.Equal(t, []string{"train.py:7"}, trace.data(live, peak, when, sites, number).Names)
}
