package limit

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"tlruntime/runtime/memory"
)

// Figures are those of one account, or of all:
//
//	Reserved == InUse + Cached
type Figures struct {
	InUse          uint64 // bytes of live objects and blocks
	Cached         uint64 // of what is reserved, the rest
	Reserved       uint64 // charged
	Peak           uint64 // the most that was charged since ResetPeaks
	Obtained       uint64 // bytes ever charged; it never falls
	PeakInUse      uint64 // at least the most that InUse was, and at most Peak; see Part
	Allocated      uint64 // bytes of all objects and blocks that were ever given out; it never falls
	Allocations    uint64 // how many they were
	Live           uint64 // of them, those that did not come back
	LargestFree    uint64 // block that is held and free
	Waiting        uint64 // of what is in use: released by another thread, and the owner has to free it
	WaitingObjects uint64 // how many objects they are
	Soft, Hard     uint64
	Relieved       uint64
	Failed         uint64
}

// Key is what the tensor pool keeps under one key.
type Key struct {
	Elements       uint64
	Dtype          string
	Tensors, Bytes uint64 // Bytes of all
}

// Part is what one package knows of an account. Idle is of what others count as in use,
// and IdleBlocks of what they count as live. PeakInUse may be more than InUse ever was:
// the sum over parts is more than the peak of the sum.
type Part struct {
	InUse, Idle, LargestFree      uint64
	PeakInUse                     uint64
	Allocated                     uint64
	Allocations, Live, IdleBlocks uint64
	Waiting, WaitingObjects       uint64
}

var describers []func(Need) Part

// Describe adds a package's knowledge to the figures of the accounts that a Need
// covers. For init functions.
func Describe(f func(of Need) Part) { describers = append(describers, f) }

// Read returns the figures of an account; exact while nothing else happens.
func Read(device int32) Figures {
	a := at(device)
	f := Figures{Reserved: a.used(), Obtained: a.obtained(), Peak: a.peak(), Soft: a.soft.Load(),
		Hard:     a.hard(),
		Relieved: a.reclaimed.Load(), Failed: a.failed.Load()}
	var live, idle, peak, idleBlocks uint64
	for _, describe := range describers {
		part := describe(Need{Device: device})
		live += part.InUse
		idle += part.Idle
		peak += part.PeakInUse
		idleBlocks += part.IdleBlocks
		f.Allocated += part.Allocated
		f.Allocations += part.Allocations
		f.Live += part.Live
		f.LargestFree = max(f.LargestFree, part.LargestFree)
		f.Waiting += part.Waiting
		f.WaitingObjects += part.WaitingObjects
	}
	f.InUse = min(live-min(live, idle), f.Reserved)
	f.Cached = f.Reserved - f.InUse
	f.Obtained = max(f.Obtained, f.Reserved)
	f.Live -= min(f.Live, idleBlocks)
	f.Allocated = max(f.Allocated, f.InUse)
	f.PeakInUse = a.keepPeak(max(f.InUse, min(peak, f.Peak)))
	return f
}

// Keys lists what the tensor pool keeps of a device, largest first. Its cost grows with the number of keys.
var Keys = func(device int32) []Key { return nil }

// Probe measures the memory of a device other than the CPU; both 0: it does not say.
var Probe = func(device int32) (free, total uint64) { return 0, 0 }

func probe(device int32) (free, total uint64) {
	switch device {
	case CPU:
		return memory.Available(), memory.Physical()
	case Own, Total:
		return 0, 0
	}
	return Probe(device)
}

const (
	maxCause = 120 // of the room for a message
	maxName  = 24
	maxKeys  = 3
)

// Sentence explains why n bytes of a device could not be had; cause is what the one who
// refused has to say, if anything. It fits into a message with room for the function.
func Sentence(device int32, n uint64, cause string) string {
	f := Read(device)
	var b strings.Builder
	fmt.Fprintf(&b, "%s requested of %s", humanize.IBytes(n), cut(Name(device), maxName))
	if cause != "" {
		fmt.Fprintf(&b, " (%s)", cut(cause, maxCause))
	}
	fmt.Fprintf(&b, "; in use %s, cached %s, reserved %s, largest free block %s", humanize.IBytes(f.InUse),
		humanize.IBytes(f.Cached), humanize.IBytes(f.Reserved), humanize.IBytes(f.LargestFree))
	if f.Waiting != 0 {
		fmt.Fprintf(&b, "; %s in %d objects, released by other threads, wait for their owners (before a hand-over "+
			"tl_ptr_share, before a long wait tl_thread_detach)", humanize.IBytes(f.Waiting), f.WaitingObjects)
	}
	fmt.Fprintf(&b, "; limit %s", limitText(f.Hard))
	if _, hard := Get(Total); hard != 0 && device != Total {
		fmt.Fprintf(&b, ", in all %s of %s", humanize.IBytes(Used(Total)), humanize.IBytes(hard))
	}
	b.WriteString("; device free " + deviceText(device) + "; largest keys " + keysText(Keys(device)))
	return b.String()
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}

func limitText(hard uint64) string {
	if hard == 0 {
		return "none"
	}
	return humanize.IBytes(hard)
}

func deviceText(device int32) string {
	free, total := probe(device)
	if total == 0 {
		return "unknown"
	}
	return humanize.IBytes(free) + " of " + humanize.IBytes(total)
}

func keysText(keys []Key) string {
	if len(keys) == 0 {
		return "none"
	}
	var all []string
	for _, k := range keys[:min(len(keys), maxKeys)] {
		all = append(all, fmt.Sprintf("(%d, %s) x %d = %s", k.Elements, k.Dtype, k.Tensors, humanize.IBytes(k.Bytes)))
	}
	return strings.Join(all, ", ")
}

// Accounts returns the sum of all, the CPU, and every other account that was ever charged
// or has a name.
func Accounts() []int32 {
	all := []int32{Total, CPU}
	for device := int32(1); device < maxDevices; device++ {
		if a := at(device); a.peak() != 0 || a.name.Load() != nil {
			all = append(all, device)
		}
	}
	if at(Own).peak() != 0 {
		all = append(all, Own)
	}
	return all
}
