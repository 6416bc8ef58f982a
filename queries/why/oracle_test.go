package why_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/queries/report"
	"tributary/queries/why"
	"tributary/schemas"
	"tributary/sql/control"
)

// oracle counts what was asked: which paths at which sources.
type oracle struct {
	*world
	asked    map[string]bool
	verdicts map[why.Verdict]int
}

// want asks about a path at a source, and expects one answer: the verdict, and what
// the test knows from what it did.
func (o *oracle) want(source, path string, verdict why.Verdict, told ...string) why.Answer {
	o.t.Helper()
	answers, _, err := o.asker.Ask(o.t.Context(), source, path)
	if err != nil {
		o.t.Errorf("why %s %.80q: %v", source, path, err)
		return why.Answer{}
	}
	if len(answers) != 1 {
		o.t.Errorf("why %s %.80q has %d answers", source, path, len(answers))
		return why.Answer{}
	}
	a := answers[0]
	said := text(o.t, a)
	if a.Verdict != verdict {
		o.t.Errorf("why %s %.80q: verdict %s, want %s:\n%s", source, path, a.Verdict, verdict, said)
	}
	var line strings.Builder
	if err := report.NewEncoder(&line).Encode(a); err != nil {
		o.t.Fatal(err)
	}
	for _, safe := range []string{said, line.String()} { // whatever was asked, and whatever servers chose
		if schemas.Clean(safe) != safe || len(safe) > 8000 {
			o.t.Errorf("why %.80q %.80q does harm with %d bytes: %q", source, path, len(safe), safe)
		}
	}
	for _, want := range told {
		if !strings.Contains(said, want) {
			o.t.Errorf("why %s %.80q does not tell %q:\n%s", source, path, want, said)
		}
	}
	o.asked[source+" "+path] = true
	o.verdicts[a.Verdict]++
	return a
}

