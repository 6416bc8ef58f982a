// Command scale shows how throughput grows with the members of a group, and
// what the runtime costs.
//
// Scaling: the same corpus goes through polling, planning, downloading,
// unzipping and validating with 1, 2, 4 and 8 members in each of the three
// groups, on a broker and a Postgres of its own each time. Every request to the
// server takes 50 ms, which is what downloading over a network is made of; so
// two cores are enough to see whether members get in each other's way.
//
// Cost: records that cost nothing pass through the runtime, fetched a thousand
// at a time, with the broker in another process. What is left is the CPU time
// that the runtime itself, the client included, takes for each.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == brokerCommand {
		exit(serveBroker())
	}
	var b bench
	flag.StringVar(&b.dir, "dir", "", "folder to work in (default a temporary one, removed afterwards)")
	flag.StringVar(&b.members, "members", "1,2,4,8", "numbers of members to try, the first of which is what the others are compared with")
	flag.IntVar(&b.files, "files", 400, "zips in the corpus")
	flag.DurationVar(&b.latency, "latency", 50*time.Millisecond, "time that each request to the server takes")
	flag.IntVar(&b.parallelism, "parallelism", 1, "jobs that one downloader has under way")
	flag.IntVar(&b.credits, "credits", 96, "sessions that the server allows")
	flag.IntVar(&b.records, "records", 200_000, "records for the cost of the runtime; 0: not measured")
	flag.Float64Var(&b.efficiency, "efficiency", 0.8, "least share of linear speed-up with the most members")
	flag.Float64Var(&b.cost, "cost", 50, "most µs of CPU for each record")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(b.run(ctx))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench scale:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

type bench struct {
	dir, members                         string
	files, parallelism, credits, records int
	latency                              time.Duration
	efficiency, cost                     float64
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "tributary-bench-scale-"); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
		if err := os.Chmod(b.dir, 0o755); err != nil { // another user runs the embedded Postgres
			return err
		}
	}
	if b.records > 0 {
		if err := b.runCost(ctx); err != nil {
			return err
		}
	}
	if b.files > 0 {
		return b.runScale(ctx)
	}
	return nil
}

// runCost measures the runtime's own cost.
func (b *bench) runCost(ctx context.Context) error {
	cost, err := measureCost(ctx, b.records)
	if err != nil {
		return err
	}
	fmt.Printf("bench runtime cost=%.1fµs/record\n", cost)
	if cost > b.cost {
		return fmt.Errorf("a record costs %.1f µs of CPU, more than %.0f", cost, b.cost)
	}
	return nil
}

// runScale measures every number of members.
func (b *bench) runScale(ctx context.Context) error {
	var first, speedup, efficiency float64
	var members, base int
	for i, text := range strings.Split(b.members, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return fmt.Errorf("-members: %q is no number of members", text)
		}
		r, err := b.measure(ctx, n)
		if err != nil {
			return fmt.Errorf("with %d members: %w", n, err)
		}
		if i == 0 {
			first, base = r.throughput(), n
		}
		members = n
		speedup = r.throughput() / first
		efficiency = speedup * float64(base) / float64(n)
		fmt.Printf("members=%d files/s=%.1f seconds=%.1f until_last=%.1f cpu=%.0f%% sessions=%d speedup=%.2f efficiency=%.2f\n",
			n, r.throughput(), r.took.Seconds(), r.all.Seconds(), 100*r.cpu.Seconds()/r.all.Seconds(), r.sessions, speedup, efficiency)
	}
	fmt.Printf("bench scale members=%d speedup=%.2f efficiency=%.2f\n", members, speedup, efficiency)
	if efficiency < b.efficiency {
		return fmt.Errorf("%d members do %.2f of linear, less than %.2f", members, efficiency, b.efficiency)
	}
	return nil
}
