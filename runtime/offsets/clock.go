package offsets

import "time"

// now is the clock. Tests replace it.
var now = time.Now

// unitsPerLook is the work between two looks at the clock. A unit is about what reading one entry of a shelf costs:
// one to three nanoseconds.
const unitsPerLook = 1 << 14

// tick counts units of work, and says whether the work should stop.
func (s *solver) tick(units int64) bool {
	s.units += units
	s.watch(units)
	return s.late || s.units >= s.allowance
}

// watch counts work, also work that no grant pays for, and looks at the clock every unitsPerLook.
func (s *solver) watch(units int64) {
	if s.unseen += units; s.unseen >= unitsPerLook {
		s.unseen = 0
		s.expired()
	}
}

// watch is solver.watch for those that need nothing else of it.
type watch func(units int64)

// visitsPerLook are counted together.
const visitsPerLook = 1024

// visit counts the visits of items i and later of n, as many as are counted together.
func (w watch) visit(i, n int) {
	if i%visitsPerLook == 0 {
		w(unitsOfVisit * int64(min(visitsPerLook, n-i)))
	}
}

// Units of what is done once for each item or interval of a problem: to visit it, and to sort it.
const unitsOfVisit, unitsToSort = 4, 64

// expired looks at the clock.
func (s *solver) expired() bool {
	s.late = s.late || s.report.canceled
	if s.late || s.deadline.IsZero() && s.report.call == nil {
		return s.late
	}
	at := s.clock()
	s.late = !s.deadline.IsZero() && !at.Before(s.deadline)
	if s.report.call != nil && at.After(s.report.next) {
		s.tell(at)
	}
	return s.late
}

// halted says that the time or the work that was granted is used up.
func (s *solver) halted() bool { return s.expired() || s.units >= s.allowance }

// over says that the granted steps, work or time are used up.
func (s *solver) over() bool { return s.left <= 0 || s.halted() }

// spend counts steps that were taken.
func (s *solver) spend(steps int64) {
	s.steps += steps
	s.left -= steps
}

// limited runs body with a grant of its own: so many units of work more, and so many steps. Steps of body count as
// those of the caller, too.
func (s *solver) limited(units, steps int64, body func()) {
	allowance, left, before := s.allowance, s.left, s.steps
	s.allowance, s.left = min(allowance, s.units+units), steps
	body()
	s.allowance, s.left = allowance, left-(s.steps-before)
}

// unitsPerStep is the work that counts as a step where what was done has no nodes to count.
const unitsPerStep = 1 << 15

// charge counts the work since before as steps, as far as it is more than the steps that were counted.
func (s *solver) charge(units, steps int64) {
	s.spend(max(0, (s.units-units)/unitsPerStep-(s.steps-steps)))
}
