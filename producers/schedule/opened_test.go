package schedule

import (
	"errors"
	"testing"
)

// Who polls in the same process is told of sessions that open, once until it hears; where
// none opens it is told of none.
func TestAnOpenedSessionIsToldOf(t *testing.T) {
	b := newBench(t, two()...)
	opened := make(chan struct{}, 1)
	b.deps.Opened = opened
	b.sync()
	for range 2 {
		if _, err := b.Open(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		b.exec("UPDATE control.poll SET state = 'running'")
		b.exec("UPDATE control.poll SET state = 'complete'")
	}
	if len(opened) != 1 {
		t.Fatal("two sessions have opened, and nobody is told")
	}
	<-opened
	b.exec("UPDATE control.source SET state = 'maintenance'")
	if _, err := b.Open(t.Context(), true); !errors.Is(err, ErrNothingDue) {
		t.Fatal(err)
	}
	if len(opened) != 0 {
		t.Error("it is told of a session that is not opened")
	}
}
