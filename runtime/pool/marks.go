package pool

import (
	"slices"

	"tlruntime/runtime/device"
	"tlruntime/runtime/status"
)

// marks are the events that a block waits for, or what is left of one that was cut.
type marks struct{ of []mark }

// mark is an event that was recorded in a stream when a block came back.
type mark struct {
	stream device.Stream
	event  device.Event
	passed bool
}

// isOf reports whether nothing but the work in s is waited for.
func (m *marks) isOf(s device.Stream) bool {
	for _, x := range m.of {
		if x.stream != s && !x.passed {
			return false
		}
	}
	return true
}

// spareEvents is how many events a pool keeps for the next blocks.
const spareEvents = 64

// mark records an event in each of the streams. On failure nothing is waited for.
func (p *Pool) mark(streams []device.Stream) (*marks, error) {
	m := &marks{}
	for i, s := range streams {
		if slices.Contains(streams[:i], s) {
			continue
		}
		event, err := p.event()
		if err == nil {
			m.of = append(m.of, mark{stream: s, event: event})
			err = p.ordered.streams.Record(event, s)
		}
		if err != nil {
			p.unmark(m)
			return nil, deviceError(err, status.Device)
		}
	}
	return m, nil
}

func (p *Pool) event() (device.Event, error) {
	if n := len(p.ordered.spare); n > 0 {
		event := p.ordered.spare[n-1]
		p.ordered.spare = p.ordered.spare[:n-1]
		return event, nil
	}
	return p.ordered.streams.NewEvent()
}

// unmark ends events that nobody waits for any more.
func (p *Pool) unmark(m *marks) {
	for _, x := range m.of {
		p.ordered.spare = append(p.ordered.spare, x.event)
	}
	p.closeSpare(spareEvents)
}

// closeSpare closes all spare events but some. One that the driver does not take is
// forgotten: there is nothing else to do with it.
func (p *Pool) closeSpare(keep int) {
	for len(p.ordered.spare) > keep {
		last := len(p.ordered.spare) - 1
		_ = p.ordered.streams.CloseEvent(p.ordered.spare[last])
		p.ordered.spare = p.ordered.spare[:last]
	}
}

// passed reports whether every event has. In a stream they pass in the order in which
// blocks came back, so a stream that was found busy is not asked again: busy collects
// those.
func (p *Pool) passed(m *marks, busy *[]device.Stream) bool {
	all := true
	for i := range m.of {
		x := &m.of[i]
		if !x.passed && !slices.Contains(*busy, x.stream) {
			done, err := p.ordered.streams.Query(x.event)
			x.passed = done && err == nil
		}
		if !x.passed {
			*busy = append(*busy, x.stream)
			all = false
		}
	}
	return all
}

// await waits for every event.
func (p *Pool) await(m *marks) error {
	for i := range m.of {
		if x := &m.of[i]; !x.passed {
			if err := p.ordered.streams.Await(x.event); err != nil {
				return err
			}
			x.passed = true
		}
	}
	return nil
}
