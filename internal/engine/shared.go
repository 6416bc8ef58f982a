package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tributary/internal/backoff"
)

// How says what to do about engines that another process runs.
type How int

const (
	// AttachOrStart uses running engines, or else starts what is needed and
	// stops it again: for queries.
	AttachOrStart How = iota
	// AttachOnly uses running engines only.
	AttachOnly
	// StartOwn starts them and fails where they run already.
	StartOwn
)

// Shared are the engines of a directory of data that this process uses: those of
// another process, or its own, which others may use too.
type Shared struct {
	Endpoints Endpoints
	// Own are those that this process has started; nil if none.
	Own *Engines

	users *os.File // held shared while engines of another process are used
}

// Share attaches to running engines or starts them. Patience is how long StartOwn
// waits for engines that another process has started for itself.
func Share(ctx context.Context, o Options, how How, patience time.Duration) (*Shared, error) {
	s := &Shared{}
	if err := s.attachOrStart(ctx, o, how, time.Now().Add(patience)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Shared) attachOrStart(ctx context.Context, o Options, how How, deadline time.Time) (err error) {
	if how != StartOwn {
		if err := s.use(ctx, o.DataDir); err != nil {
			return err
		}
		var running bool
		s.Endpoints, running, err = Attach(o.DataDir)
		switch {
		case err != nil || running:
			return err
		case how == AttachOnly:
			return fmt.Errorf("no engines run in %s: start tributary engines (or tributary up) there, or configure the addresses of brokers and databases", o.DataDir)
		}
	}
	for {
		started, err := Start(ctx, o)
		if err == nil {
			s.Own, s.Endpoints = started, started.Endpoints()
			return nil
		}
		var held *HeldError
		if !errors.As(err, &held) || how == StartOwn && time.Now().After(deadline) {
			return err
		}
		// Another process is between taking the directory and serving it, or a
		// query is about to give it up.
		if err := backoff.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		if how == StartOwn {
			continue
		}
		var running bool
		if s.Endpoints, running, err = Attach(o.DataDir); err != nil || running {
			return err
		}
	}
}

// usersFile is locked shared by whoever uses another process's engines, so
// that a query that has started engines for itself keeps them for those who
// came to use them too.
const usersFile = "engines.users"

// usersWait is how long own engines are kept for others that use them.
const usersWait = time.Minute

func (s *Shared) use(ctx context.Context, dataDir string) error {
	f, err := os.OpenFile(filepath.Join(dataDir, usersFile), os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no data in %s yet: run tributary up", dataDir)
	}
	if err != nil {
		return fmt.Errorf("use the engines in %s: %w", dataDir, err)
	}
	s.users = f
	return lockUsers(ctx, f, syscall.LOCK_SH)
}

func lockUsers(ctx context.Context, f *os.File, mode int) error {
	for {
		err := syscall.Flock(int(f.Fd()), mode|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		if err := backoff.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// Close waits a while for others that use engines started here, and stops them.
func (s *Shared) Close() error {
	var errs []error
	if s.Own != nil {
		if s.users != nil {
			ctx, cancel := context.WithTimeout(context.Background(), usersWait)
			defer cancel()
			_ = lockUsers(ctx, s.users, syscall.LOCK_EX) // after the wait they are stopped all the same
		}
		errs = append(errs, s.Own.Close())
		s.Own = nil
	}
	if s.users != nil {
		errs = append(errs, s.users.Close())
		s.users = nil
	}
	return errors.Join(errs...)
}
