package profile

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/source"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// read has the library of pprof read and check what is written.
func read(t *testing.T, c *object.Context) *profile.Profile {
	p, st := Collect(c)
	require.Equal(t, status.OK, st)
	var b bytes.Buffer
	require.NoError(t, p.Write(&b, &source.Files{}))
	parsed, err := profile.Parse(&b)
	require.NoError(t, err)
	require.NoError(t, parsed.CheckValid())
	return parsed
}

// sum adds up one value of the samples whose labels have all these values.
func sum(p *profile.Profile, value int, labels map[string]string) (total int64) {
	for _, s := range p.Sample {
		matches := true
		for key, want := range labels {
			matches = matches && reflect.DeepEqual(s.Label[key], []string{want})
		}
		if matches {
			total += s.Value[value]
		}
	}
	return total
}

func TestFiguresAndLabels(t *testing.T) {
	require.Equal(t, status.OK, object.Open(object.Config{}))
	require.Equal(t, status.OK, track.SetPeriod(1))
	defer track.SetPeriod(0)
	c, st := object.NewContext()
	require.Equal(t, status.OK, st)
	defer c.Finish()
	require.Equal(t, status.OK, track.PushTag(c, "load"))
	var all []uintptr
	for range 7 {
		all = append(all, c.Alloc(1000))
	}
	require.Equal(t, status.OK, track.PopTag(c))
	vec := c.VecNew(4)
	require.NotZero(t, vec)
	for _, p := range all[:2] {
		require.Equal(t, status.OK, c.Free(p))
	}
	p := read(t, c)
	assert.Equal(t, "inuse_space", p.DefaultSampleType)
	assert.EqualValues(t, 1, p.Period)
	loaded := map[string]string{"tag": "load", "kind": "object", "type": "plain bytes"}
	assert.EqualValues(t, 5, sum(p, 2, loaded))
	assert.EqualValues(t, 5000, sum(p, 3, loaded))
	assert.EqualValues(t, 7, sum(p, 0, map[string]string{"tag": "load"}))
	assert.EqualValues(t, 7000, sum(p, 1, map[string]string{"tag": "load"}))
	assert.EqualValues(t, 1, sum(p, 2, map[string]string{"type": "Vec"}))
	names := ""
	for _, s := range p.Sample {
		if reflect.DeepEqual(s.NumLabel["bytes"], []int64{1000}) {
			assert.Equal(t, []string{"bytes"}, s.NumUnit["bytes"])
			names = s.Location[0].Line[0].Function.Name
		}
	}
	assert.Equal(t, "tlruntime/runtime/observe/profile.TestFiguresAndLabels", names,
		"frames of the runtime are left out")
	for _, p := range all[2:] {
		require.Equal(t, status.OK, c.Free(p))
	}
}

func TestMappings(t *testing.T) {
	all := parseMappings(`00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus daemon
00651000-00652000 r--p 00051000 08:02 173521      /usr/bin/dbus daemon
35b1800000-35b1820000 r-xp 00000000 08:02 135522  /usr/lib64/ld-2.15.so (deleted)
7fff00000000-7fff00001000 r-xp 00000000 00:00 0   [vdso]
7fff00002000-7fff00003000 rwxp 00000000 00:00 0
zz-1 r-xp 0 0 0 /x
`)
	require.Equal(t, []mapping{
		{0x400000, 0x452000, 0x1000, "/usr/bin/dbus daemon"},
		{0x35b1800000, 0x35b1820000, 0, "/usr/lib64/ld-2.15.so"},
	}, all)
	for pc, want := range map[uintptr]int{0x3fffff: -1, 0x400000: 0, 0x451fff: 0, 0x452000: -1, 0x35b1800001: 1,
		0x35b1820000: -1} {
		assert.Equal(t, want, find(all, pc), "%#x", pc)
	}
	assert.Equal(t, -1, find(nil, 1))
}
