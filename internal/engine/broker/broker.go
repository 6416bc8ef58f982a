// Package broker runs the embedded Kafka broker: franz-go's kfake on disk, behind
// a unix socket that only its owner reaches and, where an address is configured,
// behind TCP, where clients log in. Between both and kfake, which was made for
// tests, stands a door that lets through what kfake can take.
//
// What it does not promise, and what is done about it:
//
//   - Its retention and compaction lose offsets across restarts and can lose
//     data in a crash, so they never run, whatever a topic's settings say: the
//     log grows for ever. Offsets of groups never expire either.
//   - A torn end of its logs of group offsets and producers would swallow what
//     is written after it, so [Open] cuts it off first.
//   - Every batch is synced to disk before it is acknowledged, but a sync that
//     fails is acknowledged all the same, and directories are not synced. A
//     process that is killed loses nothing; a power cut may lose the newest
//     topics or segments.
//   - A producer's batch that was written and not yet acknowledged when the
//     process was killed may be written twice. A transaction in flight then may
//     come apart: Tributary uses none.
//   - A member of a group that dies while its join is being answered would keep
//     its partitions for ever, so [Broker] removes members that are silent.
//   - One goroutine serves all requests; opening reads the whole log, with a
//     peak of memory of one to three times its size.
//   - It has no TLS: what a client reads over TCP can be read on the way.
//   - It does not lock its directory: the caller must.
package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"

	"tributary/internal/kafka"
	"tributary/schemas"
)

// Options say where a broker lives.
type Options struct {
	// DataDir holds the log; it is created if it does not exist.
	DataDir string
	// Socket is the path of the unix socket, in a directory that only the
	// owner can enter; at most 107 bytes.
	Socket string
	// Addr is a host and port to listen on for the users of Passwords; empty:
	// there is no TCP. With port 0 a free one is taken, and used again at the
	// next start if it still is free.
	Addr string
	// Passwords are those of [Users].
	Passwords map[string]string
	// Prefix begins the names of the pipeline's topics and groups.
	Prefix string
	// NoSync leaves writing to disk to the kernel. For tests.
	NoSync bool
	// Logger is required.
	Logger *slog.Logger
}

// Broker is a running broker.
type Broker struct {
	cluster *kfake.Cluster
	door    *door
	socket  string
	tcp     string
	stop    func() // ends the search for dead members and waits for it
}

// Open starts a broker, which serves until Close.
func Open(o Options) (*Broker, error) {
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	for _, name := range []string{"groups.log", "pids.log"} {
		cut, err := repairLog(filepath.Join(o.DataDir, name))
		if err != nil {
			return nil, fmt.Errorf("embedded broker: %w", err)
		}
		if cut > 0 {
			o.Logger.Warn("cut off a torn end that an interrupted write left", "file", name, "bytes", cut)
		}
	}
	if err := checkSegments(o.DataDir, o.Logger); err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	d, err := listen(o)
	if err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	opts := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.ClusterID("tributary"),
		kfake.DataDir(o.DataDir),
		kfake.ListenFn(func(string, string) (net.Listener, error) { return d, nil }),
		kfake.BrokerConfigs(settings()),
		kfake.WithLogger(logger{o.Logger}),
	}
	if !o.NoSync {
		opts = append(opts, kfake.SyncWrites())
	}
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("embedded broker: open %s: %w", o.DataDir, err), d.Close())
	}
	if err := d.open(kafka.TopicName(o.Prefix, schemas.FileDiscoveredTopic), kafka.GroupName(o.Prefix, "")); err != nil {
		cluster.Close()
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	// Opening has read every segment; nothing of that is needed any more.
	debug.FreeOSMemory()
	b := &Broker{cluster: cluster, door: d, socket: o.Socket}
	if d.tcp != nil {
		b.tcp = d.tcp.Addr().String()
	}
	ctx, cancel := context.WithCancel(context.Background())
	wait := RemoveDeadMembers(ctx, cluster, o.Logger, kafka.Bootstrap(b.Addrs())...)
	b.stop = func() { cancel(); wait() }
	return b, nil
}

// Addrs are the owner's addresses to bootstrap a client with, for
// [kafka.Bootstrap].
func (b *Broker) Addrs() []string { return []string{kafka.UnixScheme + b.socket} }

// TCP is the host and port for users with a password; empty: there is none.
func (b *Broker) TCP() string { return b.tcp }

// Close writes out all state and stops serving.
func (b *Broker) Close() error {
	b.stop()
	b.cluster.Close()
	return nil
}

// settings turn off what is not safe. The first is the interval, in ms, of the
// ticker that alone starts retention and compaction: 68 years.
func settings() map[string]string {
	return map[string]string{
		"log.cleaner.backoff.ms":    strconv.Itoa(math.MaxInt32 * 1000),
		"log.retention.ms":          "-1",
		"log.retention.bytes":       "-1",
		"offsets.retention.minutes": strconv.Itoa(math.MaxInt32),
	}
}

// listen opens the door, which nobody gets through yet.
func listen(o Options) (*door, error) {
	// The caller holds the data directory's lock, so a socket that is there
	// was left by a process that is gone.
	if err := os.Remove(o.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("socket of an earlier run: %w", err)
	}
	unix, err := net.Listen("unix", o.Socket)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := os.Chmod(o.Socket, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("close the socket to others: %w", err), unix.Close())
	}
	var tcp net.Listener
	if o.Addr != "" {
		if tcp, err = listenTCP(o); err != nil {
			return nil, errors.Join(err, unix.Close())
		}
	}
	return newDoor(unix, tcp, o.Passwords, o.Logger)
}

// listenTCP listens on the configured address, on the kept port if the port is
// ours to choose.
func listenTCP(o Options) (net.Listener, error) {
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return nil, fmt.Errorf("kafka.listen_address %q: %w: write it as 127.0.0.1:9092", o.Addr, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return nil, fmt.Errorf("kafka.listen_address %q names no address that a client could be told: write one of this machine's, as 127.0.0.1:9092", o.Addr)
	}
	for _, user := range Users() {
		if o.Passwords[user] == "" {
			return nil, fmt.Errorf("the user %s has no password", user)
		}
	}
	if port == "0" {
		return listenKept(host, filepath.Join(o.DataDir, "port"), o.Logger)
	}
	l, err := net.Listen("tcp", o.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %s is taken by another program: stop it, or choose another port in kafka.listen_address: %w", port, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// listenKept listens on the port written in file if it can, else on any free
// one, which it writes there: clients find the broker again after a restart.
func listenKept(host, file string, log *slog.Logger) (net.Listener, error) {
	if b, err := os.ReadFile(file); err == nil {
		kept := net.JoinHostPort(host, strings.TrimSpace(string(b)))
		l, err := net.Listen("tcp", kept)
		if err == nil {
			return l, nil
		}
		log.Warn("the broker's port of the last start is not free; choosing another", "addr", kept, "error", err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err == nil {
		err = os.WriteFile(file, []byte(port+"\n"), 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keep the port: %w", err), l.Close())
	}
	return l, nil
}

// logger passes on what kfake says. Its every request is debug output.
type logger struct{ log *slog.Logger }

func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	to := slog.LevelDebug
	switch level {
	case kfake.LogLevelError:
		to = slog.LevelError
	case kfake.LogLevelWarn:
		to = slog.LevelWarn
	}
	if !l.log.Enabled(context.Background(), to) {
		return
	}
	l.log.Log(context.Background(), to, "broker", "line", fmt.Sprintf(format, args...))
}
