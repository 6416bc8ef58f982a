package insert

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tributary/sql/warehouse"
	"tributary/test/wait"
)

// heard is what a member logs, line by line.
type heard struct{ lines chan string }

func (h heard) Write(b []byte) (int, error) {
	h.lines <- string(b)
	return len(b), nil
}

// until returns what a member says up to a message that begins like that.
func (h heard) until(t *testing.T, begins string) (said []string) {
	t.Helper()
	deadline := time.NewTimer(wait.Patience())
	defer deadline.Stop()
	for {
		select {
		case line := <-h.lines:
			var entry struct{ Level, Msg, Holder string }
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatal(err)
			}
			said = append(said, entry.Level+" "+entry.Msg+" "+entry.Holder)
			if strings.HasPrefix(entry.Msg, begins) {
				return said
			}
		case <-deadline.C:
			t.Fatalf("nobody said %q, but %q", begins, said)
		}
	}
}

// A verification holds insert's lease for a moment. The member that has it says
// who took it, and not that it was stopped or cut off, which it was not.
func TestAMemberKnowsAVerification(t *testing.T) {
	r := rebuildBench(t)
	r.batches(0, 1)
	h := heard{make(chan string, 10_000)}
	in := r.inserter()
	in.deps.Log = slog.New(slog.NewJSONHandler(h, nil))
	stop := start(t, in)
	defer stop()
	h.until(t, "insertion begins")
	r.await(int64(len(r.o.events)))
	if _, err := r.again().Verify(context.WithoutCancel(t.Context()), func(warehouse.TableComparison) error { return nil }); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(h.until(t, "insertion begins"), "\n")
	if strings.Contains(said, "cut off") || strings.Contains(said, "WARN") || !strings.Contains(said, "INFO insertion pauses") || !strings.Contains(said, " rebuild") {
		t.Errorf("it says:\n%s", said)
	}
}
