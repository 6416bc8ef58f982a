package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"tributary/test/corpus"
	"tributary/test/rig"
)

const (
	// usualAddress is where the pages are, unless somebody else is there, and
	// usualMetrics where the metrics are.
	usualAddress = "127.0.0.1:8400"
	usualMetrics = "127.0.0.1:8401"
	// longest is how long the demo stays, so that polls of a demo that is forgotten
	// don't fill the disk.
	longest = 12 * time.Hour
	// patience is for the start and the stop of the program.
	patience = 5 * time.Minute
)

// places are addresses of a demo that stays.
type places struct{ pages, metrics string }

// options are those of the rig, and where things will be. Where centres deliver,
// sources are polled often, and less so when nothing comes.
func (d demo) options(ctx context.Context) (o rig.Options, at places) {
	if !d.stays {
		return rig.Options{}, places{}
	}
	at = places{free(ctx, usualAddress), free(ctx, usualMetrics)}
	o.Extra = "web: {listen: " + at.pages + "}\nhttp: {listen: " + at.metrics + "}\n"
	if d.live > 0 {
		o.Extra += "poll: {settle: 1s}\nsequence: {late_limit: 5s}\n"
		o.Source = "interval: 5s\nmax_interval: 20s"
	}
	return o, at
}

// free is the usual address, or another where that is taken.
func free(ctx context.Context, usual string) string {
	var l net.ListenConfig
	for _, address := range []string{usual, "127.0.0.1:0"} {
		if at, err := l.Listen(ctx, "tcp", address); err == nil {
			defer at.Close() // it was only tried
			return at.Addr().String()
		}
	}
	return usual // whoever serves there says what is wrong
}

// stay serves the pages, says where they are, and lets centres
// deliver, until ctx ends.
func (d demo) stay(ctx context.Context, r *rig.Rig, at places) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.up(ctx, r) })
	g.Go(func() error {
		err := d.open(ctx, r, at)
		if err == nil && d.live > 0 {
			err = d.deliver(ctx, r)
		}
		if ctx.Err() == nil { // else it was stopped, or up says what is wrong
			return err
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nThe demo has stopped. Everything is in %s.\n", r.Dir)
	return nil
}

// up runs tributary up until ctx ends. Its words go to a file.
func (d demo) up(ctx context.Context, r *rig.Rig) error {
	log, err := os.Create(filepath.Join(r.Dir, "up.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, d.binary, "up", "--config", r.Config, "--log-level", "warn")
	cmd.Stdout, cmd.Stderr = log, log
	// Ctrl-C on a terminal reaches the whole group: up is told once, by us, since it
	// takes a second time for an order to end at once.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	err = cmd.Run()
	if ctx.Err() != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return fmt.Errorf("tributary up has ended: %v; %s says why", err, log.Name())
}

// open waits until the pages are there, and says where.
func (d demo) open(ctx context.Context, r *rig.Rig, at places) error {
	if err := answers(ctx, "http://"+at.pages+"/login"); err != nil {
		return err
	}
	link, err := exec.CommandContext(ctx, d.binary, "login-link", "--config", r.Config, "--reason", "the demo").Output()
	if err != nil {
		return fmt.Errorf("tributary login-link: %w", err)
	}
	fmt.Fprintf(d.out, `
The pages are at http://%[1]s/ until Ctrl-C. This opens them, once, within ten minutes:

  http://%[1]s%[2]s

For another: %[3]s login-link --config %[4]s
Metrics are at http://%[5]s/metrics.
`, at.pages, strings.TrimSpace(string(link)), d.binary, r.Config, at.metrics)
	return nil
}

// answers waits until an address answers, whatever it says.
func answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(q)
		if err == nil {
			return answer.Body.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nobody serves the pages: %w", err)
		case <-tick.C:
		}
	}
}

// deliver lets the centres deliver a fortnight.
func (d demo) deliver(ctx context.Context, r *rig.Rig) error {
	all, err := r.Corpus.Fortnight()
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nCentres deliver a fortnight in %s:\n\n", d.live)
	began := time.Now()
	for _, next := range all {
		due := began.Add(time.Duration(float64(d.live) * next.At.Hours() / corpus.Fortnight.Hours()))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(due)):
		}
		if err := r.Deliver(next.Upload); err != nil {
			return err
		}
		hour := next.At % (24 * time.Hour)
		fmt.Fprintf(d.out, "day %2d %02d:%02d  %-8s %-6s %s (%s)\n", 1+int(next.At.Hours())/24, int(hour.Hours()), int(hour.Minutes())%60,
			next.Source, next.Upload.Action, next.Upload.File, next.Kind)
	}
	fmt.Fprintf(d.out, "\nThe fortnight is over. The pages stay until Ctrl-C, or for %d hours.\n", int(longest.Hours()))
	return nil
}
