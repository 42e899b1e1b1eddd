package config

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// ParseSize reads a size as users write it: 65536, 64KiB, 1.5 GB. A comma is an error: it may be a decimal comma or
// part of the thousands, which make different numbers.
func ParseSize(text string) (uint64, error) {
	if strings.Contains(text, ",") {
		return 0, fmt.Errorf("%q has a comma; a size is written like 1.5GiB or 1536MiB", text)
	}
	return humanize.ParseBytes(text)
}

// checkSize tells whether a value is a size that the option can have.
func (opt *option) checkSize(value string) error {
	n, err := ParseSize(value)
	if err != nil {
		return fmt.Errorf("not a size such as 64MiB or 1.5GiB")
	}
	if n == 0 && opt.zero || opt.most == 0 || n >= opt.least && n <= opt.most {
		return nil
	}
	return fmt.Errorf("not from %s to %s", humanize.IBytes(opt.least), humanize.IBytes(opt.most))
}

// ownName has the memory of the program's own allocators in a list of limits.
const ownName = "own"

// MaxPerKey is the most tensors of one key that the tensor pool can be told to keep.
const MaxPerKey = 1024

// Limits returns sizes by the name of a device; "" is the sum of all.
func (o *Options) Limits(name string) map[string]uint64 {
	v, _ := o.parseLimits(o.get(name))
	return v
}

// parseLimits reads "8GiB,cpu=4GiB,cuda:0=20GiB". Nothing at all is no limit.
func (o *Options) parseLimits(value string) (map[string]uint64, error) {
	all := map[string]uint64{}
	if value == "" {
		return all, nil
	}
	before := ""
	for _, part := range strings.Split(value, ",") {
		name, size, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named {
			name, size = "", name
		}
		if named && name != ownName {
			full, err := o.deviceName(name)
			if err != nil {
				return nil, err
			}
			name = full
		}
		n, err := ParseSize(size)
		if err != nil {
			return nil, fmt.Errorf("%q is not a size such as 8GiB", size)
		}
		if !named && endsInDigit(before) {
			return nil, fmt.Errorf("\"%s,%s\" may have a decimal comma; write 1.5GiB, or a unit before the comma", before, part)
		}
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("two limits for %s", cmp.Or(name, "all memory"))
		}
		all[name], before = n, part
	}
	return all, nil
}

// endsInDigit tells of a size that has no unit: the comma behind it may be that of a fraction.
func endsInDigit(text string) bool {
	return text != "" && text[len(text)-1] >= '0' && text[len(text)-1] <= '9'
}

// Room returns how many tensors of a key the tensor pool keeps, and how many bytes of all.
func (o *Options) Room(name string) (perKey, bytes uint64) {
	perKey, bytes, _ = parseRoom(o.get(name))
	return perKey, bytes
}

// parseRoom reads "32,256MiB".
func parseRoom(value string) (perKey, bytes uint64, err error) {
	count, size, both := strings.Cut(value, ",")
	if perKey, err = strconv.ParseUint(strings.TrimSpace(count), 10, 64); err != nil || perKey > MaxPerKey || !both {
		return 0, 0, fmt.Errorf("not a number up to %d, a comma and a size, such as 32,256MiB", MaxPerKey)
	}
	if bytes, err = ParseSize(strings.TrimSpace(size)); err != nil {
		return 0, 0, fmt.Errorf("%q is not a size such as 256MiB", size)
	}
	return perKey, bytes, nil
}
