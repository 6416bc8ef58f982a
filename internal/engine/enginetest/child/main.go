// Command child is the process that the shared ClickHouse of a test binary runs
// in; see package enginetest.
package main

import (
	"context"
	"fmt"
	"os"

	"tributary/internal/engine/chdb"
)

func main() {
	if err := chdb.RunChild(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
