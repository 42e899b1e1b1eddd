package picture

import (
	"testing"

	"tlruntime/runtime/plan/picture/headless"
)

func TestMain(m *testing.M) { headless.Main(m) }
