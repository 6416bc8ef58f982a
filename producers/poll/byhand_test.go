//go:build !race

package poll

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox/outboxtest"
)

// TestAnnounceByHand goes through what a person may announce, and holds that the
// announcement is taken up as any other program's, once.
func TestAnnounceByHand(t *testing.T) {
	b := newBench(t)
	b.server.show(good, 10)
	b.server.dirs["edit"] = []remote.Entry{{Name: "folder", Kind: remote.Dir}, {Name: good2, Size: -1, Invalid: "listing_entry_invalid", Message: "its size is no number"}}
	paths := []string{"add/" + good, "add/" + good2, "edit/folder", "edit/" + good2, good, "other/" + good, "add/../" + good}
	const noPath = "it is no path of a file: write add/NAME, edit/NAME or delete/NAME"
	want := []ByHand{
		{Path: "add/" + good, Announced: true, Size: 10},
		{Path: "add/" + good2, Detail: "the source has no such file"},
		{Path: "edit/folder", Detail: "it is no regular file"},
		{Path: "edit/" + good2, Detail: "its size is no number"},
		{Path: good, Detail: noPath},
		{Path: "other/" + good, Detail: noPath},
		{Path: "add/../" + good, Detail: noPath},
	}
	var ids, orders []string
	for n := range 2 {
		by := control.Decision{By: "ann", Reason: "mice", At: b.now.Add(time.Duration(n) * time.Second)}
		got, err := announce(t.Context(), b.deps.Pool, b.deps.Outbox, b.server, "src", paths, by)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("announced (- want, + got):\n%s", d)
		}
		for _, m := range outboxtest.Drain(t, b.deps.Pool, control.Schema, b.deps.Outbox.Codec) {
			if told, ok := m.Body.(*schemas.StatusChanged); ok {
				orders = append(orders, m.ID+" "+told.Entity+" "+m.Subject+" "+told.Message+" "+told.Attributes["by"]+" "+told.Attributes["announcement"])
				continue
			}
			body, ok := m.Body.(*schemas.FileDiscovered)
			if !ok || m.Topic != schemas.FileDiscoveredTopic {
				t.Fatalf("an event of %s was written", m.Topic)
			}
			ids = append(ids, m.ID)
			if v, _ := b.announce(b.announcer(), func(a *control.Announcement) {
				*a = control.Announcement{ID: m.ID, Source: body.Source, File: body.File, Name: body.FileName, Action: body.Action, Change: body.Change, Size: body.Size, ModTime: body.ModTime}
			}); v.TakenUp == v.Repeated || v.Repeated != (len(ids) > 1) {
				t.Errorf("announcement %d became %+v", len(ids), v)
			}
		}
	}
	if len(ids) != 2 || ids[0] != ids[1] {
		t.Errorf("the announcements are %v: said again they are the same", ids)
	}
	if len(orders) != 2 || orders[0] == orders[1] || !strings.HasSuffix(orders[1], " announcement add/"+good+" announced at src by ann: mice ann "+ids[0]) {
		t.Errorf("who ordered it is told as %q", orders)
	}
	b.server.fail = errors.New("the connection is lost")
	var lost *UnreachableError
	if _, err := announce(t.Context(), b.deps.Pool, b.deps.Outbox, b.server, "src", paths, control.Decision{By: "ann", At: b.now}); !errors.As(err, &lost) {
		t.Errorf("a lost connection is %v", err)
	}
}
