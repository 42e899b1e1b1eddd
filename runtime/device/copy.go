package device

import (
	"runtime"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// stagingBytes is how much a copy between devices without a way of their own takes
// through the CPU's memory at a time.
const stagingBytes = 4 << 20

// Copy copies n bytes between any two devices. Inside one device the ranges must
// not overlap, except on those whose memory the CPU reads.
func Copy(target Device, to uintptr, source Device, from, n uintptr) error {
	if n == 0 {
		return nil
	}
	if err := check(n, place{target, to, true}, place{source, from, false}); err != nil {
		return err
	}
	switch {
	case target == source:
		return target.Within(to, from, n)
	case source.Info().HostAccess:
		return target.FromHost(to, from, n)
	case target.Info().HostAccess:
		return source.ToHost(to, from, n)
	}
	if peer, ok := target.(Peer); ok {
		if done, err := peer.FromPeer(to, source, from, n); done || err != nil {
			return err
		}
	}
	return stage(target, to, source, from, n)
}

// Fill sets n bytes of a device.
func Fill(target Device, to uintptr, value byte, n uintptr) error {
	if n == 0 {
		return nil
	}
	if err := check(n, place{target, to, true}); err != nil {
		return err
	}
	return target.Fill(to, value, n)
}

// place is an address of a device, which is read there or written to.
type place struct {
	device Device
	at     uintptr
	write  bool
}

// check refuses what cannot be memory, so that nothing below overflows, and memory of
// the CPU that cannot be used so: whoever copies would fault there.
func check(n uintptr, places ...place) error {
	var room [2]memory.Range
	ranges := room[:0]
	for _, p := range places {
		if p.at < layout.LowestAddress || n > MaxBytes || p.at+n < p.at {
			return Errorf(status.InvalidArgument, "%d bytes at %#x are no memory of %s", n, p.at, p.device.Name())
		}
		if p.device.Info().HostAccess {
			ranges = append(ranges, memory.Range{Start: p.at, Bytes: n, Write: p.write})
		}
	}
	if at, ok := memory.Usable(ranges...); !ok {
		return Errorf(status.InvalidArgument, "no memory that can be used so at %#x", at)
	}
	return nil
}

// stage copies through the CPU's memory, piece by piece.
func stage(target Device, to uintptr, source Device, from, n uintptr) error {
	buffer := make([]byte, min(n, stagingBytes))
	var pin runtime.Pinner // else a few bytes may lie in a stack, which moves
	pin.Pin(&buffer[0])
	defer pin.Unpin()
	host := layout.Address(&buffer[0])
	for done := uintptr(0); done < n; {
		piece := min(n-done, uintptr(len(buffer)))
		if err := source.ToHost(host, from+done, piece); err != nil {
			return err
		}
		if err := target.FromHost(to+done, host, piece); err != nil {
			return err
		}
		done += piece
	}
	return nil
}
