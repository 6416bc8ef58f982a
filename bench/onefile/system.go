package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/bench/counters"
	"tributary/bench/program"
	"tributary/test/corpus"
	"tributary/test/rig"
)

const (
	centres   = 4 // of the corpus, each with a source
	documents = 3 // of a zip
	look      = 10 * time.Millisecond
	patience  = 20 * time.Minute
)

// system is a running up whose sources show nothing yet.
type system struct {
	up     *program.Up
	conn   *pgx.Conn
	hidden []file
	shown  int
}

// file is one that is hidden, and where it is to appear.
type file struct{ from, to string }

// with runs f on a new system, to whose sources zips are to appear.
func (b *bench) with(ctx context.Context, zips int, f func(context.Context, *system) error) (err error) {
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
	s := &system{}
	for _, source := range c.Sources {
		files, err := hide(filepath.Join(dir, "sources", source.ID))
		if err != nil {
			return err
		}
		s.hidden = append(s.hidden, files...)
	}
	if s.up, err = program.Start(ctx, b.binary, r.Config, look, patience); err != nil {
		return err
	}
	defer s.up.Stop()
	if s.conn, err = counters.Connect(ctx, filepath.Join(dir, "data")); err != nil {
		return err
	}
	defer s.conn.Close(context.WithoutCancel(ctx))
	// Each source has been polled, and showed nothing.
	err = s.up.Eventually(ctx, func() (bool, error) {
		var polled int
		err := s.conn.QueryRow(ctx, "SELECT count(DISTINCT source) FROM control.poll WHERE ended_at IS NOT NULL").Scan(&polled)
		return err == nil && polled == centres, nil // the table isn't there yet
	})
	if err != nil {
		return err
	}
	return f(ctx, s)
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

// ingest has one file more appear, waits until its documents are in the warehouse and the
// overview is made, and tells how many seconds after its listing that was.
func (s *system) ingest(ctx context.Context) (seconds float64, err error) {
	if err := os.Rename(s.hidden[s.shown].from, s.hidden[s.shown].to); err != nil {
		return 0, err
	}
	s.shown++
	err = s.up.Eventually(ctx, func() (bool, error) {
		var loaded int
		var ends bool
		err := s.conn.QueryRow(ctx, `SELECT (SELECT count(*) FROM warehouse.document),
				EXISTS (SELECT FROM warehouse.batch_end) OR (SELECT next FROM control.position) > (SELECT next_position FROM warehouse.state) OR EXISTS (SELECT FROM control.batch WHERE released_at IS NULL),
				extract(epoch FROM clock_timestamp() - (SELECT coalesce(max(listed_at), clock_timestamp()) FROM control.look))::float8`).Scan(&loaded, &ends, &seconds)
		return loaded == s.shown*documents && !ends, err
	})
	return seconds, err
}
