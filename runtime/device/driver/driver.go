// Package driver loads the libraries that drivers of devices come in, at run time,
// so that the runtime needs none of them to be built or to start. A library that was
// loaded stays: what it gave out refers to it.
package driver

import (
	"slices"
	"strings"

	"github.com/ebitengine/purego"

	"tlruntime/runtime/device"
	"tlruntime/runtime/status"
)

// Library is a driver's library in this process.
type Library struct {
	Path   string
	handle uintptr
}

// Open loads the first of paths that can be loaded. The error tells what became of
// each.
func Open(what string, paths ...string) (*Library, error) {
	var tried []string
	for _, path := range paths {
		handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return &Library{path, handle}, nil
		}
		tried = append(tried, reason(path, err))
	}
	return nil, device.Errorf(status.Device, "no %s here; looked for %s", what, strings.Join(tried, "; "))
}

// reason is a loader's message about path, which it usually begins with.
func reason(path string, err error) string {
	text := err.Error()
	if strings.HasPrefix(text, path) {
		return text
	}
	return path + ": " + text
}

// Bind returns the addresses of functions. A name that begins with ? may be missing
// and is 0 then; the error lists the others that are.
func (l *Library) Bind(names []string) ([]uintptr, error) {
	functions := make([]uintptr, len(names))
	var missing []string
	for i, name := range names {
		name, optional := strings.CutPrefix(name, "?")
		address, err := purego.Dlsym(l.handle, name)
		if err != nil && !optional {
			missing = append(missing, name)
		}
		functions[i] = address
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, device.Errorf(status.Device, "%s lacks %s; it is older than this library needs, or another library",
			l.Path, strings.Join(missing, ", "))
	}
	return functions, nil
}

// Call calls a C function whose arguments are integers and addresses. Variables of
// Go that are passed by address stay where they are until it returns.
//
//go:uintptrescapes
func Call(function uintptr, args ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(function, args...)
	return result
}
