//go:build !race

package poll

import (
	"testing"
	"time"

	"tributary/schemas"
)

// A source that is removed leaves no poll and no file behind that waits for it,
// whichever state they were in, though no member is configured with it any more.
func TestARemovedSourceLeavesNothingBehind(t *testing.T) {
	for _, tt := range []struct {
		name  string
		state func(b *bench)
		polls string
	}{
		{"a poll is due", func(b *bench) { b.session() }, "complete \nfailed source_removed"},
		{"a poll was tried and is due again", func(b *bench) {
			b.session()
			b.exec("UPDATE control.poll SET attempts = 2, not_before = 'infinity', exception = 'connection_lost' WHERE state = 'due'")
		}, "complete \nfailed source_removed"},
		{"a poll is running elsewhere", func(b *bench) {
			b.session()
			b.take()
		}, "complete \nfailed source_removed"},
		{"no poll is open", func(*bench) {}, "complete "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.server.show(good, 10)
			b.server.show("notes.txt", 10)
			b.listing()
			b.now = b.now.Add(time.Second)
			tt.state(b)
			b.clear()
			if err := b.leave(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := b.events(); len(got) != 0 {
				t.Fatalf("what a source shows that is configured is ended: %v", b.said())
			}
			b.exec("UPDATE control.source SET state = 'removed'")
			if err := b.leave(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := b.text("SELECT state, exception FROM control.poll ORDER BY ended_at, id"); got != tt.polls {
				t.Errorf("polls are\n%s\nwant\n%s", got, tt.polls)
			}
			if got := b.text("SELECT count(*) FROM control.session WHERE polls_ended_at IS NULL"); got != "0" {
				t.Error("a session waits for polls")
			}
			if got := b.text("SELECT h.state, k.class, f.exception FROM control.hosting h, control.look k, control.file f"); got != "gone gone source_removed" {
				t.Errorf("the file that had not settled is %s", got)
			}
			if got := b.text("SELECT count(*) FROM control.ignored"); got != "0" {
				t.Errorf("%s names are kept", got)
			}
			ended := false
			for _, m := range b.events() {
				if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntityFile {
					ended = e.Status == string(schemas.Cancelled) && e.Exception == sourceRemoved
				}
			}
			if !ended {
				t.Errorf("nothing tells that the file has ended:\n%v", b.said())
			}
			b.clear()
			if err := b.leave(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.says()

			// It is configured again: what it shows is a new look.
			b.exec("UPDATE control.source SET state = 'available'")
			b.once = true
			b.listing()
			b.says("file "+good+" zip_name done", "hosting "+good+" look 2 present", "discovered "+good+" look 2 new", "task done")
		})
	}
}

// A source in maintenance is left alone: its polls end, whoever has them, and what
// it showed waits, as what is known of it does.
func TestASourceInMaintenanceIsLeftAlone(t *testing.T) {
	for name, state := range map[string]func(b *bench){
		"a poll is due":               func(b *bench) { b.session() },
		"a poll is running elsewhere": func(b *bench) { b.session(); b.take() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.server.show(good, 10)
			b.server.show("notes.txt", 10)
			b.listing()
			b.now = b.now.Add(time.Second)
			state(b)
			b.clear()
			b.exec("UPDATE control.source SET state = 'maintenance'")
			for range 2 {
				if err := b.leave(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := b.text("SELECT state, exception FROM control.poll ORDER BY ended_at, id"), "complete \nfailed "+sourceUnavailable; got != want {
				t.Errorf("polls are\n%s\nwant\n%s", got, want)
			}
			if got := b.text("SELECT count(*) FROM control.session WHERE polls_ended_at IS NULL"); got != "0" {
				t.Error("a session waits for polls")
			}
			b.says("task failed " + sourceUnavailable)
			if got := b.text("SELECT h.state, k.class, f.exception, (SELECT count(*) FROM control.ignored) FROM control.hosting h, control.look k, control.file f"); got != "present unsettled  1" {
				t.Errorf("what it showed is %s", got)
			}
		})
	}
}

// A member whose poll's source was removed records nothing more.
func TestAPollOfARemovedSourceIsSilent(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.server.show(good, 10)
	b.session()
	p, _ := b.take()
	b.server.after = func() {
		b.exec("UPDATE control.source SET state = 'removed'")
		if err := b.leave(t.Context()); err != nil {
			t.Error(err)
		}
		b.clear()
	}
	b.one(t.Context(), p)
	b.says()
	if got := b.text("SELECT state, exception FROM control.poll"); got != "failed source_removed" {
		t.Errorf("the poll is %s", got)
	}
}

// A file that no source shows any more, and that nobody fetched, has ended: else
// it would be pending for ever. One that another source shows goes on.
func TestAFileGoneBeforeItWasFetchedHasEnded(t *testing.T) {
	b := newBench(t)
	b.server.show(good, 10)
	b.server.show(good2, 10)
	b.listing()
	b.exec("INSERT INTO control.hosting (source, file, action, name, look, size, listed_at, settled, state) SELECT 'elsewhere', file, action, name, 1, size, listed_at, true, 'present' FROM control.hosting WHERE name = $1", good2)
	b.server.hide(good)
	b.server.hide(good2)
	for range b.cfg.GoneAfter {
		b.listing()
	}
	if got := b.text("SELECT name, exception FROM control.file ORDER BY name"); got != good+" gone\n"+good2+" " {
		t.Errorf("files are\n%s", got)
	}
	var ended []string
	for _, m := range b.events() {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntityFile {
			ended = append(ended, e.FileName+" "+e.Status+" "+e.Exception)
		}
	}
	if len(ended) != 1 || ended[0] != good+" cancelled gone" {
		t.Errorf("files told to have ended: %v", ended)
	}
	// It comes and goes again: each time is told.
	ids := map[string]bool{}
	for range 3 {
		b.server.show(good, 10)
		b.listing()
		b.says("file "+good+" zip_name done", "hosting "+good+" look "+b.text("SELECT look FROM control.hosting WHERE source = 'src' AND name = $1", good)+" present unsettled", "task done")
		for _, m := range b.events() {
			if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntityFile {
				ids[m.ID] = true
			}
		}
		b.server.hide(good)
		for range b.cfg.GoneAfter {
			b.listing()
		}
	}
	if len(ids) != 3 {
		t.Errorf("%d of three events are known by their ids", len(ids))
	}
}
