package object

import (
	"runtime"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// Tags name what a program is doing; each recorded allocation carries those that its
// thread has pushed, as "outer/inner". A tag ends when it is popped, or with the scope,
// function or planned frame that was the newest one then: a mark that is pushed anew
// has lost the flag that the tag gave it.

// PushTag adds a tag.
func (c *Context) PushTag(name string) status.Status {
	c.dropTags()
	if c.Tags == layout.MaxTags {
		return c.Fail(status.Limit, textTags, 0, layout.MaxTags)
	}
	if outer := track.NameOf(c.Tag()); outer != "" {
		name = outer + "/" + name
	}
	number := track.Intern(name)
	if number == 0 {
		return c.Fail(status.OutOfMemory, TextTables, 0)
	}
	depth := c.marks()
	if depth > 0 {
		c.mark(depth - 1).Kind |= layout.MarkTagged
	}
	c.TagNames[c.Tags], c.TagDepths[c.Tags] = number, uint32(depth)
	trace.TagPushed(c.Id, c.Tags, name)
	c.Tags++
	return status.OK
}

// PopTag takes the newest tag away.
func (c *Context) PopTag() status.Status {
	c.dropTags()
	if c.Tags == 0 {
		return c.Fail(status.ScopeUnderflow, textNoTag, 0)
	}
	c.Tags--
	trace.TagPopped(c.Id, c.Tags)
	return status.OK
}

// Tag returns the number of the tags that hold now, 0 = none.
func (c *Context) Tag() uint32 {
	c.dropTags()
	if c.Tags == 0 {
		return 0
	}
	return c.TagNames[c.Tags-1]
}

// dropTags ends the tags of scopes that were left. Those below one that holds hold, too.
func (c *Context) dropTags() {
	for ; c.Tags > 0; c.Tags-- {
		depth := uint64(c.TagDepths[c.Tags-1])
		if depth == 0 || depth <= c.marks() && c.mark(depth-1).Kind&layout.MarkTagged != 0 {
			return
		}
		trace.TagPopped(c.Id, c.Tags-1)
	}
}

// goStack is the stack of a Go program, which has no entry guard that would take it.
func goStack() []uintptr {
	var frames [32]uintptr
	return frames[:runtime.Callers(4, frames[:])]
}
