package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"tlruntime/runtime/offsets"
)

// A budget of time is used up; the steps that stand in for one do not end it.
func TestTimeOrSteps(t *testing.T) {
	for _, c := range []struct {
		steps  int64
		budget time.Duration
		want   offsets.Options
	}{
		{0, 0, offsets.Options{MaxSteps: DefaultMaxSteps / 2}},
		{0, time.Second, offsets.Options{Budget: time.Second}},
		{7, 0, offsets.Options{MaxSteps: 7}},
		{7, time.Second, offsets.Options{MaxSteps: 7, Budget: time.Second}},
		{-1, 0, offsets.Options{}},
		{-1, time.Second, offsets.Options{}},
	} {
		o := Options{MaxSteps: c.steps, OffsetBudget: c.budget}
		assert.Equal(t, c.want, o.search(200))
	}
}
