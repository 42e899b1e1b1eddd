package device

import (
	"tlruntime/runtime/config"
	"tlruntime/runtime/status"
)

// ParseName splits "cuda:1" into the family and its number; without a number it is
// 0. The family need not exist.
func ParseName(name string) (family string, ordinal int, err error) {
	family, ordinal, ok := config.ParseDevice(name)
	if !ok {
		return "", 0, Errorf(status.InvalidArgument,
			"%q is no name of a device; names are cpu, cuda:0, opencl:0, metal:0", name)
	}
	return family, ordinal, nil
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
