// Package config knows the options: their names, which are those of the
// environment variables, their kinds and defaults. It holds values; who reads them
// acts on them.
package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// kind tells how a value is written.
type kind int

const (
	flag   kind = iota // 0, 1, off, on, false, true
	bytes              // 4096, 64KiB, 1.5 GB
	count              // a whole number
	words              // one of a list
	level              // one of a list, the first two of which a flag says, too
	text               // anything
	device             // cpu, cuda:0, a name of a device of the program's own
	limits             // 8GiB,cpu=4GiB,cuda:0=20GiB
	room               // 32,256MiB: tensors of a key, bytes of all
)

// Fixed tells what decides an option for good.
type Fixed string

// What fixes options.
const (
	NotFixed    Fixed = ""
	FixedByLoad Fixed = "load"
	FixedByUse  Fixed = "first use"
)

// option is one row of the table in docs/options.md.
type option struct {
	kind   kind
	words  []string
	fixed  Fixed
	least  uint64 // of bytes
	most   uint64 // of bytes; 0: any size
	zero   bool   // 0 bytes is a value, too
	value  string
	source string // "": FromDefault
}

// MostReserve is the most address space that the heap, or a thread's arena, can be told to take.
const MostReserve = 1 << 40

// Options is a table of values.
type Options struct {
	Registered func(family string) bool // whether the program has a device of that family; nil: it has none
	mu         sync.RWMutex             // guards what follows, but for the keys of all
	all        map[string]*option
	expected   map[string]string // by name: what calls have set before the first use
	complaints []string          // written before the first use
}

// New returns the table with every default.
func New() *Options { return &Options{all: defaults()} }

// setDefaults forgets every value.
func (o *Options) setDefaults() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, opt := range defaults() {
		*o.all[name] = *opt
	}
}

func defaults() map[string]*option {
	return map[string]*option{
		"TL_START":    {kind: words, words: []string{"auto", "load", "first-use"}, value: "auto", fixed: FixedByLoad},
		"TL_FASTPATH": {kind: flag, value: "1", fixed: FixedByUse},
		"TL_HEAP_RESERVE": {kind: bytes, value: "0", fixed: FixedByUse, least: 1 << 20, most: MostReserve,
			zero: true},
		"TL_ARENA_BYTES":     {kind: bytes, value: "1GiB", fixed: FixedByUse, least: 64 << 10, most: MostReserve},
		"TL_REGISTRY_SHARDS": {kind: words, words: powers(12), value: "64", fixed: FixedByUse},
		"TL_ON_ERROR":        {kind: words, words: []string{"ignore", "log", "abort", "fail"}, value: "ignore"},
		"TL_MEM_LOG":         {kind: flag, value: "0"},
		"TL_FAIL_MEMORY":     {kind: count, value: "-1"},
		"TL_HUGE_PAGES":      {kind: level, words: []string{"0", "1", "auto"}, value: "auto"},
		"TL_DEVICE":          {kind: device, value: "cpu"},
		"TL_CUDA_LIBRARY":    {kind: text, fixed: FixedByUse},
		"TL_OPENCL_LIBRARY":  {kind: text, fixed: FixedByUse},
		"TL_MEM_LIMIT":       {kind: limits},
		"TL_MEM_SOFT_LIMIT":  {kind: limits},
		"TL_TENSOR_POOL":     {kind: room, value: "32,256MiB"},
		"TL_TRACK":           {kind: flag, value: "0"},
		"TL_TRACK_SAMPLE":    {kind: bytes, value: "0"},
		"TL_DEBUG":           {kind: flag, value: "0", fixed: FixedByUse},
		"TL_QUARANTINE":      {kind: bytes, value: "16MiB", fixed: FixedByUse},
		"TL_TRACE":           {kind: text, fixed: FixedByUse},
		"TL_TRACE_BYTES":     {kind: bytes, value: "1GiB"},
		"TL_LEAK_CHECK":      {kind: level, words: []string{"off", "report", "fail"}, value: "off"},
		"TL_SHOW_STATS":      {kind: flag, value: "0"},
		"TL_POOL_DEBUG":      {kind: flag, value: "0", fixed: FixedByUse},
	}
}

// Names returns the names of all options, sorted.
func (o *Options) Names() []string { return slices.Sorted(maps.Keys(o.all)) }

// Check tells whether value suits the option, and what fixes the option.
func (o *Options) Check(name, value string) (fixed Fixed, err error) {
	opt := o.all[name]
	if opt == nil {
		if like := o.like(name); like != "" {
			return NotFixed, fmt.Errorf("no option %q; did you mean %s?", name, like)
		}
		return NotFixed, fmt.Errorf("no option %q; the options are %s", name, strings.Join(o.Names(), ", "))
	}
	if err := o.checkValue(opt, value); err != nil {
		return NotFixed, fmt.Errorf("%s=%q: %w", name, value, err)
	}
	return opt.fixed, nil
}

// canonical spells a value of a level as the word that it stands for.
func (opt *option) canonical(value string) string {
	on, err := parseFlag(value)
	switch {
	case opt.kind != level || err != nil:
		return value
	case on:
		return opt.words[1]
	}
	return opt.words[0]
}

func (o *Options) checkValue(opt *option, value string) error {
	value = opt.canonical(value)
	switch opt.kind {
	case flag:
		_, err := parseFlag(value)
		return err
	case bytes:
		return opt.checkSize(value)
	case count:
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Errorf("not a whole number")
		}
	case words, level:
		if !slices.Contains(opt.words, value) {
			return fmt.Errorf("not one of %s", strings.Join(opt.words, ", "))
		}
	case device:
		_, err := o.deviceName(value)
		return err
	case limits:
		_, err := o.parseLimits(value)
		return err
	case room:
		_, _, err := parseRoom(value)
		return err
	}
	return nil
}

func parseFlag(value string) (bool, error) {
	switch strings.ToLower(value) {
	case "1", "on", "true", "yes":
		return true, nil
	case "0", "off", "false", "no", "":
		return false, nil
	}
	return false, fmt.Errorf("not 0 or 1")
}

// Set stores a value that Check accepts.
func (o *Options) Set(name, value, source string) error {
	if _, err := o.Check(name, value); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	opt := o.all[name]
	opt.value, opt.source = opt.canonical(value), source
	return nil
}

func (o *Options) get(name string) string {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.all[name].value
}

// Flag, Bytes, Count and Word return the value of an option of that kind.
func (o *Options) Flag(name string) bool {
	v, _ := parseFlag(o.get(name))
	return v
}

// Bytes returns a size.
func (o *Options) Bytes(name string) uint64 {
	v, _ := ParseSize(o.get(name))
	return v
}

// Count returns a number.
func (o *Options) Count(name string) int64 {
	v, _ := strconv.ParseInt(o.get(name), 10, 64)
	return v
}

// Word returns one of the option's words, or its text.
func (o *Options) Word(name string) string { return o.get(name) }

// powers returns the powers of two up to 2^n.
func powers(n int) []string {
	all := make([]string, n+1)
	for i := range all {
		all[i] = strconv.Itoa(1 << i)
	}
	return all
}
