package plan

// lifetimes sets the first and last step of every storage that has no parent, and
// returns the live bytes at each step; the first entry is before the first step,
// the last one after the last.
func (l *layout) lifetimes(o *Options) []int64 {
	for i := range l.storages {
		st := &l.storages[i]
		st.first, st.last = len(l.steps)+1, -1
		if st.kind == Input || st.kind == Constant {
			st.first = -1
		}
		if st.kind == Output {
			st.last = len(l.steps)
		}
	}
	for v := range l.at {
		if l.at[v].storage >= 0 {
			l.root(l.at[v].storage).touch(l.born[v])
			l.root(l.at[v].storage).touch(l.lastRead[v])
		}
	}
	for k := range l.copies {
		for _, t := range l.copies[k] {
			l.root(t.from.storage).touch(k)
			l.root(t.to.storage).touch(k)
		}
	}
	return l.liveBytes(o)
}

func (st *storage) touch(step int) {
	if step < 0 {
		return
	}
	st.first = min(st.first, step)
	st.last = max(st.last, step)
}

// root returns the storage that holds storage i in the end.
func (l *layout) root(i int) *storage { return &l.storages[l.rootIndex(i)] }

func (l *layout) rootIndex(i int) int {
	for l.storages[i].parent >= 0 {
		i = l.storages[i].parent
	}
	return i
}

func (l *layout) liveBytes(o *Options) []int64 {
	live := make([]int64, len(l.steps)+3)
	for i := range l.storages {
		st := &l.storages[i]
		if st.parent < 0 && o.placed(st.kind) {
			live[st.first+1] += o.rounded(st.bytes)
			live[st.last+2] -= o.rounded(st.bytes)
		}
	}
	for k, s := range l.steps {
		if s.role != delivers {
			live[k+1] += o.rounded(l.scratch[s.node])
			live[k+2] -= o.rounded(l.scratch[s.node])
		}
	}
	for i := 1; i < len(live); i++ {
		live[i] += live[i-1]
	}
	return live[:len(live)-1]
}
