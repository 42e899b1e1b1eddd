package track

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

func pythonWord(name, line uint32) uintptr {
	return layout.PythonTag<<layout.PythonTagShift | uintptr(name)<<layout.PythonLineBits | uintptr(line)
}

func TestFramesOfPythonAreWordsThatNoAddressIs(t *testing.T) {
	require.Equal(t, status.OK, openTables(1024))
	first, second := PythonName("train", "/model.py"), PythonName("Layer.forward", "/model.py")
	assert.NotZero(t, first)
	assert.NotEqual(t, first, second)
	assert.Equal(t, first, PythonName("train", "/model.py"), "each is kept once")
	at, is := PythonAt(pythonWord(PythonName("", ""), 7))
	assert.True(t, is)
	assert.Equal(t, PythonFrame{"<unknown>", "<unknown>", 7}, at)

	at, is = PythonAt(pythonWord(second, 16_777_215))
	assert.True(t, is)
	assert.Equal(t, PythonFrame{"Layer.forward", "/model.py", 16_777_215}, at)
	for _, address := range []uintptr{0, 0x7fff_ffff_ffff, 1<<56 - 1, 1 << 63, ^uintptr(0)} {
		_, is := PythonAt(address)
		assert.False(t, is, "%#x", address)
	}
	_, is = PythonAt(pythonWord(1<<28-1, 1)) // a number that nobody has
	assert.True(t, is)
}

func TestAStackWithoutFramesOfPythonGetsThemOnce(t *testing.T) {
	require.Equal(t, status.OK, openTables(1024))
	late := PythonName("late", "/late.py")
	ref := Ref{Kind: Block, Key: 0x70_0000}
	record(7, ref, ref.Key, 64, 1, 0)
	settle(7, []uintptr{0x10, 0x20}, 1)
	siteOf := func() Site {
		e, known := Find(ref)
		require.True(t, known)
		return SiteOf(e.Site)
	}
	file, _ := siteOf().Told()
	assert.Empty(t, file)

	siteAgain(ref, ref.Key, []uintptr{0x10, pythonWord(late, 12), 0x30})
	file, line := siteOf().Told()
	assert.Equal(t, []uintptr{0x10, pythonWord(late, 12), 0x30}, siteOf().Stack)
	assert.Equal(t, "/late.py", file)
	assert.EqualValues(t, 12, line)

	siteAgain(ref, ref.Key, []uintptr{0x10, pythonWord(late, 13)})
	_, line = siteOf().Told()
	assert.EqualValues(t, 12, line, "the call that made it is known already")
	assert.True(t, name(ref, ref.Key, "told.tl", 5))
	file, line = siteOf().Told()
	assert.Equal(t, "told.tl", file, "what the program tells comes first")
	assert.EqualValues(t, 5, line)
	Forget(ref.Key)
	siteAgain(ref, ref.Key, []uintptr{pythonWord(late, 14)})
	_, known := Find(ref)
	assert.False(t, known)
}
