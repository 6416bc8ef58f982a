package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// state is what campaigns so far have played of a suite.
type state struct {
	Next   uint64        // seed of the next turn
	Turns  int           // that ended
	Took   time.Duration // all of them
	Failed []failure
}

// failure is a turn that failed.
type failure struct {
	Command string // that repeats it
	Log     string // what it printed
	At      time.Time
}

// campaign takes turns of suites.
type campaign struct {
	dir  string
	only []string // names of suites; none: all
	out  io.Writer
	now  func() time.Time
	play func(ctx context.Context, args []string, log *os.File) error
}

// run takes turns until the budget is spent, and returns how many failed.
func (c *campaign) run(ctx context.Context, budget time.Duration) (int, error) {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return 0, fmt.Errorf("directory of the campaign: %w", err)
	}
	of, err := c.chosen()
	if err != nil {
		return 0, err
	}
	all, err := c.load()
	if err != nil {
		return 0, err
	}
	violations, took := 0, map[string]time.Duration{}
	for until := c.now().Add(budget); c.now().Before(until) && ctx.Err() == nil; {
		s := slices.MinFunc(of, func(a, b suite) int { return int(took[a.name] - took[b.name]) })
		began := c.now()
		ok, err := c.turn(ctx, s, all)
		if err != nil {
			return violations, err
		}
		took[s.name] += max(c.now().Sub(began), 1)
		if !ok {
			violations++
		}
	}
	c.summary(of, all)
	return violations, nil
}

// chosen are the suites that take part.
func (c *campaign) chosen() ([]suite, error) {
	of := suites(c.dir)
	if len(c.only) == 0 {
		return of, nil
	}
	known := make([]string, 0, len(of))
	for _, s := range of {
		known = append(known, s.name)
	}
	for _, name := range c.only {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no suite %q: these are %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(of, func(s suite) bool { return !slices.Contains(c.only, s.name) }), nil
}

// turn takes one of a suite, and reports whether it went well. One that was
// broken off counts for nothing, and is taken again by the next campaign.
func (c *campaign) turn(ctx context.Context, s suite, all map[string]*state) (bool, error) {
	at := all[s.name]
	if at == nil {
		at = &state{Next: 1}
		all[s.name] = at
	}
	args := s.args(at.Next)
	began := c.now()
	path := filepath.Join(c.dir, fmt.Sprintf("%s-%d.log", s.name, at.Turns+1))
	log, err := os.Create(path)
	if err != nil {
		return false, fmt.Errorf("log of a turn: %w", err)
	}
	defer log.Close()
	failed := c.play(ctx, args, log)
	if ctx.Err() != nil {
		return true, os.Remove(path)
	}
	at.Next += s.seeds
	at.Turns++
	at.Took += c.now().Sub(began)
	command := "make " + strings.Join(args, " ")
	if failed == nil {
		fmt.Fprintf(c.out, "%s: well: %s\n", c.now().Format(time.TimeOnly), command)
		return true, errors.Join(os.Remove(path), c.save(all))
	}
	at.Failed = append(at.Failed, failure{command, path, began.UTC().Truncate(time.Second)})
	fmt.Fprintf(c.out, "%s: FAILED (%v): %s\n    %s\n", c.now().Format(time.TimeOnly), failed, command, path)
	return false, c.save(all)
}

// summary tells what all campaigns with this directory have done.
func (c *campaign) summary(of []suite, all map[string]*state) {
	turns, failed := 0, 0
	for _, s := range of {
		at := all[s.name]
		if at == nil {
			fmt.Fprintf(c.out, "%-14s not yet\n", s.name)
			continue
		}
		played := ""
		if s.seeds > 0 {
			played = fmt.Sprintf(", seeds 1 to %d", at.Next-1)
		}
		fmt.Fprintf(c.out, "%-14s %d turns, %s%s, %d failed\n", s.name, at.Turns, at.Took.Round(time.Second), played, len(at.Failed))
		for _, f := range at.Failed {
			fmt.Fprintf(c.out, "    %s %s\n        %s\n", f.At.Format(time.DateTime), f.Command, f.Log)
		}
		turns, failed = turns+at.Turns, failed+len(at.Failed)
	}
	fmt.Fprintf(c.out, "%d turns, %d failed\n", turns, failed)
}

func (c *campaign) file() string { return filepath.Join(c.dir, "state.json") }

// load reads what was done, by the names of suites.
func (c *campaign) load() (map[string]*state, error) {
	all := map[string]*state{}
	b, err := os.ReadFile(c.file())
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("what campaigns have played: %w", err)
	}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", c.file(), err)
	}
	return all, nil
}

// save writes it so that a crash leaves the old or the new.
func (c *campaign) save(all map[string]*state) error {
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("what campaigns have played: %w", err)
	}
	if err := os.WriteFile(c.file()+".new", b, 0o644); err != nil {
		return fmt.Errorf("what campaigns have played: %w", err)
	}
	if err := os.Rename(c.file()+".new", c.file()); err != nil {
		return fmt.Errorf("what campaigns have played: %w", err)
	}
	return nil
}