func text(t *testing.T, a why.Answer) string {
	t.Helper()
	var b strings.Builder
	if err := a.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// zip is the name of a file of a centre.
func zip(centre string, n int) string { return fmt.Sprintf("%s.2026-01-02.%d.impc.zip", centre, n) }

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// Paths in as many states as can be made, by the program's own poller, planner and
// statements: of each the answer is what the test knows from what it did.
func TestWhyAgainstWhatWasDone(t *testing.T) {
	o := &oracle{world: newWorld(t), asked: map[string]bool{}, verdicts: map[why.Verdict]int{}}
	for _, group := range []struct {
		name string
		do   func(o *oracle)
	}{
		{"sources that were never listed", neverListed}, {"listings", listings}, {"names", names}, {"windows", closed}, {"what is passed over", passedOver}, {"failed listings", failedListings}, {"minimal polls", minimalPolls},
		{"sources at rest", atRest}, {"more than one poll takes", tooMany}, {"more than one day takes", tooManyForADay}, {"found", found}, {"at several sources", several}, {"fetching", fetching}, {"the same bytes", sameBytes}, {"by hand", ordered},
		{"sources that come to rest", comeToRest}, {"credit", credit}, {"batches", batches}, {"inserted", insertion}, {"replays", replays}, {"the tracker alone", trackerAlone}, {"late", late},
	} {
		t.Run(group.name, func(t *testing.T) {
			before := o.t
			o.t = t
			defer func() { o.t = before }()
			group.do(o)
		})
	}
	if len(o.asked) < 80 {
		t.Errorf("only %d paths were asked about", len(o.asked))
	}
	for _, v := range why.Verdicts() {
		if o.verdicts[v.Verdict] == 0 {
			t.Errorf("no path was brought to %s", v.Verdict)
		}
	}
	t.Logf("%d paths, %d verdicts", len(o.asked), len(o.verdicts))
}

func neverListed(o *oracle) {
	o.want("nowhere", "add/"+zip("H", 1), why.SourceUnknown, "no source nowhere")
	o.want("", "add/"+zip("H", 1), why.NoSource, "of the centre H")
	o.source("fresh", "H")
	o.want("fresh", "add/"+zip("H", 1), why.NeverPolled, "no poll of fresh has ended", "it is due")
	o.want("", zip("H", 1), why.NeverPolled, "fresh")
	o.want("fresh", "archive/"+zip("H", 1), why.OutsideDirectories, "archive/H.2026")
	o.want("fresh", "/srv/fresh/archive/add/"+zip("H", 1), why.OutsideDirectories, "archive/add/H.2026")
	o.want("fresh", "/srv/fresh/"+zip("H", 1), why.NeverPolled)
	n := o.open("fresh")
	o.want("fresh", "edit/"+zip("H", 1), why.NeverPolled, fmt.Sprintf("a poll of fresh waits for a member (session %d)", n))
	o.run()
	o.read(true)
	o.want("fresh", "edit/"+zip("H", 1), why.NotListed, stamp(o.Clock))
}

func listings(o *oracle) {
	s := o.source("listed", "H", func(s *control.Source) { s.Hosts = append(s.Hosts, "J", "Ics/edit") })
	for n := range 5 {
		s.show("add/"+zip("H", 10+n), 10)
	}
	n := o.listed("listed")
	done := fmt.Sprintf("%s  listed was listed completely (session %d): 5 files, and 0 entries passed over", stamp(o.Clock), n)
	for _, path := range []string{"add/" + zip("H", 9), "edit/" + zip("H", 10), "delete/" + zip("H", 10), zip("J", 1), "file:///srv/listed/add/" + zip("H", 8), "/srv/listed/delete/" + zip("J", 2), "edit/" + zip("Ics", 1)} {
		o.want("listed", path, why.NotListed, done, "tributary sources poll listed")
	}
	o.want("fresh", "add/"+zip("H", 10), why.NotListed, "queued: add/"+zip("H", 10)+" waits for its turn to be requested from listed")
	o.want("listed", zip("Ics", 2), why.NotListed) // in one of the directories it would be taken
	o.want("listed", zip("Ucd", 2), why.WouldBeRefused, "hosts: [J, {centre: Ics, actions: [edit]}, Ucd]")
	o.want("listed", "add/"+zip("Ics", 1), why.WouldBeRefused, "hosts: [J, {centre: Ics, actions: [edit, add]}]", "rule: centre_not_hosted_here")
	o.want("listed", "add/"+zip("Ucd", 1), why.WouldBeRefused, "may not show files of the centre Ucd")
}

func names(o *oracle) {
	s := o.source("badly", "H")
	rules := map[string]string{
		"notes.zip": "zip_name_pattern", "H.2026-02-30.1.impc.zip": "zip_name_date", "Nobody.2026-01-02.1.impc.zip": "zip_name_centre", "H.2026-01-02.1.impc.ZIP": "zip_name_extension",
		"H.2026-01-02.1\x1b[31m.impc.zip": "zip_name_pattern", "H.2026-01-02.1\u202egnp.zip": "zip_name_pattern", strings.Repeat("long", 1024) + ".zip": "zip_name_pattern", "no \xff text.zip": "zip_name_pattern",
	}
	for name, rule := range rules {
		o.want("badly", "add/"+name, why.WouldBeRefused, "never listed by badly", "rule: "+rule)
		o.want("", name, why.WouldBeRefused, "rule: "+rule)
		s.show("add/"+name, 10)
	}
	s.show("add/"+zip("Ics", 3), 10)
	s.dirs["add"] = append(s.dirs["add"], remote.Entry{Name: zip("H", 20), Size: 1, ModTime: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)})
	o.open("badly")
	o.run()
	o.read(true)
	for name, rule := range rules {
		o.want("badly", "add/"+name, why.NameRefused, "breaks the rule "+rule)
		o.want("", name, why.NameRefused, "breaks the rule "+rule)
	}
	o.want("badly", "\x1b[31m\u202e"+strings.Repeat("long", 1024)+"/"+zip("H", 21), why.OutsideDirectories, `\x1b[31m\u202e`)
	o.want("no \xff text\x1b[31m", "add/"+zip("H", 21), why.SourceUnknown, "no \uFFFD text"+`\x1b[31m`)
	o.want("badly", "add/"+zip("Ics", 3), why.CentreNotHostedHere, "hosts: [Ics]")
	o.want("badly", "add/"+zip("H", 20), why.EntryRefused, "entry_refused: its time is in the year 20000")
}

