// Command child is the process that the shared ClickHouse of a test binary runs
// in; see package enginetest.
package main

import (
	"context"
	"fmt"
	"os"

	"tributary/internal/engine/chdb"
	"tributary/internal/engine/sharedlib"
)

func main() {
	if err := chdb.RunChild(context.Background(), os.Args[1:], sharedlib.Bind); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
