package throttle_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/deadline"
	"tributary/internal/throttle"
)

// store is one that answers as it is told.
type store struct {
	server  throttle.Server
	away    bool
	waits   []time.Duration // before a request may be sent
	claims  int
	spent   int64
	answers []throttle.Bound
	heeded  []string // servers, and the pauses that they ask for
}

var errAway = errors.New("the store is away")

func (s *store) Server(context.Context, string) (throttle.Server, error) {
	if s.away {
		return throttle.Server{}, errAway
	}
	return s.server, nil
}

func (s *store) Claim(context.Context, []throttle.Bound) (time.Duration, error) {
	if s.away {
		return 0, errAway
	}
	s.claims++
	if len(s.waits) == 0 {
		return 0, nil
	}
	wait := s.waits[0]
	s.waits = s.waits[1:]
	return wait, nil
}

func (s *store) Answered(_ context.Context, bounds []throttle.Bound) error {
	s.answers = append(s.answers, bounds...)
	return nil
}

func (s *store) Heed(_ context.Context, server string, pause time.Duration) error {
	s.heeded = append(s.heeded, server+" "+pause.String())
	return nil
}

func (s *store) Spend(_ context.Context, bounds []throttle.Bound, n int64) (time.Duration, error) {
	if s.away {
		return 0, errAway
	}
	s.spent += n
	return time.Duration(float64(n) / float64(bounds[0].Rate) * float64(time.Second)), nil
}

func gate(s *store, throttles string) *throttle.Gate {
	s.server = throttle.Server{Name: "a:22", Sessions: 4, Sources: []throttle.Source{{ID: "a", Definition: `{"throttle":[` + throttles + `]}`}}}
	return throttle.NewGate(s, s.server, "a", time.Now, slog.New(slog.DiscardHandler))
}

// A request waits for as long as the store says, and no limit on it runs meanwhile.
func TestARequestWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{waits: []time.Duration{time.Minute, time.Second}}
		g := gate(s, `{"pause":"1s"}`)
		ctx, cancel := deadline.After(t.Context(), 10*time.Second, errAway)
		defer cancel()
		began := time.Now()
		answered, err := g.Ask(ctx)
		if took := time.Since(began); err != nil || took != 61*time.Second || s.claims != 3 {
			t.Fatalf("it took %s and %d claims, %v", took, s.claims, err)
		}
		answered()
		answered()
		if len(s.answers) != 1 {
			t.Errorf("answered %d times, want once", len(s.answers))
		}
		s.waits = []time.Duration{time.Hour}
		short, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if _, err := g.Ask(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who gives up is told %v", err)
		}
	})
}

// Bytes are noted some at a time, what is left over at the end; and waits are told of.
func TestBytesAreNotedSomeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		g := gate(s, `{"rate":"1MiB"}`)
		began, waited := time.Now(), time.Duration(0)
		for range 100 {
			if err := g.Took(t.Context(), 100<<10, func(d time.Duration) { waited += d }); err != nil {
				t.Fatal(err)
			}
		}
		g.Close(t.Context())
		took := time.Since(began)
		if s.spent != 100*100<<10 || took < 9*time.Second || waited != took {
			t.Errorf("%d bytes are noted; it took %s, of which %s is told", s.spent, took, waited)
		}
	})
}

// Without the store a session keeps to a part of what is allowed, of which there are as
// many as sessions.
func TestWithoutTheStoreASessionKeepsToItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		g := gate(s, `{"rate":"1MiB","pause":"1s"}`)
		s.away = true
		began := time.Now()
		for range 5 {
			if _, err := g.Ask(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 16*time.Second {
			t.Errorf("five requests took %s, want four pauses of four seconds", took)
		}
		began = time.Now()
		for range 8 {
			if err := g.Took(t.Context(), 1<<20, nil); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 30*time.Second {
			t.Errorf("8 MiB took %s, want what a quarter of 1 MiB a second needs", took)
		}
	})
}

// What bounds bytes alone has nobody wait before asking, as a pause does.
func TestWhichGatesArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for throttles, want := range map[string]bool{"": false, `{"rate":"1MiB"}`: false, `{"pause":"1s"}`: true, `{"requests":60}`: true} {
			if got := gate(&store{}, throttles).Paced(t.Context()); got != want {
				t.Errorf("%s: paced is %v", throttles, got)
			}
		}
		var none *throttle.Gate
		if none.Paced(t.Context()) {
			t.Error("no gate is paced")
		}
	})
}

// What a server asks for itself counts without any key; and hours pass.
func TestWhatHoldsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		g := gate(s, `{"cron":"0 1 * * *","for":"1h"},{"pause":"1s"}`) // the bubble's clock begins at midnight
		for _, want := range []int{1, 1, 2} {
			if _, err := g.Ask(t.Context()); err != nil || s.claims != want {
				t.Fatalf("at %s: %d claims, want %d; %v", time.Now().UTC(), s.claims, want, err)
			}
			time.Sleep(time.Hour + time.Second)
		}
		open := gate(s, "")
		open.AtLeast(t.Context(), time.Minute)
		answered, err := open.Ask(t.Context())
		if err != nil || s.claims != 3 {
			t.Fatalf("a Crawl-delay is not kept: %d claims, %v", s.claims, err)
		}
		if answered(); s.answers[len(s.answers)-1].Pause != time.Minute {
			t.Errorf("the pause that is kept is %s", s.answers[len(s.answers)-1].Pause)
		}
		open.AtLeast(t.Context(), 0)
		if _, err := open.Ask(t.Context()); err != nil || s.claims != 3 {
			t.Errorf("a Crawl-delay is kept that is asked for no longer: %d claims, %v", s.claims, err)
		}
		if diff := cmp.Diff([]string{"a:22 1m0s", "a:22 0s"}, s.heeded); diff != "" {
			t.Errorf("what the store is told (-want +got):\n%s", diff)
		}
		var none *throttle.Gate
		none.AtLeast(t.Context(), time.Minute)
		none.Close(t.Context())
		if _, err := none.Ask(t.Context()); err != nil || none.Took(t.Context(), 1, nil) != nil {
			t.Error("no gate is closed")
		}
	})
}
