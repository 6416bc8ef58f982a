package access

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
	"tributary/sql/outbox/outboxtest"
)

// Who has a link is a producer of its centre until it ends or is revoked; then, as with a
// link that never was, it leads nowhere, in the same words.
func TestByLink(t *testing.T) {
	eachStore(t, func(t *testing.T, store Store, people people, clock *clock) {
		s := newSite(t, Config{}, store, people, clock)
		path, err := people.AddCentreLink(t.Context(), "Ics", 48*time.Hour, order)
		must(t, err)
		other, err := people.AddCentreLink(t.Context(), "Ics", time.Hour, order)
		must(t, err)
		answer := s.ask("GET", path, "")
		s.wants("a good link", answer, http.StatusOK, "centre-link:1 producer Ics")
		for header, want := range map[string]string{"Referrer-Policy": "no-referrer", "Cache-Control": "private, no-store", "X-Robots-Tag": "noindex, nofollow, noarchive"} {
			if got := answer.Header.Get(header); got != want {
				t.Errorf("%s is %q, want %q", header, got, want)
			}
		}
		s.wants("a link, elsewhere", s.ask("GET", "/own", "", "Authorization", "Bearer "+tokenPrefix+strings.TrimPrefix(path, CentrePath+"/")), http.StatusUnauthorized, "")
		clock.move(time.Hour)
		ended := s.ask("GET", other, "")
		s.wants("a link that has ended", ended, http.StatusNotFound, "leads nowhere")
		s.wants("a good link, later", s.ask("GET", path, ""), http.StatusOK, "producer Ics")
		must(t, people.RevokeCentreLink(t.Context(), "1", order))
		revoked, unknown := s.ask("GET", path, ""), s.ask("GET", CentrePath+"/"+newSecret(), "")
		if a, b, c := body(ended), body(revoked), body(unknown); a != b || b != c || revoked.StatusCode != http.StatusNotFound || unknown.StatusCode != http.StatusNotFound {
			t.Errorf("what is over and what never was differ:\n%s\n%s\n%s", a, b, c)
		}
		l, err := store.CentreLink(t.Context(), digest(strings.TrimPrefix(path, CentrePath+"/")))
		at := clock.Now()
		same(t, "the link", l, err, &control.CentreLink{Number: 1, Centre: "Ics", MadeBy: "ann@host", CreatedAt: at.Add(-time.Hour), ExpiresAt: at.Add(47 * time.Hour), UsedAt: &at, RevokedAt: &at})
		for _, secret := range []string{strings.TrimPrefix(path, CentrePath+"/"), strings.TrimPrefix(other, CentrePath+"/")} {
			if strings.Contains(s.log.String(), secret) {
				t.Errorf("the log has the secret: %s", s.log)
			}
		}
	})
}

// Who tries links that lead nowhere waits longer and longer, but not who logs in from
// there, nor who asks for a link that was good once.
func TestGuessingLinks(t *testing.T) {
	inMemory(t, func(t *testing.T, store Store, people people, clock *clock) {
		s := newSite(t, Config{}, store, people, clock)
		path, err := people.AddCentreLink(t.Context(), "Ics", 48*time.Hour, order)
		must(t, err)
		over, err := people.AddCentreLink(t.Context(), "Ics", time.Nanosecond, order)
		must(t, err)
		clock.move(time.Second)
		for range 50 {
			s.wants("a link that is over", s.ask("GET", over, ""), http.StatusNotFound, "")
		}
		for range ofAddress().free {
			s.wants("a guess", s.ask("GET", CentrePath+"/"+newSecret(), ""), http.StatusNotFound, "")
		}
		answer := s.ask("GET", CentrePath+"/guessed", "")
		s.wants("one guess more", answer, http.StatusTooManyRequests, "Wait, then try again")
		if answer.Header.Get("Retry-After") == "" {
			t.Error("it is not said how long to wait")
		}
		s.wants("a good link from there", s.ask("GET", path, ""), http.StatusTooManyRequests, "")
		s.wants("a good link from elsewhere", s.ask("GET", path, "", "From", "203.0.113.9:1000"), http.StatusOK, "Ics")
		s.add("ann", Reader)
		s.wants("a login from there", s.ask("GET", "/own", "", s.session("ann")...), http.StatusOK, "ann")
		clock.move(time.Minute)
		s.wants("a good link, later", s.ask("GET", path, ""), http.StatusOK, "Ics")
	})
}

