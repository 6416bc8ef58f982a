package centres

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"tributary/internal/profile"
)

// knows tells which of some centres are known, as they are spelled.
func knows(c profile.Centres, names ...string) (out string) {
	for _, n := range names {
		if name, ok := c.Lookup(n); ok {
			out += name + " "
		}
	}
	return out
}

// A member judges by the configuration until control was read, and by what was read
// last while control can't be asked. Control without centres says nothing.
func TestACopyIsTheLastThatWasRead(t *testing.T) {
	var all []Centre
	var away error
	c := NewCopy([]Centre{{ShortName: "H"}}, func(ctx context.Context) ([]Centre, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("a reading may last for ever")
		}
		return all, away
	})
	shadow := c.With([]profile.Centre{{ShortName: "own"}, {ShortName: "NEW"}})
	is := func(when, want, wantShadow string, failed bool) {
		t.Helper()
		if err := c.Renew(t.Context()); (err != nil) != failed {
			t.Errorf("%s: %v", when, err)
		}
		if got := knows(c, "h", "new", "own"); got != want {
			t.Errorf("%s it knows %q, want %q", when, got, want)
		}
		if got := knows(shadow, "h", "new", "own"); got != wantShadow {
			t.Errorf("%s a shadow knows %q, want %q", when, got, wantShadow)
		}
	}
	away = errors.New("no Postgres")
	is("at a cold start", "H ", "H NEW own ", true)
	away = nil
	is("before schedule has started", "H ", "H NEW own ", true)
	all = []Centre{{ShortName: "new"}, {ShortName: "New", Active: true}}
	is("once read", "New ", "New own ", false)
	all, away = nil, errors.New("no Postgres")
	is("while Postgres is away", "New ", "New own ", true)
}

// A copy follows what control has, though no name makes it read.
func TestACopyFollowsControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := make(chan struct{})
		name := "a"
		c := NewCopy(nil, func(context.Context) ([]Centre, error) {
			<-reads
			return []Centre{{ShortName: name}}, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx, slog.New(slog.DiscardHandler)) }()
		reads <- struct{}{}
		synctest.Wait()
		if got := knows(c, "a", "b"); got != "a " {
			t.Errorf("it knows %q", got)
		}
		name = "b"
		reads <- struct{}{}
		synctest.Wait()
		if got := knows(c, "a", "b"); got != "b " {
			t.Errorf("it knows %q", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
