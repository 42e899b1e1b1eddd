package llvm

import (
	"fmt"
	"strings"

	"tlruntime/compiler/plan"
)

const (
	statusInvalid = 1 // TL_E_INVALID_ARGUMENT
)

// function writes the module's one visible function and, on the way, the kernels
// that it calls.
func (m *module) function() error {
	f := &entry{code: code{module: m}, m: m}
	f.arguments()
	f.enter()
	f.stage()
	if err := f.calls(); err != nil {
		return err
	}
	f.leave()
	m.globals = append(m.globals, m.info()...)
	arguments := fmt.Sprintf("%s %%inputs, %[1]s %%outputs, %[1]s %%constants", m.pointer())
	if m.opts.Memory == Caller {
		arguments += ", " + m.pointer() + " %scratch"
		if m.plan.Outside > 0 {
			arguments += ", " + m.pointer() + " %outside"
		}
	}
	m.functions = append(m.functions,
		fmt.Sprintf("define i32 @%s(%s) {\nentry:\n%s}\n", m.name, arguments, f.code.Text.String()))
	return nil
}

// entry is the visible function while it is written.
type entry struct {
	code
	m       *module
	buffers []string // address of each buffer
	failed  []string // "[ status, %block ]" of calls that failed inside the frame
}

// arguments loads the addresses that the caller gives. A NULL among those that are
// needed is an invalid argument.
func (f *entry) arguments() {
	place := &f.m.place
	f.buffers = make([]string, len(place.buffers))
	var null []string
	for i, b := range place.buffers {
		h := place.homes[i]
		switch {
		case b.Bytes == 0:
			f.buffers[i] = "null"
		case h.array != "":
			f.buffers[i] = f.argument(h.array, h.index)
			null = append(null, f.buffers[i])
		case h.global != "":
			f.buffers[i] = f.embedded(h.global, b.Bytes)
		}
	}
	for _, input := range place.staged {
		null = append(null, f.argument("inputs", input))
	}
	var bad []string
	for _, address := range null {
		bad = append(bad, f.isNull(address))
	}
	if f.m.opts.Memory == Caller && f.m.needsFrame() {
		bad = append(bad, f.badMemory("%scratch")...)
	}
	if f.m.opts.Memory == Caller && f.m.plan.Outside > 0 {
		bad = append(bad, f.badMemory("%outside")...)
	}
	f.refuse(bad)
}

func (f *entry) argument(array string, index int) string {
	p := f.m.pointer()
	at := f.at("%"+array, p, fmt.Sprint(index))
	return f.let("load %s, %s, align 8", p, f.as(at, p))
}

// badMemory is what must not hold of the caller's scratch and second space: that it is NULL, or off the frame's
// alignment.
func (f *entry) badMemory(argument string) []string {
	address := f.let("ptrtoint %s %s to i64", f.m.pointer(), argument)
	beside := f.let("and i64 %s, %d", address, f.m.alignment()-1)
	return []string{f.isNull(argument), f.let("icmp ne i64 %s, 0", beside)}
}

// refuse returns an invalid argument when one of the conditions holds.
func (f *entry) refuse(conditions []string) {
	if len(conditions) == 0 {
		return
	}
	any := conditions[0]
	for _, c := range conditions[1:] {
		any = f.let("or i1 %s, %s", any, c)
	}
	f.Do("br i1 %s, label %%invalid, label %%enter", any)
	f.begin("invalid")
	f.Do("ret i32 %d", statusInvalid)
	f.begin("enter")
}

// takesOutside reports whether the function takes the second space from the runtime.
func (m *module) takesOutside() bool { return m.plan.Outside > 0 && m.opts.Memory != Caller }

// enterOutside takes the memory of the second space, unless it is the caller's. It is taken first and given back last.
func (f *entry) enterOutside() {
	if f.m.takesOutside() {
		f.Do("%%outside = call %s %s(i64 %d)", f.m.pointer(), f.m.runtime("tl_mem_frame_enter"), f.m.plan.Outside)
		f.Do("br i1 %s, label %%full, label %%within", f.isNull("%outside"))
		f.begin("full")
		f.Do("%%cause = call i32 %s()", f.m.runtime("tl_last_status"))
		f.Do("ret i32 %%cause")
		f.begin("within")
	}
	for i, h := range f.m.place.homes {
		if h.outside && f.buffers[i] == "" {
			f.buffers[i] = f.at("%outside", "i8", fmt.Sprint(h.offset))
		}
	}
}

// exitOutside gives the second space back; what it answers matters only when the frame was left well.
func (f *entry) exitOutside() string {
	if !f.m.takesOutside() {
		return ""
	}
	return f.let("call i32 %s()", f.m.runtime("tl_mem_frame_exit"))
}

// enter takes the memory of the frame.
func (f *entry) enter() {
	f.enterOutside()
	switch {
	case !f.m.needsFrame():
	case f.m.opts.Memory == Caller:
		f.layOut("%scratch")
	case f.m.opts.Memory == Slots:
		f.enterSlots()
	default:
		f.enterFrame()
	}
}

func (f *entry) enterFrame() {
	f.Do("%%frame = call %s %s(i64 %d)", f.m.pointer(), f.m.runtime("tl_mem_frame_enter"), f.m.plan.Frame.Bytes)
	f.Do("br i1 %s, label %%refused, label %%run", f.isNull("%frame"))
	f.begin("refused")
	f.Do("%%why = call i32 %s()", f.m.runtime("tl_last_status"))
	f.exitOutside()
	f.Do("ret i32 %%why")
	f.begin("run")
	f.layOut("%frame")
}

