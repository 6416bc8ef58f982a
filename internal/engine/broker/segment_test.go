package broker

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// segment is a broker that was closed, and whose topic has three records, and the one
// segment of it.
func segment(t *testing.T) (o Options, path string, raw []byte) {
	t.Helper()
	o = Options{DataDir: t.TempDir()}
	b := open(t, o)
	createTopic(t, b.Addrs()[0], "kept", nil)
	produce(t, b.Addrs()[0], "kept", "a", "b", "c")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(o.DataDir, "partitions", "kept-0", "0.dat")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return o, path, raw
}

// values are those of the first records of the topic.
func values(t *testing.T, addr string, n int) (got []string) {
	t.Helper()
	c := client(t, addr, kgo.ConsumeTopics("kept"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for len(got) < n {
		fetches := c.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	return got
}

// TestADamagedLogIsNotCut shows that damage in the middle of a log costs nothing of what is
// behind it: the broker doesn't open and changes nothing, and what its error says leaves out
// the damaged batch alone. kfake would cut off all from there on, without an error.
func TestADamagedLogIsNotCut(t *testing.T) {
	_, _, whole := segment(t)
	size := wholeBatch(whole)
	for name, at := range map[string]int{"in a record": size - 3, "in a batch's length": 9, "in its format": batchMagic, "in the second batch": size + batchHead} {
		t.Run(name, func(t *testing.T) {
			o, path, raw := segment(t)
			damaged := bytes.Clone(raw)
			damaged[at] ^= 0x40
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			o.Socket, o.Logger = filepath.Join(o.DataDir, "s"), slog.New(slog.DiscardHandler)
			b, err := Open(o)
			if err == nil {
				b.Close()
				t.Fatal("it opens")
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, damaged) {
				t.Fatalf("the log was changed: %d bytes of %d, %v", len(now), len(damaged), err)
			}
			_, command, ok := strings.Cut(err.Error(), "no others: ")
			if !ok || !strings.Contains(err.Error(), path) {
				t.Fatalf("the error says no way on: %v", err)
			}
			if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
			addr := open(t, Options{DataDir: o.DataDir}).Addrs()[0]
			want := []string{"b", "c"}
			if at > size {
				want = []string{"a", "c"}
			}
			if got := values(t, addr, 2); !slices.Equal(got, want) {
				t.Errorf("left are %q, want %q", got, want)
			}
			if _, e := end(t, addr, "kept"); e != 3 {
				t.Errorf("the log ends at %d, want 3", e)
			}
		})
	}
}

// TestATornEndOfALogIsCutOff shows that what an interrupted write left is no damage, and is
// kept beside.
func TestATornEndOfALogIsCutOff(t *testing.T) {
	o, path, raw := segment(t)
	for name, torn := range map[string][]byte{"a part of a batch": raw[:65], "zeros": make([]byte, 5000), "a few bytes": {1}} {
		if err := os.WriteFile(path, append(bytes.Clone(raw), torn...), 0o600); err != nil {
			t.Fatal(err)
		}
		b := open(t, Options{DataDir: o.DataDir})
		if got := values(t, b.Addrs()[0], 3); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("%s: left are %q", name, got)
		}
		if kept, err := os.ReadFile(path + ".torn"); err != nil || !bytes.Equal(kept, torn) {
			t.Errorf("%s: kept are %d bytes, %v", name, len(kept), err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
