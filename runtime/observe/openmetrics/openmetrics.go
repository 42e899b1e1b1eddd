// Package openmetrics writes the statistics of TL Runtime as OpenMetrics text (the
// OpenMetrics specification 1.0.0), which Prometheus and its like read.
package openmetrics

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tlruntime/runtime/observe/figures"
)

// sample is a figure of a family, with labels "name", "value", ... .
type sample struct {
	value  uint64
	labels []string
}

// family is a metric with its samples.
type family struct {
	name, kind, help string // counters get _total at each sample
	samples          []sample
}

// Text returns a snapshot as text.
func Text(s *figures.Snapshot) []byte {
	var w bytes.Buffer
	families := append(objects(s), classes(s)...)
	families = append(families, devices(s)...)
	for _, f := range append(families, process(s)...) {
		f.write(&w)
	}
	fmt.Fprintln(&w, "# EOF")
	return w.Bytes()
}

func (f family) write(w *bytes.Buffer) {
	fmt.Fprintf(w, "# TYPE %s %s\n", f.name, f.kind)
	if strings.HasSuffix(f.name, "_bytes") {
		fmt.Fprintf(w, "# UNIT %s bytes\n", f.name)
	}
	fmt.Fprintf(w, "# HELP %s %s\n", f.name, f.help)
	suffix := ""
	if f.kind == "counter" {
		suffix = "_total"
	}
	for _, s := range f.samples {
		fmt.Fprintf(w, "%s%s%s %d\n", f.name, suffix, braces(s.labels), s.value)
	}
}

