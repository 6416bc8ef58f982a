// Package chdb runs ClickHouse's own engine, libchdb, in a child process of the
// same binary, behind an HTTP handler on a unix socket, so that an unmodified
// clickhouse-go talks to it as it talks to a server. A crash or a full memory of
// the engine ends the child, never Tributary.
//
// Where it differs from a server: no native protocol, users or external tables;
// a statement has no query id of the client's choosing; a column of type
// DateTime('UTC') comes back as DateTime, whose instant is right, as the engine
// runs in UTC (DateTime64(n, 'UTC') keeps its zone).
package chdb

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"tributary/internal/backoff"
)

// readyLine is what the child prints once it serves.
const readyLine = "ready"

const (
	// maxConns is how many statements run at once; more wait.
	maxConns = 16
	// lockPatience is how long the child of an earlier run is waited for.
	lockPatience = 30 * time.Second
	stopPatience = 5 * time.Second
)

// childOptions are the child's flags.
type childOptions struct {
	library, dataDir, socket string
	memory                   int64
}

func parseChildArgs(args []string) (childOptions, error) {
	var o childOptions
	fs := flag.NewFlagSet("engine-clickhouse", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.library, "library", "", "path of libchdb.so")
	fs.StringVar(&o.dataDir, "data", "", "data directory")
	fs.StringVar(&o.socket, "socket", "", "unix socket to serve on")
	fs.Int64Var(&o.memory, "memory", DefaultMaxMemory, "most memory for statements, in bytes")
	if err := fs.Parse(args); err != nil {
		return o, fmt.Errorf("engine-clickhouse: %w", err)
	}
	if o.library == "" || o.dataDir == "" || o.socket == "" {
		return o, errors.New("engine-clickhouse is started by Tributary itself: use tributary engines")
	}
	return o, nil
}

// RunChild is the body of the child process: it serves until ctx ends, SIGTERM
// or SIGINT arrives, or its standard input ends, which is when its parent has. The library
// is opened by bind.
func RunChild(ctx context.Context, args []string, bind Bind) error {
	o, err := parseChildArgs(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	lib, err := load(o.library, bind)
	if err != nil {
		return err
	}
	// The engine's handlers would take Go's place: a nil dereference would
	// hang the process.
	lib.setSignalHandlers(0)
	base := settings(o.memory)
	dialArgs := []string{
		"--path=" + o.dataDir,
		// All of the engine, its merges and caches included, beside its own
		// 200 MB or so.
		fmt.Sprintf("--max_server_memory_usage=%d", o.memory+o.memory/4+256<<20),
		fmt.Sprintf("--mark_cache_size=%d", 64<<20),
		// What is allocated is counted as it is; this only compares the count with the
		// system's, which costs as much as all else that an idle engine does.
		"--memory_worker_period_ms=1000",
	}
	first, err := openEngine(ctx, lib, dialArgs, base, func() {
		removed, err := removeDamagedDefinitions(o.dataDir, time.Now().Add(-damagedFor))
		for _, path := range removed {
			log.Warn("removed an empty or cut definition that kept the engine from opening its directory: what it defined is made again", "file", path)
		}
		if err != nil {
			log.Warn("looking for damaged definitions", "error", err)
		}
	})
	if err != nil {
		return err
	}
	switch kept, err := withoutFiles(first, o.dataDir); {
	case err != nil:
		first.close()
		return err
	case kept:
		log.Warn("the database default holds tables, so it stays as the engine made it: in it, every file that this account may read is a table for whoever may ask the history; move what it holds to another database")
	}
	h, err := newHandler(lib, first, dialArgs, base, log)
	if err != nil {
		first.close()
		return err
	}
	watch, err := watchDirectory(o.dataDir)
	if err != nil {
		h.pool.close()
		first.close()
		return err
	}
	lost := make(chan error, 1)
	go func() {
		lost <- watch.wait(ctx, lookEvery)
		cancel()
	}()
	err = serve(ctx, o.socket, h)
	cancel()
	if gone := <-lost; gone != nil {
		// The engine is not closed: it would write what it still holds into a
		// directory that it has no files in. Who supervises it starts it anew.
		return fmt.Errorf("%w: what it held is gone with it; the engine ends, to begin anew", gone)
	}
	err = errors.Join(err, watch.close())
	h.pool.close()
	first.close()
	if rc := lib.shutdown(); rc != 0 {
		log.Debug("the engine's shutdown was not complete", "rc", rc)
	}
	return err
}

// settings are what every statement starts from.
func settings(memory int64) map[string]string {
	return map[string]string{
		"max_memory_usage": fmt.Sprint(memory),
		// All statements together, as they all run as the same user.
		"max_memory_usage_for_user": fmt.Sprint(memory),
		// An insert is done when it is written, not when it is queued.
		"async_insert": "0",
		// The engine's own default for people at a prompt: a lone word is
		// an expression. A server refuses it.
		"implicit_select": "0",
	}
}

// openEngine boots the engine. Its directory may still be locked for a moment
// by the child of a Tributary that was killed. repair is called after each try
// that fails.
func openEngine(ctx context.Context, lib *library, args []string, base map[string]string, repair func()) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	var last error
	for range backoff.Every(ctx, 200*time.Millisecond) {
		c, err := dial(lib, args, base)
		if err == nil {
			return c, nil
		}
		last = err
		repair()
	}
	return nil, fmt.Errorf("open ClickHouse's engine (%s): %w", strings.Join(args, " "), last)
}

func newHandler(lib *library, first *conn, args []string, base map[string]string, log *slog.Logger) (*handler, error) {
	version, err := first.exec("SELECT version()", "TSVRaw", nil)
	if err != nil {
		return nil, fmt.Errorf("ask the engine for its version: %w", err)
	}
	k := &control{conns: make(chan *conn, 1), log: log}
	k.conns <- first
	return &handler{
		pool:    newPool(maxConns, func() (*conn, error) { return dial(lib, args, base) }),
		control: k, version: strings.TrimSpace(string(version)), log: log,
	}, nil
}

// serve serves on the socket until ctx ends, then cancels what runs.
func serve(ctx context.Context, socket string, h http.Handler) error {
	// The engine's directory is locked by us, so the socket is a leftover.
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the socket of an earlier run: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return fmt.Errorf("close the socket to others: %w", err)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: time.Minute,
		MaxHeaderBytes:    4 << 20, // statements of batches, and parameters, are in the URL
		BaseContext:       func(net.Listener) context.Context { return running },
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(listener) }()
	fmt.Println(readyLine)
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	grace, stop := context.WithTimeout(context.Background(), stopPatience)
	defer stop()
	cancel() // statements are cancelled; their handlers then end
	if err := srv.Shutdown(grace); err != nil {
		return fmt.Errorf("statements did not end in time: %w", err)
	}
	return nil
}
