//go:build !race

package headless

const raced = false
