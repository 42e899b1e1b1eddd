// Package tlruntime tells the version of this module.
package tlruntime

import (
	_ "embed"
	"strings"
)

//go:embed packaging/VERSION
var version string

// Version is that of the library and of the command tl.
var Version = strings.TrimSpace(version)
