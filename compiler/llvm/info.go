package llvm

import (
	"encoding/json"
	"fmt"
	"strings"

	"tlruntime/compiler/plan"
)

// Info describes a function to those who call it. NAME_json is its JSON form, and
// NAME_info has the same as the structure tl_plan_info of Header.
type Info struct {
	Name       string       `json:"name"`                    // of the function
	FrameBytes int64        `json:"frame_bytes"`             // that one call takes from the runtime, or from the caller
	Outside    int64        `json:"outside_bytes,omitempty"` // of the second space, taken from where the frame is
	Slots      int          `json:"slots"`                   // 0 when it takes one block, or nothing
	Memory     string       `json:"memory"`                  // "frame", "slots" or "caller"
	Alignment  int64        `json:"alignment"`               // of the frame
	Inputs     []TensorInfo `json:"inputs"`
	Outputs    []TensorInfo `json:"outputs"`
	Constants  []TensorInfo `json:"constants"`
}

// TensorInfo describes an entry of one of the caller's arrays: the address of a
// tensor that lies row by row without gaps.
type TensorInfo struct {
	Name     string  `json:"name"`
	DType    string  `json:"dtype"`
	Shape    []int64 `json:"shape"`
	Bytes    int64   `json:"bytes"`
	Embedded bool    `json:"embedded,omitempty"` // the entry is not looked at: the module has the content
	State    string  `json:"state,omitempty"`    // the entry is not looked at: it is this state of the arena
	Offset   int64   `json:"offset,omitempty"`   // of the state, in the arena

	dtype uint8
}

// memoryNames are what Info.Memory says.
var memoryNames = map[Memory]string{OneFrame: "frame", Slots: "slots", Caller: "caller"}

// Describe returns what Module would tell of p.
func Describe(p *plan.ExecutionPlan, o Options) (Info, error) {
	m, err := newModule(p, o, newUnit())
	if err != nil {
		return Info{}, err
	}
	return m.describe(), nil
}

func (m *module) describe() Info {
	info := Info{Name: m.name, Outside: m.plan.Outside, Slots: len(m.place.slots), Memory: memoryNames[m.opts.Memory],
		Alignment: m.alignment(), Inputs: []TensorInfo{}, Outputs: []TensorInfo{}, Constants: []TensorInfo{}}
	if m.opts.Memory == Slots {
		for _, bytes := range m.place.slots {
			info.FrameBytes += bytes
		}
	} else if m.needsFrame() {
		info.FrameBytes = m.plan.Frame.Bytes
	}
	for _, o := range m.plan.Inputs {
		info.Inputs = append(info.Inputs, m.tensor(o))
	}
	for _, o := range m.plan.Outputs {
		info.Outputs = append(info.Outputs, m.tensor(o))
	}
	for _, b := range m.place.constants {
		t := m.ofBuffer(m.place.buffers[b])
		t.Embedded = m.place.homes[b].global != ""
		info.Constants = append(info.Constants, t)
	}
	return info
}

func (m *module) tensor(o plan.Operand) TensorInfo {
	if o.Buffer < 0 {
		return TensorInfo{Name: o.Name, Shape: o.View.Shape}
	}
	t := m.ofBuffer(m.plan.Buffers[o.Buffer])
	t.Name, t.Shape = o.Name, append([]int64{}, o.View.Shape...)
	t.Bytes = o.View.Elements() * m.plan.Buffers[o.Buffer].DType.Bytes()
	if b := &m.plan.Buffers[o.Buffer]; isState(*b) {
		t.State, t.Offset = b.Name, b.Offset
	}
	return t
}

func (m *module) ofBuffer(b plan.Buffer) TensorInfo {
	return TensorInfo{Name: b.Name, DType: b.DType.String(), Shape: append([]int64{}, b.Shape...), Bytes: b.Bytes,
		dtype: uint8(b.DType)}
}

// info returns the globals that describe the function.
func (m *module) info() []string {
	d := m.describe()
	text, _ := json.Marshal(d)
	m.structs = []string{
		fmt.Sprintf("%%tl_plan_tensor = type { %s, %[1]s, i64, i32, i32, i32, i32 }", m.pointer()),
		fmt.Sprintf("%%tl_plan_info = type { i64, %s, %[1]s, i64, i64, i64, i64, i64, %[1]s, %[1]s, %[1]s, i64, i64, i64 }",
			m.pointer()),
	}
	list := []string{
		m.constantText("_text", m.name),
		fmt.Sprintf("@%s_json = constant [%d x i8] c%s", m.name, len(text)+1, quoted(string(text)+"\x00")),
	}
	var arrays []string
	for _, a := range []struct {
		name string
		list []TensorInfo
	}{{"inputs", d.Inputs}, {"outputs", d.Outputs}, {"constants", d.Constants}} {
		globals, array := m.tensors(a.name, a.list)
		list, arrays = append(list, globals...), append(arrays, array)
	}
	return append(list,
		fmt.Sprintf("@%s_info = constant %%tl_plan_info { i64 %d, %s, %s, i64 %d, i64 %d, i64 %d, i64 %d, i64 %d, %s, "+
			"i64 %d, i64 %d, i64 %d }", m.name, infoBytes, m.string("_text", m.name), m.string("_json", string(text)), d.FrameBytes,
			d.Slots, len(d.Inputs), len(d.Outputs), len(d.Constants), strings.Join(arrays, ", "), m.opts.Memory, d.Alignment,
			d.Outside))
}

const infoBytes = 14 * 8

// string is the address of a string that constantText defines.
func (m *module) string(suffix, text string) string {
	return m.global(m.name+suffix, fmt.Sprintf("[%d x i8]", len(text)+1))
}

// constantText is a private string. Symbols of the module that nobody else sees
// begin with its name, so that modules can be joined.
func (m *module) constantText(suffix, text string) string {
	return fmt.Sprintf("@%s%s = private unnamed_addr constant [%d x i8] c%s", m.name, suffix, len(text)+1,
		quoted(text+"\x00"))
}

// tensors returns the globals of one array of tensors, and its name.
func (m *module) tensors(array string, list []TensorInfo) (globals []string, name string) {
	if len(list) == 0 {
		return nil, m.pointer() + " null"
	}
	entries := make([]string, len(list))
	for i, t := range list {
		suffix := fmt.Sprintf("_%s%d", array, i)
		extents := make([]string, len(t.Shape))
		for a, d := range t.Shape {
			extents[a] = fmt.Sprintf("i64 %d", d)
		}
		shape := m.pointer() + " null"
		if len(extents) > 0 {
			typ := fmt.Sprintf("[%d x i64]", len(extents))
			shape = m.global(m.name+suffix+"_shape", typ)
			globals = append(globals, fmt.Sprintf("@%s%s_shape = private unnamed_addr constant %s [%s]", m.name, suffix,
				typ, strings.Join(extents, ", ")))
		}
		embedded := 0
		switch {
		case t.Embedded:
			embedded = 1
		case t.State != "":
			embedded = 2
		}
		globals = append(globals, m.constantText(suffix, t.Name))
		entries[i] = fmt.Sprintf("%%tl_plan_tensor { %s, %s, i64 %d, i32 %d, i32 %d, i32 %d, i32 0 }",
			m.string(suffix, t.Name), shape, t.Bytes, t.dtype, len(t.Shape), embedded)
	}
	typ := fmt.Sprintf("[%d x %%tl_plan_tensor]", len(list))
	globals = append(globals, fmt.Sprintf("@%s_%s = private unnamed_addr constant %s [%s]", m.name, array, typ,
		strings.Join(entries, ", ")))
	return globals, m.global(m.name+"_"+array, typ)
}
