// Package status names the outcomes of every call. The numbers are part of the
// C ABI (tl_status) and never change once released.
package status

// Status is the result of a call.
type Status int32

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
