package device

import (
	"regexp"
	"strconv"

	"tlruntime/runtime/status"
)

var nameForm = regexp.MustCompile(`^([a-z][a-z0-9_-]{0,30})(?::(0|[1-9][0-9]{0,3}))?$`)

// ParseName splits "cuda:1" into the family and its number; without a number it is
// 0. The family need not exist.
func ParseName(name string) (family string, ordinal int, err error) {
	m := nameForm.FindStringSubmatch(name)
	if m == nil {
		return "", 0, Errorf(status.InvalidArgument,
			"%q is no name of a device; names are cpu, cuda:0, opencl:0, metal:0", name)
	}
	if m[2] != "" {
		ordinal, _ = strconv.Atoi(m[2]) // at most four digits
	}
	return m[1], ordinal, nil
}

// canonical is the name that a device with this family and number has.
func canonical(family string, ordinal int) string {
	if ordinal == 0 && (family == CPU.String() || family == Shared.String()) {
		return family
	}
	return family + ":" + strconv.Itoa(ordinal)
}

// builtin returns the kind whose devices have names of this family.
func builtin(family string) (Kind, bool) {
	for k, name := range kindNames {
		if name == family && Kind(k) != Custom {
			return Kind(k), true
		}
	}
	return Custom, false
}
