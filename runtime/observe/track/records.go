package track

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// records holds entries by record, in parts that are mapped when something in them is
// recorded: addresses for all that a heap may have at once are more than limits on a
// process, and valgrind, allow. tracker.mu guards it.
type records []uintptr

const partRecords = 1 << 18

func newRecords(limit uint64) records {
	return make(records, (limit+partRecords-1)/partRecords)
}

// find returns the entry of a record, nil when nothing near it was ever recorded.
func (r records) find(record uint64) *Entry {
	part := record / partRecords
	if part >= uint64(len(r)) || r[part] == 0 {
		return nil
	}
	return layout.At[Entry](r[part] + uintptr(record%partRecords)*entryBytes)
}

// place is find that makes room; nil: there is no memory, or no such record.
func (r records) place(record uint64) *Entry {
	part := record / partRecords
	if part < uint64(len(r)) && r[part] == 0 {
		base, err := memory.Map(partRecords*entryBytes, purpose)
		if err != nil {
			return nil
		}
		r[part] = base
	}
	return r.find(record)
}