func closed(o *oracle) {
	o.source("nightly", "H").dirs["add"] = []remote.Entry{{Name: zip("H", 36), Size: 1}}
	opens := o.Clock.Add(3 * time.Hour)
	o.Exec("UPDATE control.source SET opens = $1, closes = $2 WHERE id = 'nightly'", opens, opens.Add(time.Hour))
	o.want("nightly", "add/"+zip("H", 36), why.SourceClosed, "the window opens at "+stamp(opens))
}

func passedOver(o *oracle) {
	s := o.source("odd", "H")
	s.dirs["add"] = []remote.Entry{{Name: zip("H", 30), Kind: remote.Dir}, {Name: "link.zip", Kind: remote.Other}, {Name: "readme.txt", Size: 1}, {Name: "a.txt"}, {Name: "b.txt"}, {Name: "c.txt"}, {Name: zip("H", 31), Kind: remote.Dir}}
	t := o.source("twice", "H")
	t.dirs["edit"] = []remote.Entry{{Name: zip("H", 32), Size: 1}, {Name: "x.zip", Size: 1}, {Name: "x.zip", Size: 2}}
	o.source("filtering", "H").dirs["add"] = []remote.Entry{{Name: zip("H", 33), Size: 1}}
	o.Exec(`UPDATE control.source SET definition = definition || '{"filters": [{"exclude": "add/*"}]}' WHERE id = 'filtering'`)
	o.open("odd", "twice", "filtering")
	o.run()
	o.read(true)
	o.want("odd", "add/"+zip("H", 30), why.Ignored, "it is a directory", "rule: directory")
	o.want("odd", "add/link.zip", why.Ignored, "no regular file", "rule: not_a_regular_file")
	o.want("odd", "readme.txt", why.Ignored, "add/readme.txt", "rule: not_zip")
	o.want("", "add/readme.txt", why.Ignored, "odd shows add/readme.txt")
	o.want("filtering", "add/"+zip("H", 33), why.Filtered, "rule: exclude: add/*")
	o.want("filtering", zip("H", 33), why.Filtered, "rule: exclude: add/*")
	o.want("filtering", "edit/"+zip("H", 33), why.NotListed)
	cut := "passed over 7 entries, of which the names of the first 3 are kept"
	o.want("odd", "add/b.txt", why.WouldBeRefused, "rule: not_zip", cut)
	o.want("odd", "add/"+zip("H", 31), why.NotListed, cut)
	o.want("twice", "edit/readme.txt", why.WouldBeRefused, "rule: not_zip")
	if got := o.Text("SELECT reason AS q FROM control.ignored WHERE source = 'twice'"); got != "repeated" {
		o.t.Fatalf("twice passes over %s", got)
	}
	o.want("twice", "edit/x.zip", why.NameRefused, "zip_name_pattern") // the first entry counts
}

func failedListings(o *oracle) {
	o.source("down", "H").down = true
	breaks := o.source("breaks", "H")
	breaks.show("add/"+zip("H", 40), 10)
	breaks.fail = errors.New("lost the connection")
	o.source("lately", "H")
	o.open("lately")
	o.run()
	complete := o.Clock
	o.Clock = o.Clock.Add(time.Minute)
	o.servers["lately"].down = true
	n := o.open("down", "breaks", "lately")
	o.run()
	o.read(true)
	o.want("down", "add/"+zip("H", 41), why.ListingFailed, "the last poll failed with base_missing", fmt.Sprintf("%s  the last poll of down failed (session %d)", stamp(o.Clock), n))
	o.want("breaks", "add/"+zip("H", 41), why.ListingFailed, "broke off with", "lost the connection")
	o.want("breaks", "add/"+zip("H", 40), why.Unsettled, "the last poll of breaks broke off", stamp(o.Clock.Add(30*time.Second)))
	o.want("lately", "add/"+zip("H", 41), why.NotListed, stamp(complete), "the last poll of lately failed", "base_missing")
}

