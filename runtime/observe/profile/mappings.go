package profile

import (
	"os"
	"sort"
	"strconv"
	"strings"
)

// mapping is a piece of the address space that holds code of a file.
type mapping struct {
	start, limit uintptr
	offset       uint64 // in the file
	file         string
}

// mappings returns those of the process, by address; none where the system does not
// tell.
func mappings() []mapping {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	return parseMappings(string(text))
}

// parseMappings reads the format of proc_pid_maps(5) and keeps what can be executed and
// has a file.
func parseMappings(text string) (all []mapping) {
	for line := range strings.Lines(text) {
		field := strings.Fields(line)
		if len(field) < 6 || !strings.Contains(field[1], "x") || !strings.HasPrefix(field[5], "/") {
			continue
		}
		low, high, ok := strings.Cut(field[0], "-")
		start, err1 := strconv.ParseUint(low, 16, 64)
		limit, err2 := strconv.ParseUint(high, 16, 64)
		offset, err3 := strconv.ParseUint(field[2], 16, 64)
		if !ok || err1 != nil || err2 != nil || err3 != nil {
			continue
		}
		// The name is the rest of the line: it may have spaces.
		name := strings.TrimRight(line[strings.Index(line, field[5]):], "\n")
		all = append(all, mapping{uintptr(start), uintptr(limit), offset, strings.TrimSuffix(name, " (deleted)")})
	}
	return all
}

// find returns the mapping that holds an address, -1 for none.
func find(all []mapping, pc uintptr) int {
	i := sort.Search(len(all), func(i int) bool { return all[i].limit > pc })
	if i < len(all) && all[i].start <= pc {
		return i
	}
	return -1
}
