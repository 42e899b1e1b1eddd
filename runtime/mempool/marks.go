package mempool

import (
	"slices"

	"tlruntime/runtime/device"
	"tlruntime/runtime/status"
)

// marks are the events that a block waits for.
type marks []*mark

// mark is an event that was recorded in a stream when a block came back. The parts of a
// block that was cut share it.
type mark struct {
	stream device.Stream
	event  device.Event
	passed bool
	blocks int // that have it
}

// has reports whether there is a mark of a stream.
func (m marks) has(s device.Stream) bool {
	return slices.ContainsFunc(m, func(x *mark) bool { return x.stream == s })
}

// isOf reports whether nothing but the work in s is waited for.
func (m marks) isOf(s device.Stream) bool {
	return !slices.ContainsFunc(m, func(x *mark) bool { return x.stream != s && !x.passed })
}

// isOver reports whether all events are known to have passed.
func (m marks) isOver() bool { return !slices.ContainsFunc(m, func(x *mark) bool { return !x.passed }) }

// share is the same for another block.
func (m marks) share() marks {
	for _, x := range m {
		x.blocks++
	}
	return slices.Clone(m)
}

// spareEvents is how many events a pool keeps for the next blocks.
const spareEvents = 64

// mark records an event in each of the streams. On failure nothing is waited for.
func (p *Pool) mark(streams []device.Stream) (m marks, err error) {
	for _, s := range streams {
		if m.has(s) {
			continue
		}
		event, err := p.event()
		if err == nil {
			m = append(m, &mark{stream: s, event: event, blocks: 1})
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

// add puts what is left of earlier marks beside newer ones, which stand for those of the
// same stream.
func (p *Pool) add(newer, earlier marks) marks {
	for _, x := range earlier {
		if x.passed || newer.has(x.stream) {
			p.unmark(marks{x})
			continue
		}
		newer = append(newer, x)
	}
	return newer
}

// unmark ends a block's wait. An event that no block has any more is for the next ones.
func (p *Pool) unmark(m marks) {
	for _, x := range m {
		if x.blocks--; x.blocks == 0 {
			p.ordered.spare = append(p.ordered.spare, x.event)
		}
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
func (p *Pool) passed(m marks, busy *[]device.Stream) bool {
	for _, x := range m {
		if !x.passed && !slices.Contains(*busy, x.stream) {
			done, err := p.ordered.streams.Query(x.event)
			x.passed = done && err == nil
		}
		if !x.passed {
			*busy = append(*busy, x.stream)
		}
	}
	return m.isOver()
}

// await waits for every event.
func (p *Pool) await(m marks) error {
	for _, x := range m {
		if !x.passed {
			if err := p.ordered.streams.Await(x.event); err != nil {
				return deviceError(err, status.Device)
			}
			x.passed = true
		}
	}
	return nil
}