func minimalPolls(o *oracle) {
	s := o.source("sparing", "H")
	for _, action := range schemas.Actions() {
		s.dirs[""] = append(s.dirs[""], remote.Entry{Name: action, Kind: remote.Dir, Size: -1, ModTime: o.Clock.Add(-time.Hour), Precision: time.Second})
	}
	o.Exec(`UPDATE control.source SET definition = definition || '{"complete_every": "24h"}' WHERE id = 'sparing'`)
	var complete time.Time
	for n := range 4 { // the last two are minimal
		o.open("sparing")
		o.run()
		if n == 1 {
			complete = o.Clock
		}
		o.Clock = o.Clock.Add(time.Minute)
	}
	o.read(true)
	o.want("sparing", "add/"+zip("H", 45), why.NotListed, stamp(complete), "since then 2 polls of it passed over directories", "tributary sources poll sparing")
}

func atRest(o *oracle) {
	for id, state := range map[string]string{"mended": "maintenance", "ill": "suspended", "past": "removed"} {
		o.source(id, "H")
		o.open(id)
		o.run()
		o.set(id, state)
	}
	o.read(true)
	o.want("mended", "add/"+zip("H", 50), why.SourceMaintenance, "tributary sources resume mended")
	o.want("ill", "add/"+zip("H", 50), why.SourceSuspended, "login_failed: no", stamp(o.Clock)+"  ill is suspended")
	o.want("past", "add/"+zip("H", 50), why.SourceRemoved)
	o.source("crowded", "H").dirs["add"] = []remote.Entry{{Name: zip("H", 50), Size: 1}, {Name: zip("H", 51), Size: 1}, {Name: "old", Kind: remote.Dir}}
	o.Exec(`UPDATE control.source SET definition = definition || '{"max_entries": 2}' WHERE id = 'crowded'`)
	o.open("crowded")
	o.run()
	o.want("crowded", "add/"+zip("H", 50), why.SourceSuspended, "too_many_entries: the source lists more than 2 entries", "tributary sources resume crowded")
	o.source("imported", "H")
	o.Exec(`UPDATE control.source SET definition = definition || '{"cron": "@once"}' WHERE id = 'imported'`)
	o.want("imported", "add/"+zip("H", 50), why.NeverPolled, "it is due")
	o.open("imported")
	o.run()
	o.read(true)
	o.want("imported", "add/"+zip("H", 50), why.PolledOnDemand, stamp(o.Clock), "it is polled on demand only", "tributary sources poll imported")
	o.source("lost", "H")
	o.Exec("UPDATE control.source SET definition = '{}' WHERE id = 'lost'")
	o.want("lost", "add/"+zip("H", 50), why.SourceUndefined, "role schedule")
	o.source("asleep", "Ph")
	o.Exec("UPDATE control.centre SET active = false WHERE short_name = 'Ph'")
	o.want("asleep", "add/"+zip("Ph", 50), why.CentreInactive, "centre Ph is not active")
}

func tooMany(o *oracle) {
	s := o.source("many", "Biat")
	var all []string
	for n := range o.polls.MaxNew + 5 {
		s.show("add/"+zip("Biat", 10+n), 10)
		all = append(all, zip("Biat", 10+n))
	}
	slices.Sort(all) // of those never seen and equally old the first by name
	o.open("many")
	o.run()
	o.read(true)
	for _, name := range all[o.polls.MaxNew:] {
		o.want("many", "add/"+name, why.Postponed, "left 5 new or changed files")
	}
	o.want("many", "add/"+all[0], why.Unsettled)
	o.Clock = o.Clock.Add(10 * time.Second)
	o.open("many")
	o.run()
	o.read(true)
	o.want("many", "add/"+all[o.polls.MaxNew], why.Unsettled, stamp(o.Clock)+"  many listed it so first")
}

func tooManyForADay(o *oracle) {
	s := o.source("measured", "Biat")
	o.Exec(`UPDATE control.source SET definition = definition || '{"max_files_per_day": 1}' WHERE id = 'measured'`)
	first, second := "add/"+zip("Biat", 500), "add/"+zip("Biat", 501)
	s.show(first, 10)
	s.show(second, 10)
	for range 2 {
		o.open("measured")
		o.run()
		o.read(true)
		o.want("measured", first, why.Unsettled)
		o.want("measured", second, why.Postponed, "max_files_per_day")
	}
	o.Clock = o.Clock.Add(24 * time.Hour)
	o.open("measured")
	o.run()
	o.read(true)
	o.want("measured", second, why.Unsettled)
}

