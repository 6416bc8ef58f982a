package doctor

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"

	"tributary/internal/blob"
	"tributary/internal/storeversion"
)

// room finds out whether a disk has room.
func (d Deps) room(r *report, key, path string) {
	usage, err := blob.UsageOf(path)
	if err != nil {
		r.failed(key, err)
		return
	}
	d.low(r, key, usage)
}

// low compares the room on a disk with what is to stay free.
func (d Deps) low(r *report, about string, usage blob.Usage) {
	space := blob.NewSpace(func() (blob.Usage, error) { return usage, nil }, int64(d.Config.Blobs.MinFree), d.Config.Blobs.MinFreeShare, about, slog.New(slog.DiscardHandler))
	if doubt := space.Doubt(); doubt != "" {
		r.found(DiskLow, about, "free some room, move it to a larger disk, or lower blobs.min_free", "%s", doubt)
		return
	}
	r.ok(about, "%d MiB of %d MiB are free on its disk", usage.Free>>20, usage.Total>>20)
}

// which are stores.
type which struct{ Kafka, Postgres, ClickHouse bool }

// embedded are the stores that no address is configured for.
func (d Deps) embedded() which {
	return which{len(d.Config.Kafka.BootstrapServers) == 0, d.Config.Postgres.URL == "", d.Config.ClickHouse.URL == ""}
}

// stores are where the stores are.
type stores struct {
	Deps

	bootstrap  []string
	postgresAt string // holds secrets
	clickAt    string // likewise
	running    error  // why the embedded engines can't be reached; nil: they can, or are not needed
}

// places finds out where the stores are: what is configured, or the embedded engines
// that run. One that is not known stays empty, and is told of by its check.
func places(ctx context.Context, d Deps) *stores {
	s := &stores{Deps: d, bootstrap: d.Config.Kafka.BootstrapServers}
	s.postgresAt, _ = d.Config.Postgres.URL.Resolve() // told with the secrets
	s.clickAt, _ = d.Config.ClickHouse.URL.Resolve()
	e := d.embedded()
	if e == (which{}) {
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	at, err := d.Attach(ctx)
	if s.running = err; err != nil {
		return s
	}
	if e.Kafka {
		s.bootstrap = at.Kafka
	}
	if e.Postgres {
		s.postgresAt = at.Postgres
	}
	if e.ClickHouse {
		s.clickAt = at.ClickHouse
	}
	return s
}

func (s *stores) engines(_ context.Context, r *report) {
	e := s.embedded()
	switch {
	case e == (which{}):
		return
	case s.running != nil:
		r.found(EnginesStopped, "data_dir", "start tributary up or tributary engines, or configure the addresses of brokers and databases", "%s", s.running)
	default:
		r.ok("data_dir", "engines run in %s", s.Config.DataDir)
	}
}

// unreached says why a store is not asked.
func (s *stores) unreached(r *report, embedded bool, key string) {
	if embedded && s.running == nil {
		r.found(EnginesStopped, "data_dir", "wait until the command has ended that has started only some of the engines, or start tributary up", "the engines that run are without %s", r.check)
		return
	}
	if embedded {
		r.skip(key, "it is embedded, and the engines can't be reached")
		return
	}
	r.skip(key, "its address can't be read")
}

// unanswered says why a server gives no answer, as far as every server's errors tell.
func unanswered(r *report, key string, err error) {
	var old *storeversion.TooOldError
	var dns *net.DNSError
	switch {
	case errors.As(err, &old):
		r.found(ServerTooOld, key, old.Requirement.Remedy, "%s", err)
	case errors.As(err, &dns):
		r.found(ServerUnreachable, key, "correct the name of the host in "+key+", and see to this machine's DNS", "%s", err)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, os.ErrNotExist),
		strings.Contains(err.Error(), "connection refused"):
		r.found(ServerUnreachable, key, "see that the server runs and that the firewalls on the way let this machine through, or correct "+key, "%s", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		r.found(ServerUnreachable, key, "see that the server runs and that the firewalls on the way let this machine through, or correct "+key, "no answer in time: %s", err)
	default:
		r.failed(key, err)
	}
}
