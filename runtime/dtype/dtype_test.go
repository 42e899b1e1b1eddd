package dtype

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRowsAgree(t *testing.T) {
	digits := regexp.MustCompile(`\d+`)
	for d, row := range table {
		found, ok := Find(func(i *Info) bool { return i.Name == row.Name })
		require.Equal(t, row.Bytes != 0, ok)
		if bits, _ := strconv.Atoi(digits.FindString(row.Name)); ok && row.Kind != Boolean {
			require.Equal(t, Type(d), found)
			require.EqualValues(t, bits/8, found.Size())
		}
	}
	require.Zero(t, Type(len(table)).Size())
	require.Zero(t, Type(-1).Size())
}

func TestTypestr(t *testing.T) {
	for d, want := range map[Type]string{F16: "<f2", BF16: "<V2", Bool: "|b1", I64: "<i8", C128: "<c16"} {
		require.Equal(t, want, d.Info().Typestr())
	}
}
