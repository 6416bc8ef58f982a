package stage

import (
	"context"
	"testing"
	"time"

	"tributary/test/members"
)

// A clean stop clears the count of deaths, also of those that came before: a
// record that a member could be stopped at in peace has killed nobody lately.
func TestACleanStopForgetsEarlierDeaths(t *testing.T) {
	b := newBench(t, 1)
	b.Produce(members.Message("slow", 1))
	running := func() (funcs, chan struct{}) {
		began := make(chan struct{})
		return funcs{work: func(ctx context.Context, _ Input) error {
			close(began)
			<-ctx.Done()
			return ctx.Err()
		}}, began
	}
	short := func(c *Config) { c.Grace = 10 * time.Millisecond }

	var l members.Line
	work, began := running()
	stop := b.start(work, short, l.Opts()...)
	<-began
	l.Cut()
	stop()
	if _, m := b.committed("test.work", 0); m.Starts != 1 {
		t.Fatalf("after a death the mark is %+v, want one start", m)
	}

	work, began = running()
	stop = b.start(work, short)
	<-began
	if _, m := b.committed("test.work", 0); m.Starts != 2 {
		t.Fatalf("while the second member runs the mark is %+v, want two starts", m)
	}
	stop()
	if at, m := b.committed("test.work", 0); at != 0 || m != (mark{}) {
		t.Errorf("after a clean stop: offset %d, mark %+v; want 0 and none", at, m)
	}
}
