package config

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Sources of a value.
const (
	FromDefault     = "default"
	FromEnvironment = "environment"
	FromCall        = "tl_configure"
)

// Expect keeps a value that Check accepts for ReadEnvironment: before the first use options
// wait here.
func (o *Options) Expect(name, value string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.expected == nil {
		o.expected = map[string]string{}
	}
	o.expected[name] = value
}

// ReadEnvironment takes the options that calls have set and those of an environment of
// "NAME=value" strings, of two for a name the first, as getenv does; others get their
// default. It keeps a sentence for each
// setting that is not understood for Dump, and returns those that an earlier call has not
// returned: values that do not suit, which leave the default, and names
// beginning with TL_ that are very much like an option's. Other programs may
// use names with TL_ for themselves, so a name that resembles no option is
// ignored.
func (o *Options) ReadEnvironment(environ []string) []string {
	told := o.complaints
	o.complaints = nil
	o.setDefaults()
	seen := o.takeExpected()
	for _, setting := range environ {
		name, value, ok := strings.Cut(setting, "=")
		if !ok || !strings.HasPrefix(name, prefix) || seen[name] {
			continue
		}
		seen[name] = true
		if complaint := o.take(name, value); complaint != "" {
			o.complaints = append(o.complaints, complaint)
		}
	}
	return slices.DeleteFunc(slices.Clone(o.complaints), func(c string) bool { return slices.Contains(told, c) })
}

const prefix = "TL_"

// takeExpected sets the options that wait, and returns their names.
func (o *Options) takeExpected() map[string]bool {
	o.mu.RLock()
	expected := maps.Clone(o.expected)
	o.mu.RUnlock()
	names := map[string]bool{}
	for name, value := range expected {
		names[name] = o.Set(name, value, FromCall) == nil
	}
	return names
}

// take sets an option of the environment and returns why that was not possible.
func (o *Options) take(name, value string) string {
	if o.all[name] == nil {
		if like := o.like(name); like != "" {
			return fmt.Sprintf("%s is no option; did you mean %s?", name, like)
		}
		return ""
	}
	if err := o.Set(name, value, FromEnvironment); err != nil {
		return fmt.Sprintf("%v; it stays %q", err, o.get(name))
	}
	return ""
}

// Complaints returns what ReadEnvironment did not understand.
func (o *Options) Complaints() []string { return o.complaints }

// like returns the option whose name was probably meant.
func (o *Options) like(name string) (found string) {
	nearest := mostOff(len(name))
	for option := range o.candidates(len(name)) {
		if d := distance(strings.ToUpper(name), option); d <= nearest {
			found, nearest = option, d-1
		}
	}
	return found
}

// mostOff is how many letters a name of a length may be off.
func mostOff(length int) int {
	if length < 10 {
		return 1
	}
	return 2
}

// candidates are the options whose names are not longer or shorter by more than that,
// sorted: a difference in length is a distance, too.
func (o *Options) candidates(length int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, option := range o.Names() {
			if off := len(option) - length; max(off, -off) <= mostOff(length) && !yield(option) {
				return
			}
		}
	}
}

// distance is the number of letters to insert, delete, replace or swap with the next one
// that make one word of the other (Damerau 1964, restricted to adjacent swaps).
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// Dump returns a line for each option, `NAME=value (source)`, sorted, and one beginning
// with # for each setting of the environment that was not understood.
func (o *Options) Dump() []byte {
	var text []byte
	for _, name := range o.Names() {
		text = fmt.Appendf(text, "%s=%s (%s)\n", name, oneLine(o.get(name)), o.Source(name))
	}
	for _, complaint := range o.complaints {
		text = fmt.Appendf(text, "# %s\n", oneLine(complaint))
	}
	return text
}

// oneLine keeps a text as it is, or quotes it when it has control characters.
func oneLine(text string) string {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return strconv.Quote(text)
	}
	return text
}

// Source returns where the value of an option came from.
func (o *Options) Source(name string) string {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return cmp.Or(o.all[name].source, FromDefault)
}
