package timeline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTimesHaveNoExponent(t *testing.T) {
	for want, micros := range map[string]float64{"999 µs": 999, "1 ms": 1000, "999 ms": 999_000, "0.9999 s": 999_900,
		"1.24 s": 1.24e6, "12346 s": 12_345_678_000} {
		require.Equal(t, want, timeText(micros))
	}
}
