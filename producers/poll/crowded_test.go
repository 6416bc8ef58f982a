//go:build !race

package poll

import (
	"fmt"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/internal/remote"
	exceptions "tributary/schemas/exception"
)

// A source that shows more than its max_entries is suspended at once, and nothing of
// it is taken, whatever else suspends sources; once it shows no more, or may show more,
// it is taken up.
func TestASourceThatShowsTooMuchIsSuspended(t *testing.T) {
	b := newBench(t)
	b.cfg.SuspendAfter, b.cfg.ProbeInterval, b.once = 0, config.Duration(time.Hour), true
	src := b.defined()
	src.MaxEntries = 3
	b.define(src)
	b.server.show(good, 1)
	b.server.dirs["edit"] = []remote.Entry{{Name: "old", Kind: remote.Dir}, {Name: "readme.txt"}}
	if got := b.listing(); got != "complete" {
		t.Fatalf("a listing of as many as are allowed is %s", got)
	}
	b.server.show(good2, 1)
	b.now = b.now.Add(time.Minute)
	if got := b.listing(); got != "failed" || b.text("SELECT exception FROM control.poll ORDER BY ended_at DESC LIMIT 1") != "too_many_entries" {
		t.Fatalf("a listing of more is %s: %s", got, b.text("SELECT exception, message FROM control.poll"))
	}
	if got := b.text("SELECT name, misses FROM control.hosting"); got != good+" 0" {
		t.Errorf("something is taken of it, or gone because of it: %s", got)
	}
	if got := b.text("SELECT state, suspended_why FROM control.source"); !strings.HasPrefix(got, "suspended too_many_entries: the source lists more than 3 entries") {
		t.Errorf("the source is %s", got)
	}
	if due := b.text("SELECT next_due FROM control.source"); due != b.now.Add(time.Hour).String() {
		t.Errorf("it is probed at %s", due)
	}
	b.server.dirs["edit"] = nil
	b.now = b.now.Add(time.Hour)
	if got := b.listing(); got != "complete" || b.text("SELECT state FROM control.source") != "available" || b.text("SELECT count(*) FROM control.hosting") != "2" {
		t.Errorf("what shows no more is %s, and the source %s", got, b.text("SELECT state, suspended_why FROM control.source"))
	}
}

// Refused logins suspend a source after a few, and soon: more of them may lock the
// account. Other errors suspend it as ever, and where nothing shall, these don't either.
func TestRefusedLoginsSuspendSooner(t *testing.T) {
	refused := &remote.Error{Op: remote.OpLogin, Class: remote.Auth, Err: &textproto.Error{Code: 530, Msg: "Login incorrect"}}
	for name, c := range map[string]struct {
		after int
		fails error
		want  string
	}{
		"refused logins":             {10, refused, "suspended"},
		"servers that don't answer":  {10, fmt.Errorf("no answer"), "available"},
		"where nothing is suspended": {0, refused, "available"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.cfg.Attempts, b.cfg.SuspendAfter = 1, c.after
			b.server.dial = c.fails
			for i := range 3 {
				if got := b.text("SELECT state FROM control.source"); got != "available" {
					t.Errorf("after %d polls it is %s", i, got)
				}
				b.now = b.now.Add(time.Minute)
				b.listing()
			}
			if got := b.text("SELECT state FROM control.source"); got != c.want {
				t.Errorf("after three polls it is %s, want %s", got, c.want)
			}
		})
	}
}

// The classes that have numbers are classes of errors.
func TestClassesOfTheConfiguration(t *testing.T) {
	known := map[string]bool{}
	for _, c := range exceptions.Classes() {
		known[c.Name] = true
	}
	all := config.ByClass{Address: 1, Timeout: 1, Server: 1, Connection: 1, Authorization: 1}.Numbers()
	if len(all) != 5 {
		t.Errorf("they are %v", all)
	}
	for name := range all {
		if !known[name] {
			t.Errorf("%s is no class", name)
		}
	}
	if d := cmp.Diff(map[string]int{"server": 2}, config.ByClass{Server: 2}.Numbers()); d != "" {
		t.Errorf("numbers (- want, + got):\n%s", d)
	}
}
