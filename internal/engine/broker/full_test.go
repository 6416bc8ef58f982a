package broker

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A record that could not be written is not acknowledged, however often it is
// sent again, until it is written, and then it is there once. Where a file of the
// log can't be made, the library has counted the producer's sequence already when
// writing fails, and takes the same record for a duplicate when it comes again.
func TestWhatIsNotWrittenIsNotAcknowledged(t *testing.T) {
	failed := make(chan struct{}, 1)
	dir := t.TempDir()
	b := open(t, Options{DataDir: dir, Logger: slog.New(onLine{"persist batch", failed})})
	createTopic(t, b.Addrs()[0], "t", nil)
	inTheWay := filepath.Join(dir, "partitions", "t-0", "0.dat")
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}

	c := client(t, b.Addrs()[0], kgo.DefaultProduceTopic("t"))
	acked := make(chan error, 1)
	go func() { acked <- c.ProduceSync(t.Context(), kgo.StringRecord("one")).FirstErr() }()
	<-failed
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	if err := <-acked; err != nil {
		t.Logf("the client gave up: %v; it sends again", err)
		if err := c.ProduceSync(t.Context(), kgo.StringRecord("one")).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.ProduceSync(t.Context(), kgo.StringRecord("two")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if _, end := end(t, b.Addrs()[0], "t"); end != 2 {
		t.Errorf("two records are acknowledged, and the log ends at %d", end)
	}
}

// onLine tells of a line of the log.
type onLine struct {
	text string
	seen chan struct{}
}

func (l onLine) Enabled(context.Context, slog.Level) bool { return true }
func (l onLine) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l onLine) WithGroup(string) slog.Handler            { return l }
func (l onLine) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if strings.Contains(a.Value.String(), l.text) {
			select {
			case l.seen <- struct{}{}:
			default:
			}
		}
		return true
	})
	return nil
}
