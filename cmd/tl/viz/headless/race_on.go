//go:build race

package headless

// raced tells that the race detector is at work. What a browser draws it cannot see, and
// pages take many times as long beside it.
const raced = true
