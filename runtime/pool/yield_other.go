//go:build !linux

package pool

func yieldThread() {}
