//go:build !linux

package registry

func yieldThread() {}
