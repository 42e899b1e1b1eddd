//go:build !linux

package mempool

func yieldThread() {}
