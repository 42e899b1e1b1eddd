package figures

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// Table returns the figures in aligned columns, for people. What is all zero is left
// out, but for the sum.
func (s *Snapshot) Table() string {
	var out strings.Builder
	fmt.Fprintf(&out, "tl_runtime: statistics\n")
	t := &table{w: tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight), first: 18}
	t.counts("objects", s.objects())
	t.counts("types", s.types())
	t.classes(s.Classes)
	t.devices(s.Devices)
	t.rest(s)
	return out.String()
}

// table is a sequence of tables, each with columns of its own width. The first column is
// aligned to the left, which tabwriter does not do beside others that are not.
type table struct {
	w     *tabwriter.Writer
	first int // width of the first column
}

// head begins a table; row adds to it.
func (t *table) head(columns ...string) {
	_ = t.w.Flush() // into memory
	_, _ = io.WriteString(t.w, "\n")
	t.row(columns...)
}

func (t *table) row(cells ...string) {
	fmt.Fprintf(t.w, "%-*s\t%s\t\n", t.first, cells[0], strings.Join(cells[1:], "\t"))
}

func number(n uint64) string { return humanize.Comma(int64(n)) }

func bytes(n uint64) string { return humanize.IBytes(n) }

// limitText is a size of which 0 is none.
func limitText(n uint64) string {
	if n == 0 {
		return "-"
	}
	return bytes(n)
}

// named is a row of Counts.
type named struct {
	name string
	Count
}

func (s *Snapshot) objects() []named {
	rows := []named{{"all", s.Total}}
	for _, k := range s.Kinds {
		if k.Allocations != 0 {
			rows = append(rows, named{"  " + strings.ReplaceAll(k.Kind, "_", " "), k.Count})
		}
	}
	for _, more := range []named{{"foreign pointers", s.Foreign}, {"blocks of pools", s.PoolBlocks}} {
		if more.Allocations != 0 {
			rows = append(rows, more)
		}
	}
	return rows
}

func (s *Snapshot) types() (rows []named) {
	for _, t := range s.Types {
		if t.Allocations != 0 {
			rows = append(rows, named{printable(t.Name), t.Count})
		}
	}
	return rows
}

// printable keeps a name of the program's to one line.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, name)
}

func (t *table) counts(title string, rows []named) {
	if len(rows) == 0 {
		return
	}
	for _, r := range rows {
		t.first = max(t.first, utf8.RuneCountInString(r.name))
	}
	t.head(title, "live", "bytes", "allocated", "freed")
	for _, r := range rows {
		t.row(r.name, number(r.Live), bytes(r.Bytes), number(r.Allocations), number(r.Frees))
	}
}

func (t *table) classes(rows []Class) {
	if len(rows) == 0 {
		return
	}
	t.head("size class", "live", "bytes", "allocated", "kept", "free slots", "held")
	for _, c := range rows {
		name := "large"
		if c.SlotBytes != 0 {
			name = number(c.SlotBytes)
		}
		t.row(name, number(c.Live), bytes(c.Bytes), number(c.Allocations), number(c.Kept), number(c.Free),
			bytes(c.Held))
	}
}

func (t *table) devices(rows []Device) {
	if len(rows) == 0 {
		return
	}
	t.head("device", "in use", "cached", "reserved", "peak in use", "peak", "soft limit", "hard limit", "relieved",
		"failed", "waiting", "waiting objects")
	for _, d := range rows {
		t.row(d.Device, bytes(d.InUse), bytes(d.Cached), bytes(d.Reserved), bytes(d.PeakInUse), bytes(d.Peak),
			limitText(d.SoftLimit), limitText(d.HardLimit), number(d.Relieved), number(d.Failed), bytes(d.WaitingBytes),
			number(d.WaitingObjects))
	}
}

func (t *table) rest(s *Snapshot) {
	p := s.Process
	t.head("tensor pool", "tensors", "bytes", "hits", "misses")
	t.row("", number(s.TensorPool.Tensors), bytes(s.TensorPool.Bytes), number(s.TensorPool.Hits),
		number(s.TensorPool.Misses))
	t.head("stacks of threads", "scope entries", "frames", "arenas", "contexts")
	t.row("", number(s.Stacks.ScopeEntries), bytes(s.Stacks.FrameBytes), bytes(s.Stacks.ArenaBytes), number(p.Contexts))
	t.head("process", "resident", "slow calls", "system calls", "deferred", "skipped")
	t.row("", bytes(p.ResidentBytes), number(p.SlowCalls), number(p.SystemCalls), number(p.ReleasesDeferred),
		number(p.ScopeEntriesSkipped))
	_ = t.w.Flush() // into memory
}
