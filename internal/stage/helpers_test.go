package stage

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"tributary/schemas"
	"tributary/test/members"
)

const (
	prefix  = members.Prefix
	inTopic = members.InTopic
	outT    = members.OutTopic
	endT    = members.EndTopic
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a broker and what the tests do with it.
type bench struct{ *members.Bench }

func newBench(t testing.TB, partitions int32) *bench {
	t.Helper()
	return &bench{members.New(t, partitions)}
}

// committed returns the group's offset and mark of a partition; -1 if there is
// none.
func (b *bench) committed(group string, partition int32) (int64, mark) {
	b.T.Helper()
	o, ok := b.Committed(group, partition)
	if !ok {
		return -1, mark{}
	}
	return o.At, parseMark(&o.Metadata)
}

// funcs is a Stage of functions.
type funcs struct {
	work func(context.Context, Input) error
	fail func(schemas.Message, error) []schemas.Message
}

func (f funcs) Work(ctx context.Context, in Input) error { return f.work(ctx, in) }

func (f funcs) Fail(in schemas.Message, cause error) []schemas.Message {
	if f.fail == nil {
		return nil
	}
	return f.fail(in, cause)
}

// start runs a Runner until the returned function is called, or the test ends.
func (b *bench) start(s Stage, change func(*Config), opts ...kgo.Opt) (stop func()) {
	b.T.Helper()
	cfg := Config{Name: "work", Prefix: prefix, Topic: inTopic, Backoff: time.Millisecond, BackoffMax: 10 * time.Millisecond,
		CommitInterval: 10 * time.Millisecond, Grace: 5 * time.Second}
	if change != nil {
		change(&cfg)
	}
	r := NewRunner(cfg, b.Factory(opts...), b.Codec, s, members.Logger(b.T), b.Metrics)
	return members.Running(b.T, r.Run)
}
