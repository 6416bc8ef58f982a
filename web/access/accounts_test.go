package access

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/sql/control"
)

// What is ordered of accounts is written down with who did it, and why; what is
// refused changes nothing.
func TestOrders(t *testing.T) {
	eachStore(t, func(t *testing.T, store Store, people people, clock *clock) {
		a, ok := people.(Accounts)
		if !ok {
			t.Skip("only control has orders")
		}
		var told []control.AccountChange
		a.Told = func(c control.AccountChange) { told = append(told, c) }
		ctx, o := t.Context(), Order{By: "ann@host", Reason: strings.Repeat("é", control.MaxReason)}
		reader := Person{Name: "ben", Role: Reader}
		for _, tt := range []struct {
			name    string
			order   func() error
			refused string // what the error says; empty: it is done
		}{
			{"add", func() error { return a.Add(ctx, reader, password, o) }, ""},
			{"add twice", func() error { return a.Add(ctx, reader, password, o) }, "there is such an account already"},
			{"a long reason", func() error { return a.Add(ctx, reader, password, Order{By: "ann@host", Reason: o.Reason + "é"}) }, "the reason has 501 characters"},
			{"a name with capitals", func() error { return a.Add(ctx, Person{Name: "Ben", Role: Reader}, password, o) }, "is no name"},
			{"a name with a line end", func() error { return a.Add(ctx, Person{Name: "ben\r\nx", Role: Reader}, password, o) }, "is no name"},
			{"a long name", func() error { return a.Add(ctx, Person{Name: strings.Repeat("x", 65), Role: Reader}, password, o) }, "is no name"},
			{"a short password", func() error { return a.Add(ctx, Person{Name: "eve", Role: Reader}, "éééééé", o) }, "too short"},
			{"a long password", func() error { return a.SetPassword(ctx, "ben", strings.Repeat("x", maxPassword+1), o) }, "too long"},
			{"a password of bytes", func() error { return a.SetPassword(ctx, "ben", strings.Repeat("\xff", 20), o) }, "no UTF-8"},
			{"a producer of nothing", func() error { return a.Add(ctx, Person{Name: "eve", Role: Producer}, password, o) }, "say which"},
			{"a producer of an unknown centre", func() error { return a.Add(ctx, Person{Name: "eve", Role: Producer, Centre: "X"}, password, o) }, "there is no centre"},
			{"a reader of a centre", func() error { return a.Edit(ctx, Person{Name: "ben", Role: Reader, Centre: "Ics"}, o) }, "only a producer"},
			{"edit", func() error { return a.Edit(ctx, Person{Name: "ben", Role: Producer, Centre: "ICS"}, o) }, ""},
			{"edit nobody", func() error { return a.Edit(ctx, Person{Name: "eve", Role: Reader}, o) }, "no such account"},
			{"password", func() error { return a.SetPassword(ctx, "ben", password, o) }, ""},
			{"disable", func() error { return a.Disable(ctx, "ben", o) }, ""},
			{"enable", func() error { return a.Enable(ctx, "ben", o) }, ""},
			{"disable nobody", func() error { return a.Disable(ctx, "'; DROP TABLE control.account", o) }, "is no name"},
			{"remove", func() error { return a.Remove(ctx, "ben", o) }, ""},
			{"remove twice", func() error { return a.Remove(ctx, "ben", o) }, "no such account"},
			{"token", func() error {
				_, err := a.AddToken(ctx, Person{Name: "nightly", Role: Reader}, time.Hour, o)
				return err
			}, ""},
			{"token twice", func() error {
				_, err := a.AddToken(ctx, Person{Name: "nightly", Role: Reader}, time.Hour, o)
				return err
			}, "another name"},
			{"token for ever", func() error {
				_, err := a.AddToken(ctx, Person{Name: "x", Role: Reader}, maxTokenLife+1, o)
				return err
			}, "366 days"},
			{"token for no time", func() error { _, err := a.AddToken(ctx, Person{Name: "x", Role: Reader}, 0, o); return err }, "366 days"},
			{"revoke", func() error { return a.RevokeToken(ctx, "nightly", o) }, ""},
			{"revoke twice", func() error { return a.RevokeToken(ctx, "nightly", o) }, "no such token"},
			{"link", func() error { _, err := a.AddLink(ctx, Wrangler, o); return err }, ""},
			{"link of a producer", func() error { _, err := a.AddLink(ctx, Producer, o); return err }, "not for a producer"},
			{"links", func() error { _, _, err := a.EndLinks(ctx, o); return err }, ""},
		} {
			err := tt.order()
			if tt.refused == "" && err != nil || tt.refused != "" && (!Refused(err) || !strings.Contains(err.Error(), tt.refused)) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.refused)
			}
		}
		clock.move(tokensKept + time.Second)
		if _, err := a.AddToken(ctx, Person{Name: "nightly", Role: Reader}, time.Hour, o); err != nil {
			t.Errorf("the name of a token that was over long ago: %v", err)
		}
		written, err := control.AccountChanges(context.Background(), a.Pool, control.AccountChangeFilter{Limit: 100})
		must(t, err)
		var got []string
		for i := len(written) - 1; i >= 0; i-- {
			got = append(got, written[i].Subject+" "+written[i].What)
			if w := written[i]; w.ChangedBy != "ann@host" || w.Reason != o.Reason {
				t.Errorf("written down: %+v", w)
			}
			written[i].Number = 0 // which the rows count
		}
		want := []string{"ben added: reader", "ben reader → producer of Ics", "ben password set", "ben disabled", "ben enabled", "ben removed",
			"token:nightly added: reader, until 2026-03-01T13:00:00Z", "token:nightly revoked", "link:ann@host made: wrangler", "links ended: 1 links, 0 logins",
			"token:nightly added: reader, until 2026-05-30T13:00:01Z"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what is written down (-want +got):\n%s", diff)
		}
		slices.Reverse(told)
		if diff := cmp.Diff(written, told); diff != "" {
			t.Errorf("what is told (-written +told):\n%s", diff)
		}
	})
}

func TestPasswords(t *testing.T) {
	stored := usual().stored("caf\u00e9 au lait noir")
	for candidate, want := range map[string]bool{"caf\u00e9 au lait noir": true, "cafe\u0301 au lait noir": true, "cafe au lait noir": false, "": false} {
		if got, err := isPassword(stored, candidate); got != want || err != nil {
			t.Errorf("%q: %v, %v", candidate, got, err)
		}
	}
	if again := usual().stored("caf\u00e9 au lait noir"); again == stored {
		t.Error("two hashes of a password are the same: there is no salt")
	}
	// What would take all memory, or is none of ours.
	for _, hash := range []string{"", "x", "$$$$$", strings.Replace(stored, "m=19456", "m=4194304", 1), strings.Replace(stored, "t=2", "t=0", 1), strings.Replace(stored, "t=2", "t=999", 1),
		strings.Replace(stored, "p=1", "p=0", 1), strings.Replace(stored, "argon2id", "argon2i", 1), strings.Replace(stored, "v=19", "v=16", 1), stored[:len(stored)-4], strings.Replace(stored, "m=19456", "m=-1", 1)} {
		if got, err := isPassword(hash, password); got || err == nil || strings.Contains(err.Error(), hash) && hash != "" && hash != "x" {
			t.Errorf("%q: %v, %v", hash, got, err)
		}
	}
}
