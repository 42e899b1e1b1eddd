package heap

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// isDumped reports whether a core dump would hold the memory at an address.
func isDumped(t *testing.T, addr uintptr) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	var start, end uintptr
	for line := range strings.Lines(string(text)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			start, end = from, to
			continue
		}
		if flags, found := strings.CutPrefix(line, "VmFlags:"); found && start <= addr && addr < end {
			return !strings.Contains(flags, " dd")
		}
	}
	t.Fatalf("%#x is in no mapping", addr)
	return false
}

func TestCoreDumpsHoldTheRecordsInUse(t *testing.T) {
	if memory.Instrumented {
		t.Skip("memory under the race detector is Go's")
	}
	h := open(t, 1<<30)
	const slots = layout.SpanBytes / 32
	isRight := func(record uint32, want bool) {
		t.Helper()
		for _, addr := range []uintptr{layout.Address(h.Record(record)), layout.Address(h.blockOf(record))} {
			require.Equal(t, want, isDumped(t, addr), "record %d", record)
		}
	}
	isRight(0, true)
	isRight(dumpStep, false)
	for k := range 2 * dumpStep / slots {
		slab := refill(t, h, 1, slots)
		if k%64 == 0 {
			isRight(slab[slots-1].Record, true)
		}
	}
	isRight(dumpStep, true)
	isRight(4*dumpStep, false)
}
