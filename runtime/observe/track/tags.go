package track

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/status"
)

// Tags name what a program is doing; each recorded allocation carries those that its
// thread has pushed, as "outer/inner". A tag ends when it is popped, or with the scope,
// function or planned frame that was the newest one then: a mark that is pushed anew
// has lost the flag that the tag gave it.

// PushTag adds a tag.
func PushTag(c *object.Context, name string) status.Status {
	dropTags(c)
	if c.Tracking.Tags == layout.MaxTags {
		return c.Fail(status.Limit, object.TextTags, 0, layout.MaxTags)
	}
	if outer := NameOf(Tag(c)); outer != "" {
		name = outer + "/" + name
	}
	number := Intern(name)
	if number == 0 {
		return c.Fail(status.OutOfMemory, object.TextTables, 0)
	}
	depth := c.OpenMarks()
	if depth > 0 {
		c.OpenMark(depth - 1).Kind |= layout.MarkTagged
	}
	c.Tracking.TagNames[c.Tracking.Tags], c.Tracking.TagDepths[c.Tracking.Tags] = number, uint32(depth)
	trace.TagPushed(c.Id, c.Tracking.Tags, name)
	c.Tracking.Tags++
	return status.OK
}

// PopTag takes the newest tag away.
func PopTag(c *object.Context) status.Status {
	dropTags(c)
	if c.Tracking.Tags == 0 {
		return c.Fail(status.ScopeUnderflow, object.TextNoTag, 0)
	}
	c.Tracking.Tags--
	trace.TagPopped(c.Id, c.Tracking.Tags)
	return status.OK
}

// Tag returns the number of the tags that hold now, 0 = none.
func Tag(c *object.Context) uint32 {
	dropTags(c)
	if c.Tracking.Tags == 0 {
		return 0
	}
	return c.Tracking.TagNames[c.Tracking.Tags-1]
}

// dropTags ends the tags of scopes that were left. Those below one that holds hold, too.
func dropTags(c *object.Context) {
	for ; c.Tracking.Tags > 0; c.Tracking.Tags-- {
		depth := uint64(c.Tracking.TagDepths[c.Tracking.Tags-1])
		if depth == 0 || depth <= c.OpenMarks() && c.OpenMark(depth-1).Kind&layout.MarkTagged != 0 {
			return
		}
		trace.TagPopped(c.Id, c.Tracking.Tags-1)
	}
}
