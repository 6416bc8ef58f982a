package chdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"tributary/internal/engine/child"
)

// DefaultMaxMemory is the most memory, in bytes, that statements may take.
const DefaultMaxMemory = 2 << 30

const (
	startLimit = 2 * time.Minute
	stopGrace  = 15 * time.Second
)

// Options say where one engine lives.
type Options struct {
	// Library is the path of libchdb.so.
	Library string
	// DataDir holds the data; it is created if it does not exist.
	DataDir string
	// Socket is the path of the unix socket, at most 107 bytes, in a
	// directory that exists and is closed to others.
	Socket string
	// MaxMemory is the most memory for all statements together, in bytes;
	// [DefaultMaxMemory] if 0.
	MaxMemory int64
	// Command is the program and its first arguments that end in
	// [RunChild]: this binary's hidden subcommand.
	Command []string
	// Env is added to the child's environment.
	Env []string
	// Logger is required.
	Logger *slog.Logger
}

// Server is one engine in its child process. New is inert; Start and Stop may
// alternate, from one goroutine at a time.
type Server struct {
	child.Current

	o     Options
	stdin io.Closer
}

// New returns a Server that does not run yet.
func New(o Options) *Server {
	if o.MaxMemory == 0 {
		o.MaxMemory = DefaultMaxMemory
	}
	return &Server{o: o}
}

// Endpoint is where the server is reached.
func (s *Server) Endpoint() string { return "unix:" + s.o.Socket }

// Start starts the child and waits until it serves. If it fails nothing is left
// running.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if len(s.o.Socket) > 107 {
		return fmt.Errorf("embedded ClickHouse: the socket's path has more than 107 bytes: %s", s.o.Socket)
	}
	if err := os.MkdirAll(s.o.DataDir, 0o700); err != nil {
		return fmt.Errorf("embedded ClickHouse: %w", err)
	}
	ready, err := s.launch()
	if err != nil {
		return fmt.Errorf("embedded ClickHouse: %w", err)
	}
	select {
	case <-ready:
		return nil
	case <-s.Done():
		err = fmt.Errorf("embedded ClickHouse ended while starting (%w); it said:\n%s", s.Err(), s.LastWords())
	case <-ctx.Done():
		err = fmt.Errorf("embedded ClickHouse did not start in time: %w; it said:\n%s", ctx.Err(), s.LastWords())
	}
	return errors.Join(err, s.Stop())
}

func (s *Server) launch() (ready <-chan struct{}, err error) {
	if len(s.o.Command) == 0 {
		return nil, errors.New("no command to run the engine with")
	}
	up := make(chan struct{})
	var once sync.Once
	tail := child.NewTail(func(line string) { s.o.Logger.Debug("clickhouse", "line", line) })
	stdout := child.NewTail(func(line string) {
		if line == readyLine {
			once.Do(func() { close(up) })
		}
	})
	args := append(append([]string{}, s.o.Command[1:]...),
		"--library", s.o.Library, "--data", s.o.DataDir, "--socket", s.o.Socket, "--memory", fmt.Sprint(s.o.MaxMemory))
	program, err := exec.LookPath(s.o.Command[0])
	if err == nil {
		program, err = filepath.Abs(program) // the child works elsewhere
	}
	if err != nil {
		return nil, fmt.Errorf("the program to run the engine with: %w", err)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = filepath.Dir(s.o.DataDir)
	// TZ: DateTime has no zone of its own in the engine's answers.
	cmd.Env = append(append(os.Environ(), "TZ=UTC"), s.o.Env...)
	cmd.Stdout, cmd.Stderr = stdout, tail
	cmd.WaitDelay = 5 * time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	p, err := child.Start(cmd, syscall.SIGTERM)
	if err != nil {
		_ = stdin.Close() // a start that fails may have closed it
		return nil, err
	}
	s.Set(p, tail)
	s.stdin = stdin
	return up, nil
}

// Stop cancels what runs, closes the data and returns when the child has ended.
// Stopping twice is harmless.
func (s *Server) Stop() error {
	p := s.Process()
	if p == nil {
		return nil
	}
	// It also ends by the end of its input; that it is closed already, after
	// the child's end, is no error.
	_ = s.stdin.Close()
	if err := p.Stop(stopGrace, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop embedded ClickHouse: %w", err)
	}
	return nil
}
