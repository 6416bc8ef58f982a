package history

import (
	"context"
	"fmt"
	"os"
	"testing"

	"tributary/internal/engine/chdb"
	"tributary/internal/engine/sharedlib"
)

// roleEnv makes the test binary be something else: an engine, or a process that
// rebuilds. Tests kill such.
const roleEnv = "TRIBUTARY_HISTORY_TEST_ROLE"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(roleEnv) {
	case "engine":
		err = chdb.RunChild(context.Background(), os.Args[1:], sharedlib.Bind)
	case "rebuild":
		err = rebuildAlone(context.Background(), os.Args[1:])
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
