package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/topics"
	"tributary/web/live"
)

// reader is whoever reads events: what came is kept.
type reader struct {
	header http.Header
	status int
	bytes.Buffer
}

func (r *reader) Header() http.Header              { return r.header }
func (r *reader) WriteHeader(status int)           { r.status = status }
func (r *reader) Flush()                           {}
func (r *reader) SetReadDeadline(time.Time) error  { return nil }
func (r *reader) SetWriteDeadline(time.Time) error { return nil }

// changes are events of two partitions, in which a message breaks the line.
func changes() []*topics.Event {
	event := func(partition int32, offset int64, centre, entity string) *topics.Event {
		return &topics.Event{Topic: "s", Partition: partition, Offset: offset, Body: []topics.Field{{Name: "centre", Value: centre}, {Name: "entity", Value: entity}, {Name: "message", Value: "a\nid: 9:9"}}}
	}
	return []*topics.Event{event(0, 7, "H", "file"), event(1, 3, "J", "file"), event(0, 8, "H", "document")}
}

// log is a Follow of what is told from a place on, which then waits.
func log(ctx context.Context, from topics.Place, emit func(*topics.Event, topics.Place) error) error {
	at := topics.Place{0: 7, 1: 3}
	for partition, offset := range from {
		if offset > 9 {
			return fmt.Errorf("partition %d: %w", partition, topics.ErrPlace)
		}
		at[partition] = offset
	}
	if err := emit(nil, at); err != nil {
		return err
	}
	for _, e := range changes() {
		if e.Offset < at[e.Partition] {
			continue
		}
		at[e.Partition] = e.Offset + 1
		if err := emit(e, at); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

func streamed(t *testing.T, a *API, query, last string) *reader {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, base+"/events"+query, nil)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	w := &reader{header: http.Header{}, status: http.StatusOK}
	a.stream(w, r)
	return w
}

// Events are given from a place on, each with the place behind it, and what is not
// wanted moves the place all the same. In silence the place is told; after five minutes
// the stream ends.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deps := Deps{Log: slog.New(slog.DiscardHandler), Beside: Beside{Follow: log}}
		a := New(deps)
		for _, c := range []struct {
			query, last string
			want        []string // the ids of what has data, the last id, and how many silences
		}{
			{"", "", []string{"0:8,1:3", "0:8,1:4", "0:9,1:4"}},
			{"", "0:8,1:3", []string{"0:8,1:4", "0:9,1:4"}},
			{"?after=0:8,1:4", "", []string{"0:9,1:4"}},
			{"?after=0:7,1:3", "0:9,1:4", nil},
			{"?centre=J", "", []string{"0:8,1:4"}},
			{"?centre=H&entity=document", "", []string{"0:9,1:4"}},
		} {
			began := time.Now()
			text := streamed(t, a, c.query, c.last).String()
			var got []string
			for block := range strings.SplitSeq(text, "\n\n") {
				if id, data, ok := strings.Cut(block, "\ndata: {"); ok {
					got = append(got, strings.TrimPrefix(id, "id: "))
					if strings.Contains(data, "\n") {
						t.Errorf("%s: an event breaks the line: %q", c.query, data)
					}
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%q after %q: %s", c.query, c.last, d)
			}
			if took := time.Since(began); took != live.StreamTime || !strings.HasSuffix(text, "\n\nid: 0:9,1:4\n\nevent: again\ndata:\n\n") {
				t.Errorf("%q ends after %s with %q", c.query, took, text[max(0, len(text)-60):])
			}
		}
	})
}

// What can't be followed is a problem with a name, before anything else is answered.
func TestEventsRefused(t *testing.T) {
	a := New(Deps{Log: slog.New(slog.DiscardHandler), Beside: Beside{Follow: log}})
	for _, c := range []struct {
		query, last, want string
		status            int
	}{
		{"", "nonsense", "bad_place", 400}, {"", "0:1,0:2", "bad_place", 400}, {"?after=-1:1", "", "bad_place", 400}, {"", "0:99", "bad_place", 400}, {"?colour=red", "", "bad_filter", 400},
	} {
		if w := streamed(t, a, c.query, c.last); w.status != c.status || !strings.Contains(w.String(), "/problems/"+c.want) || w.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %d %s", c.query, c.last, w.status, w)
		}
	}
	a.deps.Follow = nil
	if w := streamed(t, a, "", ""); w.status != 503 || !strings.Contains(w.String(), "/problems/not_here") {
		t.Errorf("without a broker: %d %s", w.status, w)
	}
	a.deps.Follow = func(context.Context, topics.Place, func(*topics.Event, topics.Place) error) error {
		return errors.New("away")
	}
	if w := streamed(t, a, "", ""); w.status != 503 || !strings.Contains(w.String(), "/problems/store_unavailable") || strings.Contains(w.String(), "away") {
		t.Errorf("without an answer of the broker: %d %s", w.status, w)
	}
	for range maxStreams {
		a.streams <- struct{}{}
	}
	if w := streamed(t, a, "", ""); w.status != 503 || w.header.Get("Retry-After") == "" || !strings.Contains(w.String(), "/problems/busy") {
		t.Errorf("one too many: %d %s", w.status, w)
	}
}

// A reader who goes takes its reading of the log along.
func TestEventsEndWithTheirReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Deps{Log: slog.New(slog.DiscardHandler), Beside: Beside{Follow: log}})
		ctx, gone := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, base+"/events", nil)
		done := make(chan struct{})
		go func() {
			defer close(done)
			a.stream(&reader{header: http.Header{}}, r)
		}()
		synctest.Wait()
		gone()
		<-done
		if len(a.streams) != 0 {
			t.Error("a reader that is gone still counts")
		}
	})
}
