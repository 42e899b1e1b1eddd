package picture

import (
	"testing"

	"tlruntime/cmd/tl/viz/headless"
)

func TestMain(m *testing.M) { headless.Main(m) }
