//go:build !race

package poll

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox/outboxtest"
)

const announcedName = "H.2012-10-02.1.impc.zip"

// announce has an announcement judged and committed, and returns what became of it
// with the events that were told, as entity, exception and file.
func (b *bench) announce(n *Announcer, edit func(*control.Announcement)) (control.Judgement, []string) {
	b.t.Helper()
	at := noon.Add(-time.Hour)
	a := control.Announcement{ID: uuid.NewString(), Source: "src", Name: announcedName, Action: "add", Change: "new", Size: 10, ModTime: &at}
	if edit != nil {
		edit(&a)
	}
	var judged []control.Judgement
	err := pg.InTx(b.t.Context(), b.deps.Pool, func(tx pgx.Tx) (err error) {
		judged, err = n.Judge(b.t.Context(), tx, []control.Announcement{a})
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	n.Committed(judged)
	var told []string
	for _, m := range outboxtest.Drain(b.t, b.deps.Pool, control.Schema, b.deps.Outbox.Codec) {
		e, ok := m.Body.(*schemas.StatusChanged)
		if !ok {
			b.t.Errorf("an event of %s was written", m.Topic)
			continue
		}
		told = append(told, strings.TrimSpace(e.Entity+" "+e.Exception))
	}
	return judged[0], told
}

func (b *bench) announcer() *Announcer {
	b.t.Helper()
	b.exec(`INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision) VALUES
		('old', 'H', 'srv:22', 'sftp', '', 1, '1h', 'removed', 1), ('undefined', 'H', 'srv:22', 'sftp', '', 1, '1h', 'available', 1) ON CONFLICT DO NOTHING`)
	outboxtest.Drain(b.t, b.deps.Pool, control.Schema, b.deps.Outbox.Codec)
	return &Announcer{Profile: b.deps.Profile, Centres: b.deps.Centres, Outbox: b.deps.Outbox, Now: func() time.Time { return b.now }}
}

// TestWhatIsAnnouncedIsTakenUpOrRefused goes through the rules one by one.
func TestWhatIsAnnouncedIsTakenUpOrRefused(t *testing.T) {
	year := func(y int) *time.Time { at := time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC); return &at }
	for name, tc := range map[string]struct {
		edit    func(*control.Announcement)
		refused string
		told    []string // none: one event of the entity announcement, with the exception
	}{
		"sound":                      {nil, "", []string{"file", "hosting"}},
		"without a time":             {func(a *control.Announcement) { a.ModTime = nil }, "", []string{"file", "hosting"}},
		"with the id of its file":    {func(a *control.Announcement) { a.File = schemas.FileID("add", announcedName) }, "", []string{"file", "hosting"}},
		"changed":                    {func(a *control.Announcement) { a.Change = "changed" }, "", []string{"file", "hosting"}},
		"a name that breaks a rule":  {func(a *control.Announcement) { a.Name = "odd.zip" }, "zip_name_pattern", []string{"file zip_name_pattern", "hosting"}},
		"a centre that is not known": {func(a *control.Announcement) { a.Name = "Nowhere.2012-10-02.1.impc.zip" }, "zip_name_centre", []string{"file zip_name_centre", "hosting"}},
		"no source":                  {func(a *control.Announcement) { a.Source = "" }, sourceUnknown, nil},
		"an unknown source":          {func(a *control.Announcement) { a.Source = "nosuch" }, sourceUnknown, nil},
		"a source not defined yet":   {func(a *control.Announcement) { a.Source = "undefined" }, sourceUnknown, nil},
		"a removed source":           {func(a *control.Announcement) { a.Source = "old" }, sourceGone, nil},
		"no action":                  {func(a *control.Announcement) { a.Action = "" }, actionUnknown, nil},
		"an action that leads away":  {func(a *control.Announcement) { a.Action = "../.." }, actionUnknown, nil},
		"gone":                       {func(a *control.Announcement) { a.Change = "gone" }, goneAnnounced, nil},
		"another change":             {func(a *control.Announcement) { a.Change = "moved" }, changeUnknown, nil},
		"no name":                    {func(a *control.Announcement) { a.Name = "" }, announcedNotSound, nil},
		"a name that was cleaned":    {func(a *control.Announcement) { a.Name = "H\uFFFD.zip" }, announcedNotSound, nil},
		"a name that turns round":    {func(a *control.Announcement) { a.Name = "H.\u202epiz.zip" }, announcedNotSound, nil},
		"a long name":                {func(a *control.Announcement) { a.Name = strings.Repeat("n", 1025) + ".zip" }, announcedNotSound, nil},
		"another file's id":          {func(a *control.Announcement) { a.File = schemas.LiveRun }, fileMismatch, nil},
		"an id that is none":         {func(a *control.Announcement) { a.File = "x" }, fileMismatch, nil},
		"a negative size":            {func(a *control.Announcement) { a.Size = -1 }, announcedNotSound, nil},
		"the least size":             {func(a *control.Announcement) { a.Size = -1 << 63 }, announcedNotSound, nil},
		"a time in the year 0":       {func(a *control.Announcement) { a.ModTime = year(0) }, announcedNotSound, nil},
		"a time far ahead":           {func(a *control.Announcement) { a.ModTime = year(20000) }, announcedNotSound, nil},
		"another centre's file":      {func(a *control.Announcement) { a.Name = "J" + strings.TrimPrefix(announcedName, "H") }, centreNotHosted, nil},
		"one that a filter excludes": {func(a *control.Announcement) { a.Action = "delete" }, announcedFiltered, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", Filters: config.Filters{{Exclude: "delete/*"}}})
			n := b.announcer()
			want := tc.told
			if want == nil {
				want = []string{schemas.EntityAnnouncement + " " + tc.refused}
			}
			v, told := b.announce(n, tc.edit)
			if v.Refused != tc.refused || v.TakenUp != (tc.refused == "") {
				t.Errorf("it became %+v", v)
			}
			if d := cmp.Diff(want, told); d != "" {
				t.Errorf("events (- want, + got):\n%s", d)
			}
			if got := text1(t, b.deps.Pool, "SELECT count(*) FROM control.look WHERE class = 'announced' AND session IS NULL"); (strings.TrimSpace(got) == "1") != v.TakenUp {
				t.Errorf("looks: %s", got)
			}
			if again, told := b.announce(n, tc.edit); again.TakenUp || len(told) > 0 || tc.refused == "" && !again.Repeated {
				t.Errorf("said again it became %+v, and was told as %v", again, told)
			}
		})
	}
}

// TestAnnouncementsBesidePolls holds that an announcement and a poll tell of one
// look, whichever comes first, and that an old announcement changes nothing.
func TestAnnouncementsBesidePolls(t *testing.T) {
	b := newBench(t)
	b.server.show(announcedName, 10)
	b.listing()
	n := b.announcer()
	if v, told := b.announce(n, nil); !v.TakenUp || v.Look != 1 { // the poll waits for it to settle
		t.Fatalf("an unsettled look became %+v, %v", v, told)
	}
	b.exec("UPDATE control.look SET class = 'taken'")
	b.server.show(announcedName, 20)
	b.now = b.now.Add(time.Hour)
	b.listing()
	b.clear()
	before := text1(t, b.deps.Pool, "SELECT look, size, state FROM control.hosting")
	for range 2 {
		if v, told := b.announce(n, nil); !v.Repeated || len(told) > 0 {
			t.Errorf("an old announcement became %+v, %v", v, told)
		}
		if v, told := b.announce(n, func(a *control.Announcement) { a.Size = -1 }); v.Refused == "" {
			t.Errorf("nonsense became %+v, %v", v, told)
		}
	}
	if after := text1(t, b.deps.Pool, "SELECT look, size, state FROM control.hosting"); after != before {
		t.Errorf("the hosting was %s, and is %s", before, after)
	}
	if v, _ := b.announce(n, func(a *control.Announcement) { a.Size = 30 }); !v.TakenUp || v.Look != 3 {
		t.Errorf("new bytes became %+v", v)
	}
}

// TestToldRefusalsAreBounded holds that whoever announces nonsense without end does
// not fill the log with it.
func TestToldRefusalsAreBounded(t *testing.T) {
	b := newBench(t)
	n := b.announcer()
	n.told = map[string]bool{}
	for i := range maxTold - 1 {
		n.told[string(rune(i))] = true
	}
	for i, want := range []int{1, 0, 0} {
		v, told := b.announce(n, func(a *control.Announcement) { a.Source = strings.Repeat("x", i+1) })
		if v.Refused != sourceUnknown || len(told) != want {
			t.Errorf("refusal %d: %+v, told %v", i, v, told)
		}
	}
}
