package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var deviceForm = regexp.MustCompile(`^([a-z][a-z0-9_-]{0,30})(?::(0|[1-9][0-9]{0,3}))?$`)

// families are those of the library's devices; a program can add its own.
var families = []string{"cpu", "shared", "cuda", "opencl", "metal"}

// ParseDevice splits "cuda:1" into the family and its number; without a number it is 0. The family need not exist.
func ParseDevice(name string) (family string, number int, ok bool) {
	m := deviceForm.FindStringSubmatch(name)
	if m == nil {
		return "", 0, false
	}
	number, _ = strconv.Atoi(m[2]) // at most four digits; none is 0
	return m[1], number, true
}

// DeviceName is the name of a device. The family "cpu" has one device, and so has "shared".
func DeviceName(family string, number int) string {
	if number == 0 && single(family) {
		return family
	}
	return family + ":" + strconv.Itoa(number)
}

func single(family string) bool { return family == "cpu" || family == "shared" }

// deviceName returns the full name of a device that an option has. Whether there is that device shows when it is
// wanted: drivers are asked late, and programs register devices of their own. What can be none is an error.
func (o *Options) deviceName(text string) (string, error) {
	family, number, ok := ParseDevice(text)
	switch {
	case !ok:
		return "", fmt.Errorf("%q is not a name such as cpu, cuda:0 or opencl:1", text)
	case number != 0 && single(family):
		return "", fmt.Errorf("there is one device %s, without a number", family)
	case o.Registered == nil || !o.Registered(family):
		if like := likeFamily(family); like != "" {
			return "", fmt.Errorf("there is no device %q; did you mean %s?", text, like)
		}
	}
	return DeviceName(family, number), nil
}

// likeFamily returns the family that was probably meant: a letter is missing, or too much, or two are swapped. Another
// letter in a word of three is another word, such as npu, which may be a program's own.
func likeFamily(family string) string {
	if slices.Contains(families, family) {
		return ""
	}
	for _, known := range families {
		another := len(known) == 3 && len(family) == 3 && sorted(family) != sorted(known)
		if distance(family, known) == 1 && !another {
			return known
		}
	}
	return ""
}

func sorted(word string) string {
	letters := strings.Split(word, "")
	slices.Sort(letters)
	return strings.Join(letters, "")
}

// Devices returns the names of the devices that options want, by option.
func (o *Options) Devices() map[string][]string {
	wanted := map[string][]string{}
	for name, opt := range o.all {
		value := o.get(name)
		switch opt.kind {
		case device:
			if full, err := o.deviceName(value); err == nil {
				wanted[name] = []string{full}
			}
		case limits:
			for full := range o.Limits(name) {
				if full != "" && full != ownName {
					wanted[name] = append(wanted[name], full)
				}
			}
			slices.Sort(wanted[name])
		}
	}
	return wanted
}