// Links are for a centre that there is, for some time, and each is written down.
func TestCentreLinksAreWrittenDown(t *testing.T) {
	pool := controltest.Open(t, 4)
	centre(t, pool, "Ics")
	a := Accounts{Pool: pool, Now: newClock().Now}
	for _, life := range []time.Duration{0, -time.Hour, maxTokenLife + 1} {
		if _, err := a.AddCentreLink(t.Context(), "Ics", life, order); !Refused(err) {
			t.Errorf("for %s: %v", life, err)
		}
	}
	if _, err := a.AddCentreLink(t.Context(), "Nowhere", time.Hour, order); !Refused(err) {
		t.Errorf("of no centre: %v", err)
	}
	if _, err := a.AddCentreLink(t.Context(), "ICS", time.Hour, order); err != nil {
		t.Fatal(err)
	}
	for _, number := range []string{"9", "x", ""} {
		if err := a.RevokeCentreLink(t.Context(), number, order); !Refused(err) {
			t.Errorf("revoked: %q: %v", number, err)
		}
	}
	all, err := control.CentreLinks(t.Context(), pool, "Ics")
	if err != nil || len(all) != 1 {
		t.Fatalf("%d links: %v", len(all), err)
	}
	must(t, a.RevokeCentreLink(t.Context(), linkNumber(all[0]), order))
	if err := a.RevokeCentreLink(t.Context(), linkNumber(all[0]), order); !Refused(err) {
		t.Errorf("revoked twice: %v", err)
	}
	codec, err := schemas.NewCodec()
	must(t, err)
	number := linkNumber(all[0])
	var told []string
	for _, m := range outboxtest.Drain(t, pool, control.Schema, codec) {
		e, ok := m.Body.(*schemas.StatusChanged)
		if !ok {
			t.Fatalf("an event of another kind: %+v", m)
		}
		told = append(told, strings.Join([]string{m.Key, e.Entity, e.Centre, e.Message, e.Attributes["link"], e.Attributes["by"], e.Attributes["reason"]}, "|"))
	}
	want := []string{"Ics|link|Ics|link made until 2026-03-01T13:00:00Z by ann@host: a test|" + number + "|ann@host|a test", "Ics|link|Ics|link revoked by ann@host: a test|" + number + "|ann@host|a test"}
	if d := cmp.Diff(want, told); d != "" {
		t.Errorf("it is told (- want, + got):\n%s", d)
	}
	if changes, err := control.AccountChanges(t.Context(), pool, control.AccountChangeFilter{Limit: 10}); err != nil || len(changes) != 0 {
		t.Errorf("it is told of accounts too: %+v, %v", changes, err)
	}
	long := Order{By: "ann@host", Reason: strings.Repeat("x", control.MaxReason+1)}
	if _, err := a.AddCentreLink(t.Context(), "ICS", time.Hour, long); !Refused(err) {
		t.Errorf("with a long reason: %v", err)
	}
}

// Somebody of one centre who goes to where everything stands is led to what is theirs.
func TestProducersBeginWithTheirOwn(t *testing.T) {
	inMemory(t, func(t *testing.T, store Store, people people, clock *clock) {
		s := newSite(t, Config{Prefix: "/t"}, store, people, clock)
		s.add("pat", Producer)
		answer := s.ask("GET", "/t/", "", s.session("pat")...)
		if to := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || to != "/t/own" {
			t.Errorf("%s to %s", answer.Status, to)
		}
		s.wants("files", s.ask("GET", "/t/files/", "", s.session("pat")...), http.StatusForbidden, "")
	})
}
