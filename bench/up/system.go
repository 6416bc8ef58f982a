package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/bench/counters"
	"tributary/test/corpus"
	"tributary/test/rig"
)

const (
	centres   = 4 // of the corpus, each with a source
	documents = 3 // of a zip
	look      = 20 * time.Millisecond
	patience  = 20 * time.Minute
)

// system is a running up whose sources show nothing yet.
type system struct {
	up     *exec.Cmd
	ended  chan error
	conn   *pgx.Conn
	hidden [][]file // by source
	shown  int
	before int64 // number of the last session that found any
}

// file is one that is hidden, and where it is to appear.
type file struct{ from, to string }

// with runs f on a new system, to whose sources zips are to appear.
func (b *bench) with(ctx context.Context, zips int, f func(*system) error) (err error) {
	dir, err := os.MkdirTemp("", "tributary-up-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // another user runs the embedded Postgres
		return err
	}
	c, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Bench, Zips: zips})
	if err != nil {
		return err
	}
	r, err := rig.Start(ctx, dir, c, rig.Options{Extra: "schedule: {interval: 1s}\npoll: {settle: 0s}\n" + b.extra})
	if err != nil {
		return err
	}
	defer r.Stop()
	s := &system{ended: make(chan error, 1)}
	for _, source := range c.Sources {
		files, err := hide(filepath.Join(dir, "sources", source.ID))
		if err != nil {
			return err
		}
		s.hidden = append(s.hidden, files)
	}
	s.up = exec.CommandContext(ctx, b.binary, "up", "--config", r.Config, "--log-level", "warn")
	s.up.Stderr = os.Stderr
	s.up.Cancel = func() error { return s.up.Process.Signal(syscall.SIGTERM) }
	if err := s.up.Start(); err != nil {
		return err
	}
	go func() { s.ended <- s.up.Wait() }()
	defer func() {
		_ = s.up.Process.Signal(syscall.SIGTERM) // it may have ended
		<-s.ended
	}()
	if s.conn, err = counters.Connect(ctx, filepath.Join(dir, "data")); err != nil {
		return err
	}
	defer s.conn.Close(context.WithoutCancel(ctx))
	// Each source has been polled, and showed nothing.
	err = s.eventually(ctx, func() (bool, error) {
		var polled int
		err := s.conn.QueryRow(ctx, "SELECT count(DISTINCT source) FROM control.poll WHERE ended_at IS NOT NULL").Scan(&polled)
		return err == nil && polled == centres, nil //nolint:nilerr // the table isn't there yet
	})
	if err != nil {
		return err
	}
	return f(s)
}

// hide takes away what a source shows.
func hide(source string) (files []file, err error) {
	add, hidden := filepath.Join(source, "add"), filepath.Join(source, ".hidden")
	if err := errors.Join(os.Rename(add, hidden), os.Mkdir(add, 0o755)); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(hidden)
	for _, e := range entries {
		files = append(files, file{filepath.Join(hidden, e.Name()), filepath.Join(add, e.Name())})
	}
	return files, err
}

// show has files appear.
func (s *system) show(ctx context.Context, files []file) error {
	if err := s.conn.QueryRow(ctx, "SELECT coalesce(max(number), 0) FROM control.session WHERE id IN (SELECT session FROM control.look)").Scan(&s.before); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.Rename(f.from, f.to); err != nil {
			return err
		}
	}
	s.shown += len(files)
	return nil
}

// sinceFound is how many seconds ago the session was opened that found the first of what was
// shown after session $1; 0: none has.
const sinceFound = `coalesce(extract(epoch FROM clock_timestamp() - (SELECT min(opened_at) FROM control.session WHERE number > $1 AND id IN (SELECT session FROM control.look))), 0)::float8`

// take gives so many of the hidden files, as many of each source.
func (s *system) take(n int) (files []file) {
	for i := 0; len(files) < n; i = (i + 1) % len(s.hidden) {
		if h := s.hidden[i]; len(h) > 0 {
			files, s.hidden[i] = append(files, h[0]), h[1:]
		}
	}
	return files
}

// ingest shows files, and waits until they are in the warehouse, their overviews made. It
// tells how long that took from the session that found the first, and how long nothing went on
// in between at most.
func (s *system) ingest(ctx context.Context, files []file) (took, still time.Duration, err error) {
	if err := s.show(ctx, files); err != nil {
		return 0, 0, err
	}
	return s.ingested(ctx)
}

// progress is how far all is, in numbers that only grow, or shrink, while something goes on.
type progress struct{ looks, attempts, outcomes, loaded, ends, next int64 }

// ingested waits until all files that were shown are in the warehouse.
func (s *system) ingested(ctx context.Context) (took, still time.Duration, err error) {
	var last progress
	var seconds float64
	moved := time.Now()
	err = s.eventually(ctx, func() (bool, error) {
		var p progress
		var open bool
		err := s.conn.QueryRow(ctx, `SELECT (SELECT count(*) FROM control.look), (SELECT count(*) FROM control.attempt), (SELECT count(*) FROM control.document), (SELECT count(*) FROM warehouse.document),
				(SELECT count(*) FROM warehouse.batch_end), (SELECT next_position FROM warehouse.state),
				(SELECT next FROM control.position) > (SELECT next_position FROM warehouse.state) OR EXISTS (SELECT FROM control.batch WHERE released_at IS NULL),
				`+sinceFound, s.before).
			Scan(&p.looks, &p.attempts, &p.outcomes, &p.loaded, &p.ends, &p.next, &open, &seconds)
		if err != nil {
			return false, err
		}
		if p != last {
			if last.looks > 0 {
				still = max(still, time.Since(moved))
			}
			last, moved = p, time.Now()
		}
		return p.loaded == int64(s.shown)*documents && p.ends == 0 && !open, nil
	})
	return time.Duration(seconds * float64(time.Second)), still, err
}

// eventually asks until it is so.
func (s *system) eventually(ctx context.Context, is func() (bool, error)) error {
	over := time.After(patience)
	for {
		began := time.Now()
		done, err := is()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-s.ended:
			s.ended <- err
			return fmt.Errorf("tributary up ended: %w", err)
		case <-over:
			return errors.New("it takes longer than " + patience.String())
		case <-time.After(max(look, 10*time.Since(began))): // what looks on is to cost little
		}
	}
}
