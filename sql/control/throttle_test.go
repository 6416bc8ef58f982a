package control_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/internal/throttle"
	"tributary/sql/control"
)

// One request is under way at a time, and each comes a pause after the answer to the one
// before, whoever asks, and of all that it counts for.
func TestRequestsAreClaimedOneAfterAnother(t *testing.T) {
	t.Parallel()
	store := control.Throttles{Pool: database(t)}
	server := throttle.Bound{Name: throttle.ServerName("a:22"), Limit: throttle.Limit{Pause: 50 * time.Millisecond}}
	source := throttle.Bound{Name: "source a", Limit: throttle.Limit{Every: 20 * time.Millisecond}}
	var mu sync.Mutex
	under, all := 0, 0
	var answered time.Time
	var wg sync.WaitGroup
	for i := range 4 {
		bounds := []throttle.Bound{server, source}
		if i%2 == 0 {
			bounds = bounds[:1]
		}
		wg.Go(func() {
			for n := 0; n < 5; {
				wait, err := store.Claim(t.Context(), bounds)
				if err != nil {
					t.Error(err)
					return
				}
				if wait > 0 {
					<-time.After(wait)
					continue
				}
				mu.Lock()
				if under++; under > 1 {
					t.Error("two requests are under way at once")
				}
				if pause := time.Since(answered); all > 0 && pause < server.Pause {
					t.Errorf("a request is sent %s after the answer to the one before, want %s or more", pause, server.Pause)
				}
				all++
				under--
				answered = time.Now()
				mu.Unlock()
				if err := store.Answered(t.Context(), bounds); err != nil {
					t.Error(err)
					return
				}
				n++
			}
		})
	}
	wg.Wait()
	if all != 20 {
		t.Errorf("%d requests, want 20", all)
	}
}

// What came is paid off one after another, by the bound that is the tighter one.
func TestBytesArePaidOff(t *testing.T) {
	t.Parallel()
	store := control.Throttles{Pool: database(t)}
	bounds := []throttle.Bound{{Name: "server a", Limit: throttle.Limit{Rate: 1 << 20}}, {Name: "source a", Limit: throttle.Limit{Rate: 1 << 10}}}
	for i := range 3 {
		wait, err := store.Spend(t.Context(), bounds, 100<<10)
		if most := time.Duration(i+1) * 100 * time.Second; err != nil || wait > most || wait < most-time.Minute {
			t.Errorf("after %d hundred seconds' worth: %s, %v", i+1, wait, err)
		}
	}
	if wait, err := store.Spend(t.Context(), bounds[:1], 1); err != nil || wait > time.Second {
		t.Errorf("another source of the server waits for %s, %v", wait, err)
	}
}

// The least of what a server's sources say counts, whatever name they reach it by; and
// what is said of a source alone is its own.
func TestWhatHoldsForAServer(t *testing.T) {
	t.Parallel()
	pool := database(t)
	for i, definition := range []string{
		`{"url": "x", "throttle": [{"rate": "4MiB", "requests": 60}, {"of": "source", "pause": "2s"}]}`,
		`{"throttle": [{"rate": "2MiB", "pause": "1s"}]}`,
		`{}`,
		`{"throttle": [{"lunar": true}]}`,
	} {
		exec(t, pool, `INSERT INTO control.source (id, centre, server, address, protocol, url, max_sessions, poll_interval, state, revision, definition)
			VALUES ($1, 'H', 'both', $1, 'sftp', '', $2, '1 hour', 'available', 1, $3::text::jsonb)`, fmt.Sprint("s", i), 4-i, definition)
	}
	server, err := control.ThrottledServer(t.Context(), pool, "s0")
	if err != nil || server.Name != "both" || server.Sessions != 1 {
		t.Fatalf("%+v, %v", server, err)
	}
	all := throttle.Bound{Name: "server both", Limit: throttle.Limit{Rate: 2 << 20, Every: time.Second, Pause: time.Second}}
	for source, want := range map[string][]throttle.Bound{
		"s0": {all, {Name: "source s0", Limit: throttle.Limit{Pause: 2 * time.Second}}},
		"s2": {all},
	} {
		got, err := server.Bounds(source, noon)
		if diff := cmp.Diff(want, got); diff != "" || err == nil {
			t.Errorf("%s, and of s3, which can't be read, %v (-want +got):\n%s", source, err, diff)
		}
	}
	if _, err := control.ThrottledServer(t.Context(), pool, "nobody"); err == nil {
		t.Error("a source that is not there has a server")
	}
}

