package offsets_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/plan/offsets"
	"tlruntime/runtime/plan/offsets/generate"
)

func resident() string {
	b, _ := os.ReadFile("/proc/self/status")
	for _, l := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(l, "VmHWM") {
			return l
		}
	}
	return ""
}

func TestHuge(t *testing.T) {
	n := 100000
	if s := os.Getenv("HUGE"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	for _, per := range []int{1} {
		for seed := uint64(0); seed < 8; seed++ {
			sh := generate.Wide(n)
			sh.PerStep = per
			p := sh.Problem(seed)
			runtime.GC()
			start := time.Now()
			s, err := offsets.Solve(p, offsets.Options{})
			require.NoError(t, err)
			fmt.Println(n, per, seed, s.FrameBytes(), s.LowerBound(), s.Gap(), s.Method, s.Steps, time.Since(start), resident())
		}
	}
}
