package registry

import (
	"fmt"
	"testing"
)

// BenchmarkAdoptRelease is a fresh block that comes and goes beside n live ones.
func BenchmarkAdoptRelease(b *testing.B) {
	for _, n := range []uintptr{1e3, 1e5, 1e6} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			table := open64(b)
			for i := range n {
				adopt(b, table, base+i*80, 72)
			}
			i := n
			for b.Loop() {
				i++
				gen, _ := table.Adopt(base+i*80, 72)
				if _, r := table.ReleaseEntry(base+i*80, gen); r != Gone {
					b.Fatal(r)
				}
			}
			b.ReportMetric(float64(table.Totals().Memory)/float64(n), "bytes/pointer")
		})
	}
}