func found(o *oracle) {
	s := o.source("young", "CDTA")
	path := "edit/" + zip("CDTA", 1)
	s.show(path, 10)
	n := o.open("young")
	o.run()
	o.read(true)
	shown := o.Clock
	o.want("young", path, why.Unsettled, "looked the same for 30s", stamp(shown.Add(30*time.Second)), fmt.Sprintf("with 10 bytes (look 1, session %d)", n))
	o.want("young", schemas.FileID("edit", zip("CDTA", 1)), why.Unsettled)
	o.set("young", "maintenance")
	o.want("young", path, why.SourceMaintenance)
	o.set("young", "available")
	o.Clock = o.Clock.Add(time.Minute)
	o.open("young")
	o.run()
	o.read(false)
	o.want("young", path, why.Announced, stamp(o.Clock)+"  it was announced to plan")
	o.read(true)
	o.want("young", path, why.Queued, "from young, behind 0 other files of it")
	s.show(path, 11)
	o.open("young")
	o.run()
	o.read(true)
	if a := o.want("young", path, why.Unsettled, "with 11 bytes (look 2, session"); a.Older != 1 {
		o.t.Errorf("%d older looks, want 1", a.Older)
	}
	s.show("add/"+zip("CDTA", 2), 10)
	o.open("young")
	o.run()
	s.hide("add/" + zip("CDTA", 2))
	o.open("young")
	o.run()
	o.read(true)
	o.want("young", "add/"+zip("CDTA", 2), why.Unsettled, "young lacks it since 1 complete listing")
	o.Clock = o.Clock.Add(time.Second)
	o.open("young")
	o.run()
	o.read(true)
	o.want("young", "add/"+zip("CDTA", 2), why.Gone, stamp(o.Clock)+"  young no longer shows it")
}

func several(o *oracle) {
	o.source("slow", "J", func(s *control.Source) { s.MaxSessions = 0 }) // nobody can poll it
	mirror := o.source("mirror", "Crl", func(s *control.Source) { s.Hosts = append(s.Hosts, "J", "Ucd") })
	path := "add/" + zip("J", 60)
	mirror.show(path, 10)
	o.open("mirror")
	o.run()
	o.Clock = o.Clock.Add(time.Minute)
	o.open("mirror", "slow")
	o.run("slow")
	o.read(true)
	o.want("mirror", path, why.WaitsForOwnSource, "own source slow", "until "+stamp(o.Clock.Add(10*time.Minute)))
	o.Exec("UPDATE control.poll SET state = 'failed', ended_at = $1 WHERE state = 'due'", o.Clock)

	mirror.show("edit/"+zip("J", 60), 10) // the same name in two directories: two files
	mirror.show("delete/"+zip("J", 60), 10)
	o.open("mirror")
	o.run()
	o.read(true)
	if answers, _, err := o.asker.Ask(o.t.Context(), "mirror", zip("J", 60)); err != nil || len(answers) != 3 || answers[1].File != "delete/"+zip("J", 60) && answers[1].File != "edit/"+zip("J", 60) {
		o.t.Errorf("of one name: %+v, %v", answers, err)
	}
	if _, _, err := o.asker.Ask(o.t.Context(), "", schemas.FileID("add", "nobody's.zip")); !errors.Is(err, why.ErrUnknownID) {
		o.t.Errorf("an unknown id: %v", err)
	}

	own := o.source("ucd", "Ucd")
	same, differs := "add/"+zip("Ucd", 61), "add/"+zip("Ucd", 62)
	own.show(same, 10)
	own.show(differs, 10)
	o.listed("ucd")
	mirror.show(same, 10)
	mirror.show(differs, 99)
	o.listed("mirror")
	o.want("mirror", same, why.DuplicateHosting, "ucd shows it with the same size", "queued: ")
	o.want("mirror", differs, why.DivergentHosting, "ucd shows it with 10 bytes", "with 99 bytes")
	answers, _, err := o.asker.Ask(o.t.Context(), "", same)
	if err != nil || len(answers) != 2 || answers[0].Source != "ucd" || answers[0].Verdict != why.Queued || answers[1].Source != "mirror" {
		o.t.Errorf("at all sources: %+v, %v", answers, err)
	}
}