// A server is left alone for the longest that it has asked for.
func TestServersAreLeftAlone(t *testing.T) {
	t.Parallel()
	pool := database(t)
	inTx(t, pool, func(tx pgx.Tx) error {
		for _, wait := range []time.Duration{time.Hour, time.Minute} {
			if err := control.LeaveAlone(t.Context(), tx, "a:22", noon, wait); err != nil {
				return err
			}
		}
		return control.LeaveAlone(t.Context(), tx, "b:22", noon, time.Second)
	})
	for after, want := range map[time.Duration]map[string]time.Time{
		0:           {"a:22": noon.Add(time.Hour), "b:22": noon.Add(time.Second)},
		time.Minute: {"a:22": noon.Add(time.Hour)},
		time.Hour:   {},
	} {
		got, err := control.LeftAlone(t.Context(), pool, noon.Add(after))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("after %s, %v (-want +got):\n%s", after, err, diff)
		}
	}
}

// Nobody waits for what was noted before the database's clock went back a year: no
// request for longer than a pause can be, no bytes for more than an hour, and what a
// server may have asked for is no more than a day.
func TestAClockThatGoesBackHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	pool := database(t)
	store, bounds := control.Throttles{Pool: pool}, []throttle.Bound{{Name: "server a:22", Limit: throttle.Limit{Rate: 1 << 20, Pause: time.Millisecond}}}
	for _, column := range []string{"next_request", "asking_until"} {
		exec(t, pool, "INSERT INTO control.throttle AS t (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET next_request = 'epoch', asking_until = 'epoch'", bounds[0].Name)
		exec(t, pool, "UPDATE control.throttle SET "+column+" = clock_timestamp() + interval '1 year' WHERE name = $1", bounds[0].Name)
		if wait, err := store.Claim(t.Context(), bounds); wait == 0 || err != nil {
			t.Errorf("%s is far ahead: a request may be sent at once, %v", column, err)
		}
		if wait, err := store.Claim(t.Context(), bounds); wait > time.Minute || err != nil {
			t.Errorf("%s was far ahead: %s, %v; want a minute at most", column, wait, err)
		}
		var ahead bool
		if err := pool.QueryRow(t.Context(), "SELECT "+column+" > clock_timestamp() + interval '1 minute' FROM control.throttle").Scan(&ahead); err != nil || ahead {
			t.Errorf("%s is still more than a minute ahead, %v", column, err)
		}
	}
	exec(t, pool, "UPDATE control.throttle SET paid_until = clock_timestamp() + interval '1 year'")
	if wait, err := store.Spend(t.Context(), bounds, 1); wait > time.Hour+time.Second || err != nil {
		t.Errorf("bytes are paid off after %s, %v; want an hour at most", wait, err)
	}
	exec(t, pool, "UPDATE control.throttle SET left_until = $1", noon.AddDate(1, 0, 0))
	if left, err := control.LeftAlone(t.Context(), pool, noon); len(left) > 0 || err != nil {
		t.Errorf("left alone for a year: %v, %v", left, err)
	}
}

// What a server asks for is known until it asks for something else.
func TestWhatAServerAsksForIsNoted(t *testing.T) {
	t.Parallel()
	pool := database(t)
	exec(t, pool, `INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision, definition)
		VALUES ('a', 'H', 'a:80', 'http', '', 1, '1 hour', 'available', 1, '{}')`)
	store := control.Throttles{Pool: pool}
	for _, pause := range []time.Duration{0, time.Minute, 150 * time.Millisecond, 0} {
		if err := store.Heed(t.Context(), "a:80", pause); err != nil {
			t.Fatal(err)
		}
		if s, err := store.Server(t.Context(), "a"); s.Crawl != pause || err != nil {
			t.Errorf("it asks for %s; known is %s, %v", pause, s.Crawl, err)
		}
		wait, err := store.Claim(t.Context(), []throttle.Bound{{Name: throttle.ServerName("a:80"), Limit: throttle.Limit{Pause: pause}}})
		if waits := pause == time.Minute; (wait > time.Second) != waits || err != nil {
			t.Errorf("it has asked for %s: the next request waits for %s, %v", pause, wait, err)
		}
		exec(t, pool, "UPDATE control.throttle SET next_request = 'epoch', asking_until = 'epoch'")
	}
}
