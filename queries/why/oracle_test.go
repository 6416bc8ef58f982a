package why_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tributary/internal/remote"
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
		{"sources that were never listed", neverListed}, {"listings", listings}, {"names", names}, {"what is passed over", passedOver}, {"failed listings", failedListings},
		{"sources at rest", atRest}, {"more than one poll takes", tooMany}, {"found", found}, {"at several sources", several}, {"fetching", fetching},
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
		a := o.want("badly", "add/"+name, why.NameRefused, "breaks the rule "+rule)
		if safe := text(o.t, a); strings.ContainsAny(safe, "\x1b\u202e") || len(safe) > 4000 {
			o.t.Errorf("a name of %d bytes does harm: %q", len(name), safe)
		}
		o.want("", name, why.NameRefused, "breaks the rule "+rule)
	}
	o.want("badly", "add/"+zip("Ics", 3), why.CentreNotHostedHere, "hosts: [Ics]")
	o.want("badly", "add/"+zip("H", 20), why.EntryRefused, "entry_refused: its time is in the year 20000")
}

func passedOver(o *oracle) {
	s := o.source("odd", "H")
	s.dirs["add"] = []remote.Entry{{Name: zip("H", 30), Kind: remote.Dir}, {Name: "link.zip", Kind: remote.Other}, {Name: "readme.txt", Size: 1}, {Name: "a.txt"}, {Name: "b.txt"}, {Name: "c.txt"}, {Name: zip("H", 31), Kind: remote.Dir}}
	t := o.source("twice", "H")
	t.dirs["edit"] = []remote.Entry{{Name: zip("H", 32), Size: 1}, {Name: "x.zip", Size: 1}, {Name: "x.zip", Size: 2}}
	o.open("odd", "twice")
	o.run()
	o.read(true)
	o.want("odd", "add/"+zip("H", 30), why.Ignored, "it is a directory", "rule: directory")
	o.want("odd", "add/link.zip", why.Ignored, "no regular file", "rule: not_a_regular_file")
	o.want("odd", "readme.txt", why.Ignored, "add/readme.txt", "rule: not_zip")
	o.want("", "add/readme.txt", why.Ignored, "odd shows add/readme.txt")
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

func fetching(o *oracle) {
	s := o.source("work", "Tcp")
	path := func(n int) string { return "add/" + zip("Tcp", n) }
	for n := range 12 {
		s.show(path(n), 10)
	}
	o.listed("work")
	before := map[string]bool{}
	for n := range 12 {
		a := o.want("work", path(n), why.Queued, "the server work:22 has 2 of 2 sessions free")
		_, rest, _ := strings.Cut(a.Sentence, "behind ")
		count, _, _ := strings.Cut(rest, " ")
		before[count] = true
	}
	if len(before) != 12 || !before["0"] || !before["11"] {
		o.t.Errorf("the twelve are behind %v", before)
	}
	o.asker.Dormant = "5 MB are left"
	o.want("work", path(0), why.DiskLow, "5 MB are left")
	o.asker.Dormant = ""
	o.dispatch()
	j, _ := o.job(path(12 - 1))
	o.want("work", path(0), why.Requested, "requested at "+stamp(o.Clock), j.Job+", with 12 files")
	_, end, err := control.HoldSession(o.t.Context(), o.Pool, j.Job, j.Server, "member/9", time.Hour)
	if err != nil {
		o.t.Fatal(err)
	}
	o.want("work", path(0), why.Downloading, "member/9 works on the job "+j.Job)
	end()

	o.outcome(path(1), nil)
	o.want("work", path(1), why.WaitsForUnzip, "attempt 1 had its last news")
	d := o.outcome(path(2), nil)
	o.unzipped(d, 3)
	o.judge(d, schemas.Valid)
	o.want("work", path(2), why.WaitsForValidate, "judge 2 of 3 documents")
	o.outcome(path(3), failed("connection_reset", "by peer"))
	o.want("work", path(3), why.NextAttempt, "from "+stamp(o.Clock.Add(5*time.Second)), "connection_reset: by peer", "tried 1 time at work")
	o.outcome(path(4), func(d *schemas.DownloadFinished) { failed(schemas.NoRoom, "")(d); d.Result = schemas.NotTried })
	o.want("work", path(4), why.NextAttempt, "the room for it, 1 time")
	o.outcome(path(5), failed("permission_denied", "not for you"))
	o.want("work", path(5), why.FailedRetried, "permission_denied: not for you; it is tried again at "+stamp(o.Clock.Add(time.Hour)), "given up there")
	o.outcome(path(6), func(d *schemas.DownloadFinished) { failed("", "it crashed")(d); d.Result = schemas.Quarantined })
	o.want("work", path(6), why.Quarantined, "set aside by download", "it crashed", "tributary dlq retry --where file="+zip("Tcp", 6))
	for n, exception := range map[int]string{7: "zip_bomb", 8: schemas.Quarantined} {
		d = o.outcome(path(n), nil)
		u := &schemas.UnzipFinished{Scope: d.Scope, FileRef: d.FileRef, Attempt: d.Attempt, Download: d.Outcome, SHA256: d.SHA256, Result: schemas.FailedEnd, Outcome: exception, Exception: exception, Message: "too large"}
		if exception == schemas.Quarantined {
			u.Result = schemas.Quarantined
		}
		o.Read(schemas.UnzipFinishedTopic, u)
	}
	o.read(true)
	o.want("work", path(7), why.Failed, "in unzip with zip_bomb: too large")
	o.want("work", path(8), why.Quarantined, "set aside by unzip")
	d = o.outcome(path(9), nil)
	if _, err := control.ReportDamage(o.t.Context(), o.Pool, d.SHA256, "3 bytes too few", "unzip", false, o.Clock); err != nil {
		o.t.Fatal(err)
	}
	o.want("work", path(9), why.BlobDamaged, "3 bytes too few", "is found")
	o.outcome(path(10), nil)
	s.show(path(10), 20)
	o.Clock = o.Clock.Add(time.Minute)
	o.listed("work")
	o.want("work", path(10), why.BehindEarlier, "an earlier version", "waits_for_unzip: ")
	o.Exec("DELETE FROM control.job WHERE id = $1", j.Job)
	o.want("work", path(0), why.Requested, "the job that asked for it is gone")
}

func comeToRest(o *oracle) {
	verdicts := map[string]why.Verdict{"maintenance": why.SourceMaintenance, "suspended": why.SourceSuspended, "removed": why.SourceRemoved}
	for state := range verdicts {
		s := o.source("to_"+state, "Kmpc")
		s.show("add/"+zip("Kmpc", 70+len(state)), 10)
		o.listed("to_" + state)
		o.set("to_"+state, state)
	}
	away := o.source("away", "Kmpc")
	away.show("add/"+zip("Kmpc", 99), 10)
	o.listed("away")
	away.hide("add/" + zip("Kmpc", 99))
	o.listed("away")
	for state, verdict := range verdicts {
		o.want("to_"+state, "add/"+zip("Kmpc", 70+len(state)), verdict)
	}
	o.want("away", "add/"+zip("Kmpc", 99), why.Gone, "no source shows it any more")
	o.dispatch()
	verdicts["removed"] = why.Cancelled
	for state, verdict := range verdicts {
		o.want("to_"+state, "add/"+zip("Kmpc", 70+len(state)), verdict, "attempt 1 ended, at to_"+state)
	}
	o.want("away", "add/"+zip("Kmpc", 99), why.Gone, "attempt 1 ended, at away")
	o.set("to_suspended", "available") // and the file has its time
	o.want("to_suspended", "add/"+zip("Kmpc", 79), why.FailedRetried, "source_unavailable")
}

func credit(o *oracle) {
	one := func(server string) func(s *control.Source) {
		return func(s *control.Source) { s.Server, s.MaxSessions = server, 1 }
	}
	for id, server := range map[string]string{"c1": "shared:22", "c2": "shared:22", "c3": "c3:22", "c4": "c4:22"} {
		o.source(id, "Ccpcz", one(server)).show("add/"+zip("Ccpcz", 80+int(id[1]-'0')), 10)
	}
	o.listed("c1", "c2", "c3", "c4")
	path := func(n int) string { return "add/" + zip("Ccpcz", 80+n) }
	o.open("c3")
	o.Exec("UPDATE control.poll SET state = 'running', lease_until = clock_timestamp() + interval '1 hour' WHERE state = 'due'")
	o.open("c4")
	o.want("c3", path(3), why.CreditUsed, "the server c3:22 allows 1", "(a poll of c3)")
	o.want("c4", path(4), why.CreditUsed, "(a poll that is due of c4)")
	o.dispatch()
	asked, waits := 1, 2
	if o.Text("SELECT source AS q FROM control.job WHERE server = 'shared:22'") != "c1" {
		asked, waits = 2, 1
	}
	o.want(fmt.Sprint("c", asked), path(asked), why.Requested)
	o.want(fmt.Sprint("c", waits), path(waits), why.CreditUsed, "the server shared:22 allows 1", fmt.Sprintf("(a job of c%d)", asked))
	o.Exec("UPDATE control.poll SET state = 'running' WHERE state = 'due'")
	o.Exec("UPDATE control.poll SET state = 'complete', ended_at = $1 WHERE state = 'running'", o.Clock)
}

func batches(o *oracle) {
	good := []string{schemas.Valid, schemas.Valid}
	bcm := o.source("bcm", "Bcm")
	bcm.show("add/"+zip("Bcm", 1), 10)
	bcm.show("add/"+zip("Bcm", 2), 10)
	first := o.listed("bcm")
	opened := o.Clock
	o.dispatch()
	o.fetched("add/"+zip("Bcm", 1), good...)
	latest := "until " + stamp(opened.Add(30*time.Minute))
	o.want("bcm", "add/"+zip("Bcm", 1), why.WaitsForBatch, fmt.Sprintf("the batch of Bcm in session %d, which waits for 1 other file of it", first), latest)
	bcm.show("edit/"+zip("Bcm", 3), 10)
	o.Clock = o.Clock.Add(time.Minute)
	o.listed("bcm")
	o.dispatch()
	o.fetched("edit/"+zip("Bcm", 3), good...)
	o.want("bcm", "edit/"+zip("Bcm", 3), why.WaitsForBatch, fmt.Sprintf("which waits for the centre's batch of session %d", first), "until "+stamp(o.Clock.Add(30*time.Minute)))
	o.fetched("add/"+zip("Bcm", 2), good...)
	o.want("bcm", "add/"+zip("Bcm", 2), why.WaitsForBatch, "which nothing keeps")

	gmc := o.source("gmc", "Gmc")
	o.source("stuck", "Gmc", func(s *control.Source) { s.MaxSessions = 0 })
	gmc.show("add/"+zip("Gmc", 1), 10)
	gmc.show("add/"+zip("Gmc", 2), 10)
	o.open("gmc")
	o.run()
	o.Clock = o.Clock.Add(time.Minute)
	o.open("gmc", "stuck")
	o.run("stuck")
	o.read(false)
	if len(o.found) != 2 {
		o.t.Fatalf("%d files are found", len(o.found))
	}
	later := o.found[1]
	o.found = o.found[:1]
	taken := "add/" + o.found[0].FileName
	o.read(true)
	o.dispatch()
	o.fetched(taken, good...)
	o.want("gmc", taken, why.WaitsForBatch, "1 file that the session found", "without an end yet: 1 poll of it")
	o.found = append(o.found, later)
	o.read(true)
	o.dispatch()
	o.fetched("add/"+later.FileName, good...)
	o.want("gmc", taken, why.WaitsForBatch, "which waits for 1 poll of the session, such as that of stuck")
	o.Exec("UPDATE control.poll SET state = 'failed', ended_at = $1 WHERE state = 'due'", o.Clock)
	o.Exec("UPDATE control.session SET polls_ended_at = $1 WHERE polls_ended_at IS NULL", o.Clock)
}

func insertion(o *oracle) {
	s := o.source("wtsi", "Wtsi")
	results := [][]string{
		{schemas.Valid, schemas.Valid}, {schemas.Valid, schemas.FailedEnd, schemas.Valid}, {schemas.FailedEnd, schemas.FailedEnd}, {schemas.Valid, schemas.Quarantined}, {schemas.Valid}, {schemas.Valid}, {schemas.Quarantined}, {schemas.Valid, schemas.Valid},
	}
	path := func(n int) string { return "delete/" + zip("Wtsi", n) }
	for n := range results {
		s.show(path(n), 10)
	}
	o.listed("wtsi")
	o.dispatch()
	done := make([]*schemas.DownloadFinished, len(results))
	for n, r := range results {
		done[n] = o.fetched(path(n), r...)
	}
	o.want("wtsi", path(2), why.Rejected, "2 of 2 documents")
	o.want("wtsi", path(6), why.Quarantined, "set aside by validate")
	last := o.released()
	o.applied(last - 3)
	o.want("wtsi", path(0), why.WaitsForInsertion, fmt.Sprintf("ends at position %d, and the warehouse has applied up to %d", last, last-3))
	o.Exec("UPDATE warehouse.state SET chain_broken = 'position 9 is missing', chain_broken_at = next_position")
	o.want("wtsi", path(0), why.InsertionStopped, "position 9 is missing")
	o.applied(last)
	o.want("wtsi", path(0), why.Loaded, "with 2 documents; the tracker has not told of all yet")
	position := last - 20
	for n, r := range results {
		o.inserted(done[n], r, position, 6)
		if n == 0 {
			o.want("wtsi", path(n), why.Loaded, fmt.Sprintf("2 documents with 12 rows, at positions %d to %d", position, position+1), "by the live run, attempt 1")
		}
		position += int64(len(r))
	}
	o.want("wtsi", path(7), why.Loaded, "2 documents with 12 rows")
	o.checked(done[7], 1, "specimen_unknown")
	o.want("wtsi", path(7), why.LoadedWithFindings, "2 documents with 12 rows", "1 of them has findings", "Wtsi.2026-01-02.2.specimen.impc.xml, in data: line 7: specimen_unknown")
	o.want("wtsi", path(1), why.Rejected, "1 of 3 documents of "+path(1)+" was refused; the warehouse has 2 of them", "Wtsi.2026-01-02.2.specimen.impc.xml, in xsd: line 7: xsd_invalid: line too long")
	o.want("wtsi", path(2), why.Rejected, "2 of 2 documents of "+path(2)+" were refused.")
	o.want("wtsi", path(3), why.Quarantined, "tributary dlq list --where file="+zip("Wtsi", 3))

	op, err := control.RequestUnload(o.t.Context(), o.Pool, control.Unload{Action: "delete", Name: zip("Wtsi", 4), By: "ann", Reason: "wrong mice"}, o.Clock)
	if err != nil {
		o.t.Fatal(err)
	}
	o.want("wtsi", path(4), why.Unloaded, "as ann asked: it waits for its place", stamp(o.Clock)+"  ann asked for it: wrong mice")
	o.Exec("UPDATE control.operation SET position = $2 WHERE id = $1", op.ID, last+1)
	o.want("wtsi", path(4), why.Unloaded, fmt.Sprintf("at position %d; the warehouse has applied up to %d", last+1, last))
	o.applied(last + 1)
	o.want("wtsi", path(4), why.Unloaded, fmt.Sprintf("was taken out of the warehouse at position %d", last+1))

	// Shown anew, with the bytes that were loaded; and then no longer.
	s.show(path(0), 11)
	o.Clock = o.Clock.Add(time.Hour)
	o.listed("wtsi")
	o.dispatch()
	o.outcome(path(0), func(d *schemas.DownloadFinished) { d.Outcome, d.SHA256 = done[0].Outcome, done[0].SHA256 })
	a := o.want("wtsi", path(0), why.Loaded, stamp(o.Clock)+"  it was fetched again and brought the bytes that the file shows already (attempt 2)")
	if a.Older != 1 {
		o.t.Errorf("%d older looks, want 1", a.Older)
	}
	s.hide(path(5))
	o.listed("wtsi")
	o.want("wtsi", path(5), why.Loaded, stamp(o.Clock)+"  wtsi no longer shows it")
}

func replays(o *oracle) {
	path := func(n int) string { return "delete/" + zip("Wtsi", n) }
	id := func(n int) string { return schemas.FileID("delete", zip("Wtsi", n)) }
	file := func(n int) *schemas.DownloadFinished {
		return &schemas.DownloadFinished{Scope: schemas.Scope{Centre: "Wtsi", Source: "wtsi"}, FileRef: schemas.FileRef{File: id(n)}, Look: 1, Outcome: "o", SHA256: "s"}
	}
	run, a := o.acquired(file(1), "received")
	o.replay(3, run, "running", "", "requested", &a, id(1))
	o.want("wtsi", path(1), why.Replaying, "by replay 3", "waits_for_unzip: ")
	_, a = o.acquired(file(3), "received")
	o.Exec("INSERT INTO control.dead_letter (id, place, stage, class, cause, lineage, acquisition) VALUES ($1, 'validate:2:17', 'validate', 'panic', 'c', $1, $2)", schemas.ID("letter"), a)
	o.want("wtsi", path(3), why.Replaying, "the dead letter validate:2:17")
	for n, r := range map[int64][]string{4: {"running", "other profile"}, 5: {"stopped", ""}, 6: {"running", ""}} {
		o.replay(n, schemas.ID("replay", fmt.Sprint(n)), r[0], r[1], "waiting", nil, id(0))
	}
	o.replay(7, schemas.ID("replay", "7"), "done", "", "refused", nil, id(0))
	o.want("wtsi", path(0), why.Loaded, "replay 4 from xsd is to process it again, and is held: other profile", "tributary replay resume 5", "replay 6 from xsd is to process it again, and waits: its file is under way", "replay 7 from xsd refused it")
}

func trackerAlone(o *oracle) {
	o.want("wtsi", "delete/"+zip("Wtsi", 5), why.Loaded)
	o.Exec("DELETE FROM control.look WHERE file = $1", schemas.FileID("delete", zip("Wtsi", 5)))
	o.want("wtsi", "delete/"+zip("Wtsi", 5), why.Loaded, "1 document with 6 rows") // as after control restore
	d := &schemas.DownloadFinished{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "Krb", Source: "krb"}, FileRef: schemas.FileRef{File: schemas.FileID("add", zip("Krb", 1)), FileName: zip("Krb", 1), Action: "add"}, Attempt: 1, Outcome: "o", SHA256: "s"}
	accepted := o.document(d, 0, "unzip", schemas.Done)
	accepted.Entity, accepted.DocumentRef, accepted.Outcome, accepted.Accepted = schemas.EntityDownload, schemas.DocumentRef{Archive: "s", SHA256: "s"}, "o/done", "o/done"
	accepted.Rows = 1
	o.say(accepted)
	o.inserted(d, []string{schemas.Valid}, 5, 6)
	o.want("", "add/"+zip("Krb", 1), why.Loaded, "control does not know the file", "1 document with 6 rows, at position 5")
}

func late(o *oracle) {
	s := o.source("rbrc", "Rbrc")
	s.show("add/"+zip("Rbrc", 1), 10)
	o.listed("rbrc")
	o.dispatch()
	o.Clock = o.Clock.Add(31 * time.Minute)
	o.released()
	o.fetched("add/"+zip("Rbrc", 1), schemas.Valid)
	o.want("rbrc", "add/"+zip("Rbrc", 1), why.WaitsForBatch, "a late batch of Rbrc, which is released at "+stamp(o.Clock.Add(time.Minute)))
}
