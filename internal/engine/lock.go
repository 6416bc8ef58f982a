package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"tributary/internal/engine/child"
)

const (
	lockName      = "engines.lock"
	endpointsName = "engines.json"
)

// holder is who serves a data directory, as written into the lock file.
type holder struct {
	Pid     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Command string    `json:"command"`
}

// HeldError says that another process serves the data directory.
type HeldError struct {
	DataDir string
	// Pid is the other process's id, 0 if it has not said so yet.
	Pid int
	// Command is what it was started as.
	Command string
	// Since is when it took the directory.
	Since time.Time
}

func (e *HeldError) Error() string {
	if e.Pid == 0 {
		return fmt.Sprintf("another process is just starting the engines in %s: wait for it, or use another data_dir", e.DataDir)
	}
	return fmt.Sprintf("process %d (%s) serves the engines in %s since %s: use them, stop that process, or use another data_dir",
		e.Pid, e.Command, e.DataDir, e.Since.Format(time.DateTime))
}

// published is the content of engines.json.
type published struct {
	holder
	Endpoints
}

// lock is the held lock of a data directory. The kernel gives it free when this
// process ends, however it ends.
type lock struct {
	dir  string
	file *os.File
	who  holder
}

// takeLock takes the data directory's lock or returns a [HeldError].
func takeLock(dir string) (*lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	region := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &region)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		held := heldBy(dir)
		return nil, errors.Join(held, f.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the data directory %s: %w", dir, err), f.Close())
	}
	l := &lock{dir: dir, file: f, who: holder{Pid: os.Getpid(), Since: time.Now().UTC().Truncate(time.Second), Command: filepath.Base(os.Args[0])}}
	if err := l.sign(); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the data directory %s: %w", dir, err), f.Close())
	}
	return l, nil
}

// sign writes who holds the lock, and removes what the last holder published.
func (l *lock) sign() error {
	if err := l.withdraw(); err != nil {
		return err
	}
	b, err := json.Marshal(l.who)
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err = l.file.WriteAt(append(b, '\n'), 0)
	return err
}

// heldBy reads who holds the lock of dir.
func heldBy(dir string) *HeldError {
	held := &HeldError{DataDir: dir}
	b, err := os.ReadFile(filepath.Join(dir, lockName))
	if err != nil {
		return held
	}
	var who holder
	if err := json.Unmarshal(b, &who); err == nil && child.Alive(who.Pid) {
		held.Pid, held.Command, held.Since = who.Pid, who.Command, who.Since
	}
	return held
}

// publish writes the endpoints for others to attach to.
func (l *lock) publish(ep Endpoints) error {
	b, err := json.MarshalIndent(published{l.who, ep}, "", "  ")
	if err != nil {
		return fmt.Errorf("publish the engines' addresses: %w", err)
	}
	if err := writeClosed(filepath.Join(l.dir, endpointsName), append(b, '\n')); err != nil {
		return fmt.Errorf("publish the engines' addresses: %w", err)
	}
	return nil
}

// withdraw removes what was published.
func (l *lock) withdraw() error {
	err := os.Remove(filepath.Join(l.dir, endpointsName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("withdraw the engines' addresses: %w", err)
	}
	return nil
}

func (l *lock) release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("unlock the data directory: %w", err)
	}
	return nil
}

// Attach returns the endpoints of the engines that another process (or this
// one) serves in dataDir. running is false, without error, if none does, or if
// it has not finished starting.
func Attach(dataDir string) (ep Endpoints, running bool, err error) {
	f, err := os.Open(filepath.Join(dataDir, lockName))
	if errors.Is(err, os.ErrNotExist) {
		return Endpoints{}, false, nil
	}
	if err != nil {
		return Endpoints{}, false, fmt.Errorf("look for running engines: %w", err)
	}
	defer f.Close()
	// Asking does not take the lock, so it can't get in a start's way.
	region := unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &region); err != nil {
		return Endpoints{}, false, fmt.Errorf("look for running engines: %w", err)
	}
	if region.Type == unix.F_UNLCK {
		return Endpoints{}, false, nil
	}
	b, err := os.ReadFile(filepath.Join(dataDir, endpointsName))
	if errors.Is(err, os.ErrNotExist) {
		return Endpoints{}, false, nil
	}
	if err != nil {
		return Endpoints{}, false, fmt.Errorf("look for running engines: %w", err)
	}
	var p published
	if err := json.Unmarshal(b, &p); err != nil {
		return Endpoints{}, false, fmt.Errorf("read %s: %w", filepath.Join(dataDir, endpointsName), err)
	}
	// A holder that has just taken the lock may not have removed its
	// predecessor's file yet.
	if !child.Alive(p.Pid) {
		return Endpoints{}, false, nil
	}
	return p.Endpoints, true, nil
}
