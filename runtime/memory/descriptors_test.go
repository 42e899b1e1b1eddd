package memory

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestADescriptorDoesNotStandInAClosedPlace(t *testing.T) {
	kept, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 10)
	require.NoError(t, err)
	require.NoError(t, unix.Close(0))
	file, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	require.Zero(t, file)
	above, err := AboveStandard(file, err)
	flags, _ := unix.FcntlInt(uintptr(above), unix.F_GETFD, 0)
	_, closed := unix.FcntlInt(0, unix.F_GETFD, 0)
	require.NoError(t, unix.Dup3(kept, 0, 0))
	require.NoError(t, err)
	require.Greater(t, above, 2)
	require.Equal(t, unix.FD_CLOEXEC, flags)
	require.Equal(t, unix.EBADF, closed)

	same, err := AboveStandard(above, nil)
	require.NoError(t, err)
	require.Equal(t, above, same)
	require.NoError(t, unix.Close(above))
	require.NoError(t, unix.Close(kept))
	_, err = AboveStandard(-1, errors.New("no file"))
	require.EqualError(t, err, "no file")
}
