// Command tributary ingests files that other organisations publish: it watches
// their servers, announces what it finds on Kafka, and carries every file
// through download, unzip, validation and ordered insertion into a warehouse.
//
// One file per subcommand: flags and wiring, nothing else.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"tributary/internal/engine"
	"tributary/internal/engine/sharedlib"
	"tributary/internal/screen"
)

func main() {
	// The engine's child process comes first: it needs no flags, no
	// configuration and nothing else of what follows.
	if len(os.Args) > 1 && os.Args[1] == engine.ChildCommand {
		if err := engine.RunClickHouseChild(context.Background(), os.Args[2:], sharedlib.Bind); err != nil {
			fmt.Fprintln(os.Stderr, screen.Text(err.Error()))
			os.Exit(exitFailed)
		}
		os.Exit(exitOK)
	}
	// The first signal asks to stop; the second, no longer caught, ends the
	// process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, newCLI(os.Stdin, screen.Of(os.Stdout), screen.Of(os.Stderr), os.Environ()), os.Args[1:]))
}