// text returns a value as UTF-8: names of types are the program's and may hold anything. A byte that is no character
// stands as \xff, so that names that differ stay different.
func text(value string) string {
	if utf8.ValidString(value) {
		return value
	}
	var b strings.Builder
	for len(value) > 0 {
		r, n := utf8.DecodeRuneInString(value)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, value[0])
		} else {
			b.WriteString(value[:n])
		}
		value = value[n:]
	}
	return b.String()
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func braces(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	var all []string
	for i := 0; i < len(labels); i += 2 {
		all = append(all, labels[i]+`="`+escaper.Replace(text(labels[i+1]))+`"`)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// column is one family of a table: what it takes from each row.
type column[T any] struct {
	name, kind, help string
	value            func(*T) uint64
}

// families makes one family of each column.
func families[T any](columns []column[T], rows []T, labels func(*T) []string) (out []family) {
	for _, c := range columns {
		f := family{name: c.name, kind: c.kind, help: c.help}
		for i := range rows {
			f.samples = append(f.samples, sample{c.value(&rows[i]), labels(&rows[i])})
		}
		out = append(out, f)
	}
	return out
}

func objects(s *figures.Snapshot) []family {
	rows := append(append([]figures.Kind{}, s.Kinds...), figures.Kind{Kind: "foreign", Count: s.Foreign},
		figures.Kind{Kind: "pool_blocks", Count: s.PoolBlocks})
	kinds := families([]column[figures.Kind]{
		{"tl_objects_live", "gauge", "Live objects by kind.", func(k *figures.Kind) uint64 { return k.Live }},
		{"tl_objects_live_bytes", "gauge", "Bytes of live objects by kind.", func(k *figures.Kind) uint64 {
			return k.Bytes
		}},
		{"tl_objects_allocated", "counter", "Objects ever made by kind.", func(k *figures.Kind) uint64 {
			return k.Allocations
		}},
		{"tl_objects_freed", "counter", "Of them, those that are gone.", func(k *figures.Kind) uint64 { return k.Frees }},
	}, rows, func(k *figures.Kind) []string { return []string{"kind", k.Kind} })
	types := families([]column[figures.Type]{
		{"tl_type_live", "gauge", "Live objects of a type of the program.", func(t *figures.Type) uint64 {
			return t.Live
		}},
		{"tl_type_live_bytes", "gauge", "Bytes of live objects of a type.", func(t *figures.Type) uint64 {
			return t.Bytes
		}},
		{"tl_type_allocated", "counter", "Objects of a type ever made.", func(t *figures.Type) uint64 {
			return t.Allocations
		}},
	}, s.Types, func(t *figures.Type) []string {
		return []string{"type", strconv.FormatUint(uint64(t.Type), 10), "name", t.Name}
	})
	return append(kinds, types...)
}

func classes(s *figures.Snapshot) []family {
	return families([]column[figures.Class]{
		{"tl_class_live", "gauge", "Live objects of a size class; 0 are large ones.", func(c *figures.Class) uint64 {
			return c.Live
		}},
		{"tl_class_free", "gauge", "Free slots of a size class.", func(c *figures.Class) uint64 { return c.Free }},
		{"tl_class_held_bytes", "gauge", "Memory that is held for a size class.", func(c *figures.Class) uint64 {
			return c.Held
		}},
	}, s.Classes, func(c *figures.Class) []string { return []string{"slot_bytes", strconv.FormatUint(c.SlotBytes, 10)} })
}

func devices(s *figures.Snapshot) []family {
	type d = figures.Device
	return families([]column[d]{
		{"tl_device_reserved_bytes", "gauge", "Memory that is held of a device.", func(d *d) uint64 {
			return d.Reserved
		}},
		{"tl_device_in_use_bytes", "gauge", "Of it, in live objects and blocks.", func(d *d) uint64 { return d.InUse }},
		{"tl_device_cached_bytes", "gauge", "Of it, the rest.", func(d *d) uint64 { return d.Cached }},
		{"tl_device_reserved_peak_bytes", "gauge", "The most that was held.", func(d *d) uint64 { return d.Peak }},
		{"tl_device_in_use_peak_bytes", "gauge", "At least the most that was in use.", func(d *d) uint64 {
			return d.PeakInUse
		}},
		{"tl_device_allocated_bytes", "counter", "In objects and blocks, ever.", func(d *d) uint64 {
			return d.Allocated
		}},
		{"tl_device_freed_bytes", "counter", "Of it, what came back.", func(d *d) uint64 { return d.Freed }},
		{"tl_device_soft_limit_bytes", "gauge", "Soft limit; 0 is none.", func(d *d) uint64 { return d.SoftLimit }},
		{"tl_device_hard_limit_bytes", "gauge", "Hard limit; 0 is none.", func(d *d) uint64 { return d.HardLimit }},
		{"tl_device_relieved", "counter", "Requests that caches were emptied for.", func(d *d) uint64 {
			return d.Relieved
		}},
		{"tl_device_out_of_memory", "counter", "Of them, those that failed.", func(d *d) uint64 { return d.Failed }},
		{"tl_device_waiting_bytes", "gauge", "In use by objects that wait for their owners.", func(d *d) uint64 {
			return d.WaitingBytes
		}},
		{"tl_device_waiting_objects", "gauge", "Objects that wait for their owners.", func(d *d) uint64 {
			return d.WaitingObjects
		}},
	}, s.Devices, func(d *d) []string { return []string{"device", d.Device} })
}

func process(s *figures.Snapshot) []family {
	one := func(name, kind, help string, value uint64) family {
		return family{name, kind, help, []sample{{value: value}}}
	}
	p := s.Process
	return []family{
		one("tl_tensor_pool_tensors", "gauge", "Tensors that the pool keeps.", s.TensorPool.Tensors),
		one("tl_tensor_pool_kept_bytes", "gauge", "Their memory.", s.TensorPool.Bytes),
		one("tl_tensor_pool_hits", "counter", "Requests that kept tensors served.", s.TensorPool.Hits),
		one("tl_tensor_pool_misses", "counter", "Requests that they did not.", s.TensorPool.Misses),
		one("tl_scope_entries", "gauge", "References that scopes hold.", s.Stacks.ScopeEntries),
		one("tl_frame_bytes", "gauge", "Memory in use in frames.", s.Stacks.FrameBytes),
		one("tl_arena_bytes", "gauge", "Memory in use in arenas.", s.Stacks.ArenaBytes),
		one("tl_resident_bytes", "gauge", "Resident memory of the process.", p.ResidentBytes),
		one("tl_contexts", "gauge", "Threads attached or parked.", p.Contexts),
		one("tl_slow_calls", "counter", "Calls of the slow path.", p.SlowCalls),
		one("tl_system_calls", "counter", "System calls about memory.", p.SystemCalls),
		one("tl_releases_deferred", "counter", "Last references that waited for their owner.", p.ReleasesDeferred),
	}
}
