package offsets

import "time"

// Progress tells how far a search is.
type Progress struct {
	// Frame of the best placement so far, -1 while there is none; LowerBound is what none undercuts. With several
	// spaces they are those of the space that is being searched.
	Frame, LowerBound int64
	// Elapsed since the call.
	Elapsed time.Duration
	// Steps as Solution counts them.
	Steps int64
}

// progressEvery is the time between two reports when nothing improves.
const progressEvery = 10 * time.Millisecond

// reporter calls Options.Progress.
type reporter struct {
	call     func(Progress) (stop bool)
	start    time.Time
	next     time.Time // of the next report
	frame    int64     // the best so far
	bound    int64
	told     int64 // the frame that was reported last
	steps    int64 // that were reported last: those of a warm start are taken back
	canceled bool
}

func newReporter(call func(Progress) bool, clock func() time.Time) reporter {
	r := reporter{call: call, frame: -1, told: -1}
	if call != nil {
		r.start = clock()
		r.next = r.start.Add(progressEvery)
	}
	return r
}

// improved notes the placement that is the best so far, and reports one that is better than the last.
func (s *solver) improved(frame, bound int64) {
	s.report.frame, s.report.bound = frame, bound
	if s.report.call != nil && frame != s.report.told {
		s.tell(s.clock())
	}
}

// tell reports, and takes the answer.
func (s *solver) tell(at time.Time) {
	r := &s.report
	r.next = at.Add(progressEvery)
	r.told, r.steps = r.frame, max(r.steps, s.steps)
	if !r.canceled {
		r.canceled = r.call(Progress{Frame: r.frame, LowerBound: r.bound, Elapsed: at.Sub(r.start), Steps: r.steps})
	}
	s.late = s.late || r.canceled
}