// layOut gives the buffers in the frame their addresses.
func (f *entry) layOut(frame string) {
	for i, h := range f.m.place.homes {
		if h.frame && f.buffers[i] == "" {
			f.buffers[i] = f.at(frame, "i8", fmt.Sprint(h.offset))
		}
	}
}

func (f *entry) enterSlots() {
	f.Do("%%entered = call i32 %s(i64 %d)", f.m.runtime("tl_mem_function_enter"), len(f.m.place.slots))
	f.Do("br i1 %s, label %%run, label %%refused", f.let("icmp eq i32 %%entered, 0"))
	f.begin("refused")
	f.exitOutside()
	f.Do("ret i32 %%entered")
	f.begin("run")
	slots := make([]string, len(f.m.place.slots))
	for i, bytes := range f.m.place.slots {
		slots[i] = f.slot(i, bytes)
	}
	for i, h := range f.m.place.homes {
		if h.frame && f.buffers[i] == "" {
			f.buffers[i] = slots[h.slot]
		}
	}
}

func (f *entry) slot(i int, bytes int64) string {
	p := f.let("call %s %s(i64 %d, i64 %d)", f.m.pointer(), f.m.runtime("tl_mem_get_buffer"), i, bytes)
	without, with := f.Name("b"), f.Name("b")
	f.Do("br i1 %s, label %%%s, label %%%s", f.isNull(p), without, with)
	f.begin(without)
	f.fail(f.let("call i32 %s()", f.m.runtime("tl_last_status")))
	f.begin(with)
	return p
}

// fail ends the block: the function leaves the frame and returns status.
func (f *entry) fail(status string) {
	f.failed = append(f.failed, fmt.Sprintf("[ %s, %%%s ]", status, f.current()))
	f.Do("br label %%failed")
}

// stage copies the inputs that the plan has in the frame to their place.
func (f *entry) stage() {
	p, name := f.m.pointer(), "llvm.memcpy.p0.p0.i64"
	if f.m.typed() {
		name = "llvm.memcpy.p0i8.p0i8.i64"
	}
	for _, i := range f.m.place.staged {
		o := f.m.plan.Inputs[i]
		f.m.declare(name, fmt.Sprintf("declare void @%s(%s, %[2]s, i64, i1 immarg)", name, p))
		f.Do("call void @%s(%s %s, %[2]s %[4]s, i64 %[5]d, i1 false)",
			name, p, f.buffers[o.Buffer], f.argument("inputs", i), f.m.place.buffers[o.Buffer].Bytes)
	}
}

func (f *entry) isNull(p string) string { return f.let("icmp eq %s %s, null", f.m.pointer(), p) }

// embedded is the address of a constant of the module.
func (f *entry) embedded(name string, bytes int64) string {
	if f.m.typed() {
		return f.let("bitcast [%d x i8]* @%s to i8*", bytes, name)
	}
	return "@" + name
}

// calls writes all instructions. Those without a kernel are one error.
func (f *entry) calls() error {
	var missing MissingError
	for n := range f.m.place.instructions {
		i, write := &f.m.place.instructions[n], f.call
		if callerOf(i.Op) != nil {
			write = f.callBodies
		}
		if err := missing.took(write(i)); err != nil {
			return err
		}
	}
	return missing.orNil()
}

// call writes the kernel of an instruction and calls it.
func (f *entry) call(i *plan.Instruction) error {
	k, err := f.m.kernel(i)
	if err != nil || k.symbol == "" {
		return err
	}
	args := make([]string, len(k.params))
	for n, p := range k.params {
		bytes := f.m.place.buffers[p.buffer].DType.Bytes()
		args[n] = f.m.pointer() + " " + f.at(f.buffers[p.buffer], "i8", fmt.Sprint(p.offset*bytes))
	}
	if !k.fallible {
		f.Do("call void @%s(%s)", k.symbol, strings.Join(args, ", "))
		return nil
	}
	status := f.let("call i32 @%s(%s)", k.symbol, strings.Join(args, ", "))
	bad, good := f.Name("b"), f.Name("b")
	f.Do("br i1 %s, label %%%s, label %%%s", f.let("icmp eq i32 %s, 0", status), good, bad)
	f.begin(bad)
	f.fail(status)
	f.begin(good)
	return nil
}

// leave gives the memory back and returns.
func (f *entry) leave() {
	f.Do("ret i32 %s", f.exit())
	if len(f.failed) == 0 {
		return
	}
	f.begin("failed")
	status := f.let("phi i32 %s", strings.Join(f.failed, ", "))
	f.exit()
	f.Do("ret i32 %s", status)
}

func (f *entry) exit() string {
	status := "0"
	switch {
	case !f.m.needsFrame() || f.m.opts.Memory == Caller:
	case f.m.opts.Memory == Slots:
		status = f.let("call i32 %s()", f.m.runtime("tl_mem_function_exit"))
	default:
		status = f.let("call i32 %s()", f.m.runtime("tl_mem_frame_exit"))
	}
	outside := f.exitOutside()
	if outside == "" {
		return status
	}
	return f.let("select i1 %s, i32 %s, i32 %s", f.let("icmp eq i32 %s, 0", status), outside, status)
}
