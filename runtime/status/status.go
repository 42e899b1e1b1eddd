// Package status names the outcomes of every call. The numbers are part of the
// C ABI (tl_status) and never change once released.
package status

// Status is the result of a call; OK is 0.
type Status int32

// The statuses, in the order of the C enumeration.
const (
	OK Status = iota
	InvalidArgument
	UnknownPointer
	InteriorPointer
	NotLive
	AlreadyRegistered
	NotRegistered
	ScopeUnderflow
	NoFrame
	SlotOutOfRange
	ArenaExhausted
	OutOfMemory
	Limit
	Overflow
	Device
	Unsupported
	Forked
	Busy
	Internal
	Corrupted
)

var names = [...]string{
	"TL_OK", "TL_E_INVALID_ARGUMENT", "TL_E_UNKNOWN_POINTER", "TL_E_INTERIOR_POINTER", "TL_E_NOT_LIVE",
	"TL_E_ALREADY_REGISTERED", "TL_E_NOT_REGISTERED", "TL_E_SCOPE_UNDERFLOW", "TL_E_NO_FRAME",
	"TL_E_SLOT_OUT_OF_RANGE", "TL_E_ARENA_EXHAUSTED", "TL_E_OUT_OF_MEMORY", "TL_E_LIMIT", "TL_E_OVERFLOW",
	"TL_E_DEVICE", "TL_E_UNSUPPORTED", "TL_E_FORKED", "TL_E_BUSY", "TL_E_INTERNAL",
	"TL_E_CORRUPTED",
}

// String returns the name of the C constant.
func (s Status) String() string {
	if s < 0 || int(s) >= len(names) {
		return "TL_E_?"
	}
	return names[s]
}

// Error makes a failing Status usable as a Go error.
func (s Status) Error() string { return s.String() }

// Err returns s as an error, nil for OK.
func (s Status) Err() error {
	if s == OK {
		return nil
	}
	return s
}
