package opencl

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/device"
	"tlruntime/runtime/status"
)

// Whatever is taken and returned: places lie in the device's range, on a page, and
// with a page of nobody's behind each; a range that is used up begins anew.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ledger := device.NewLedger("test")
		p := newPlaces(rapid.IntRange(0, 3).Draw(t, "ordinal"))
		limit := p.first + placesBytes
		var live []device.Block
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(live) > 0 && rapid.Bool().Draw(t, "return") {
				i := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				_, err := ledger.Take(live[i].Start, live[i].Bytes)
				require.NoError(t, err)
				live = append(live[:i], live[i+1:]...)
				continue
			}
			n := uintptr(rapid.OneOf(rapid.IntRange(1, 10_000), rapid.IntRange(placesBytes/8, placesBytes/2)).Draw(t,
				"bytes"))
			start, err := p.take(ledger, device.Block{Bytes: n})
			if err != nil {
				require.Equal(t, status.OutOfMemory, device.StatusOf(err))
				continue
			}
			require.Zero(t, start%granule)
			require.GreaterOrEqual(t, start, p.first)
			require.LessOrEqual(t, start+n+granule, limit)
			for _, b := range live {
				require.True(t, start+n+granule <= b.Start || b.Start+b.Bytes+granule <= start, "%#x too near to %#x",
					start, b.Start)
			}
			live = append(live, device.Block{Start: start, Bytes: n})
		}
	})
}

func TestPlacesComeBack(t *testing.T) {
	ledger := device.NewLedger("test")
	p := newPlaces(0)
	half := uintptr(placesBytes/2 - 2*granule)
	for range 10 {
		start, err := p.take(ledger, device.Block{Bytes: half})
		require.NoError(t, err)
		_, err = ledger.Take(start, half)
		require.NoError(t, err)
	}
}

// The addresses are those of no memory on any of our processors.
func TestPlacesAreNoMemory(t *testing.T) {
	for _, p := range []uint64{placesBase, placesBase + 255*placesBytes} {
		require.NotEqual(t, p>>62&1, p>>63, "x86-64: canonical addresses repeat bit 63")
		require.Equal(t, uint64(1), p>>55&1, "arm64: bit 55 chooses the kernel's half, whatever the top byte is")
	}
}
