package track

// Where the open scopes, functions and planned frames of contexts were entered, which calls tell while TL_DEBUG is on
// (package debug). The stack comes at the end of the call, as that of an allocation.

// Entered notes that a call has opened the mark with that number.
func Entered(context uintptr, mark uint64) {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	if tracker.pending == nil {
		return // nothing is tracked yet
	}
	sites := tracker.entered[context]
	for uint64(len(sites)) <= mark {
		sites = append(sites, 0)
	}
	sites[mark] = 0
	tracker.entered[context] = sites[:mark+1]
	p := pendingOf(context)
	p.entered = append(p.entered, mark)
}

// EnteredAt returns where the mark was opened, 0: that is not known.
func EnteredAt(context uintptr, mark uint64) (site uint32) {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	if sites := tracker.entered[context]; mark < uint64(len(sites)) {
		return sites[mark]
	}
	return 0
}

// settleMarks gives what the call has opened its site. tracker.mu is held.
func (p *pending) settleMarks(context uintptr, site uint32) {
	sites := tracker.entered[context]
	for _, mark := range p.entered {
		if mark < uint64(len(sites)) {
			sites[mark] = site
		}
	}
	p.entered = p.entered[:0]
}
