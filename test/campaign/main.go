// Command campaign goes through the long suites in turn, for as long as it is
// given, and each time with seeds that were not played before. It remembers in a
// directory which those are, so that the next campaign goes on there, and keeps
// what each turn printed that failed.
//
// It is run by `make campaign`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	budget := flag.Duration("budget", 2*time.Hour, "begin no turn after this time")
	dir := flag.String("state", "out/campaign", "directory of what was played and found")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := campaign{dir: *dir, only: flag.Args(), out: os.Stdout, now: time.Now, play: makeTarget}
	violations, err := c.run(ctx, *budget)
	if err != nil {
		fmt.Fprintln(os.Stderr, "campaign:", err)
	}
	if err != nil || violations > 0 {
		stop()
		os.Exit(1)
	}
}

// makeTarget runs make with what it prints going to a file.
func makeTarget(ctx context.Context, args []string, log *os.File) error {
	cmd := exec.CommandContext(ctx, "make", append([]string{"--no-print-directory"}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	// What make has started ends with it, in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	return cmd.Run()
}
