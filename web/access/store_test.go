package access

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/sql/control"
)

const password = "correct horse battery"

// stay compares moments by what they are, and whoever asks doesn't care about hashes.
var stay = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Password" }, cmp.Ignore())

// What the guard asks and tells a store, answered by each in the same way.
func TestStores(t *testing.T) {
	eachStore(t, func(t *testing.T, store Store, people people, clock *clock) {
		ctx, o, noon := t.Context(), Order{By: "ann@host", Reason: "a test"}, clock.Now()
		must(t, people.Add(ctx, Person{Name: "ben", Role: Producer, Centre: "Ics"}, password, o))
		ben, err := store.Account(ctx, "ben")
		same(t, "the account", ben, err, &control.Account{Name: "ben", Role: "producer", Centre: "Ics", CreatedAt: noon})
		nobody, err := store.Account(ctx, "nobody")
		same(t, "no account", nobody, err, nil)
		if ok, err := isPassword(ben.Password, password); !ok || err != nil {
			t.Errorf("the password is not the one that was set: %v", err)
		}

		first, second := digest(newSecret()), digest(newSecret())
		did(t, "a session of the account")(store.BeginSession(ctx, *ben, first, noon))
		s, err := store.Session(ctx, first)
		same(t, "the session", s, err, &control.AccountSession{Name: "ben", Role: "producer", Centre: "Ics", BegunAt: noon, SeenAt: noon})
		must(t, store.SeeSession(ctx, first, noon.Add(time.Hour)))
		must(t, store.SeeSession(ctx, first, noon.Add(time.Minute))) // from a clock that is behind
		must(t, people.Edit(ctx, Person{Name: "ben", Role: Wrangler}, o))
		s, err = store.Session(ctx, first)
		same(t, "the session, seen and with the new role", s, err, &control.AccountSession{Name: "ben", Role: "wrangler", BegunAt: noon, SeenAt: noon.Add(time.Hour)})

		must(t, people.SetPassword(ctx, "ben", "another password", o))
		s, err = store.Session(ctx, first)
		same(t, "no session after a new password", s, err, nil)
		if begun, err := store.BeginSession(ctx, *ben, first, noon); begun || err != nil {
			t.Errorf("a session begins by the password of before: %v", err)
		}
		ben, err = store.Account(ctx, "ben")
		must(t, err)
		did(t, "a session by the new password")(store.BeginSession(ctx, *ben, first, noon))
		must(t, people.Disable(ctx, "ben", o))
		s, err = store.Session(ctx, first)
		same(t, "no session of a disabled account", s, err, nil)
		if begun, err := store.BeginSession(ctx, *ben, first, noon); begun || err != nil {
			t.Errorf("a session of a disabled account begins: %v", err)
		}
		must(t, people.Enable(ctx, "ben", o))

		did(t, "a session")(store.BeginSession(ctx, *ben, first, noon))
		did(t, "a second one")(store.BeginSession(ctx, *ben, second, noon.Add(time.Hour)))
		must(t, store.ForgetSessions(ctx, noon, "ben", 1))
		s, err = store.Session(ctx, first)
		same(t, "none beyond the newest", s, err, nil)
		s, err = store.Session(ctx, second)
		same(t, "the newest", s, err, &control.AccountSession{Name: "ben", Role: "wrangler", BegunAt: noon.Add(time.Hour), SeenAt: noon.Add(time.Hour)})
		must(t, store.ForgetSessions(ctx, noon.Add(2*time.Hour), "ben", 1))
		s, err = store.Session(ctx, second)
		same(t, "none that did not ask since", s, err, nil)
		did(t, "a session")(store.BeginSession(ctx, *ben, first, noon))
		must(t, store.EndSession(ctx, first))
		must(t, store.EndSession(ctx, first))
		s, err = store.Session(ctx, first)
		same(t, "none that ended", s, err, nil)
		did(t, "a session")(store.BeginSession(ctx, *ben, first, noon))
		must(t, people.Remove(ctx, "ben", o))
		s, err = store.Session(ctx, first)
		same(t, "none of an account that was removed", s, err, nil)

		printed, err := people.AddToken(ctx, Person{Name: "nightly", Role: Reader}, time.Hour, o)
		must(t, err)
		token := tokenDigest(printed)
		must(t, store.SeeToken(ctx, token, noon.Add(time.Minute)))
		clock.move(time.Minute)
		must(t, people.RevokeToken(ctx, "nightly", o))
		is, err := store.Token(ctx, token)
		used := noon.Add(time.Minute)
		same(t, "the token", is, err, &control.AccountToken{Name: "nightly", Role: "reader", CreatedAt: noon, ExpiresAt: noon.Add(time.Hour), UsedAt: &used, RevokedAt: &used})
		is, err = store.Token(ctx, first)
		same(t, "no token", is, err, nil)

		path, err := people.AddLink(ctx, Operator, o)
		must(t, err)
		link := digest(path[len(loginPath)+1:])
		if begun, err := store.UseLink(ctx, link, first, clock.Now().Add(LinkLife)); begun || err != nil {
			t.Errorf("a link that is over logs in: %v", err)
		}
		did(t, "the link")(store.UseLink(ctx, link, first, clock.Now()))
		if begun, err := store.UseLink(ctx, link, second, clock.Now()); begun || err != nil {
			t.Errorf("a link logs in twice: %v", err)
		}
		s, err = store.Session(ctx, first)
		same(t, "the link's session", s, err, &control.AccountSession{Name: "link:ann@host", Role: "operator", BegunAt: clock.Now(), SeenAt: clock.Now()})
		_, err = people.AddLink(ctx, Reader, o)
		must(t, err)
		if links, sessions, err := people.EndLinks(ctx, o); links != 1 || sessions != 1 || err != nil {
			t.Errorf("%d links and %d sessions ended, want 1 and 1: %v", links, sessions, err)
		}
		s, err = store.Session(ctx, first)
		same(t, "no session of a link", s, err, nil)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// did fails the test unless something was done.
func did(t *testing.T, what string) func(bool, error) {
	return func(done bool, err error) {
		t.Helper()
		if err != nil || !done {
			t.Fatalf("%s: not begun: %v", what, err)
		}
	}
}

func same[T any](t *testing.T, what string, got *T, err error, want *T) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, got, stay); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}
