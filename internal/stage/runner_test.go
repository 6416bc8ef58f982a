package stage

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/test/members"
)

// journal notes what was worked on, per key.
type journal struct {
	mu   sync.Mutex
	keys map[string][]int
}

func (j *journal) note(m schemas.Message) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.keys == nil {
		j.keys = map[string][]int{}
	}
	j.keys[m.Key] = append(j.keys[m.Key], int(m.Body.(*schemas.FileDiscovered).Look))
}

func (j *journal) total() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, k := range j.keys {
		n += len(k)
	}
	return n
}

func (j *journal) count(key string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.keys[key])
}

func TestRunnerKeepsOrderPerKey(t *testing.T) {
	b := newBench(t, 3)
	const keys, each = 7, 30
	for n := range each {
		for k := range keys {
			b.Produce(members.Message(fmt.Sprint("key", k), n))
		}
	}
	var j journal
	stop := b.start(funcs{work: func(ctx context.Context, in Input) error {
		j.note(in.Message)
		return in.Emit(ctx, members.Echo(in.Message))
	}}, nil)
	out := b.Read(kafka.TopicName(prefix, outT), keys*each)
	stop()
	for k := range keys {
		got := j.keys[fmt.Sprint("key", k)]
		for n := range each {
			if n >= len(got) || got[n] != n {
				t.Fatalf("key %d was worked on in the order %v", k, got)
			}
		}
	}
	if len(out) != keys*each {
		t.Errorf("%d outputs, want %d", len(out), keys*each)
	}
	// What was committed is not worked on again.
	b.Produce(members.Message("last", 0))
	again := journal{}
	b.start(funcs{work: func(_ context.Context, in Input) error { again.note(in.Message); return nil }}, nil)
	members.Eventually(t, "the new record is worked on", func() bool { return again.total() > 0 })
	if again.total() != 1 {
		t.Errorf("after a clean stop %d records were worked on, want the new one", again.total())
	}
}
