// Command run runs Apache Kafka on loopback, until it is interrupted or until
// the command given after its flags has ended, which finds the addresses in
// TRIBUTARY_TEST_KAFKA.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"tributary/internal/engine/enginetest"
	"tributary/test/kafka"
)

func main() {
	brokers := flag.Int("brokers", 1, "how many brokers: 1 or 3")
	dir := flag.String("dir", "", "where data and logs are kept; a temporary folder, removed at the end, if empty")
	fetch := flag.Bool("fetch", false, "only fetch Apache Kafka")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *brokers, *dir, *fetch, flag.Args())
	stop()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kafka:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, brokers int, dir string, only bool, command []string) (err error) {
	if err := kafka.Fetch(ctx, os.Stderr); err != nil || only {
		return err
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "tributary-kafka-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	begun := time.Now()
	c, err := kafka.Start(ctx, dir, brokers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	at := c.Brokers()
	fmt.Fprintf(os.Stderr, "Apache Kafka %s: %d brokers after %s; logs in %s\n", kafka.Version, brokers, time.Since(begun).Round(100*time.Millisecond), dir)
	if len(command) == 0 {
		fmt.Printf("# for tributary.yaml; Ctrl-C stops the brokers\nkafka:\n  bootstrap_servers: [%s]\n  replication_factor: %d\n", strings.Join(at, ", "), min(brokers, 3))
		<-ctx.Done()
		return nil
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), enginetest.KafkaEnv+"="+strings.Join(at, ","))
	// An interrupt reaches the command by the terminal, or is passed on.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	return cmd.Run()
}
