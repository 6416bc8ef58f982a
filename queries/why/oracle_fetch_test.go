package why_test

import (
	"fmt"
	"strings"
	"time"

	"tributary/producers/plan"
	"tributary/queries/why"
	"tributary/schemas"
	"tributary/sql/control"
)

// sameBytes is a file that brings what another shows, where the profile passes that over.
func sameBytes(o *oracle) {
	o.With(func(d *plan.Deps) { d.SkipKnown = true })
	defer o.With(func(d *plan.Deps) { d.SkipKnown = false })
	s := o.source("twice", "Ning")
	first, again := "add/"+zip("Ning", 1), "add/"+zip("Ning", 2)
	s.show(first, 10)
	s.show(again, 10)
	o.listed("twice")
	o.dispatch()
	d := o.outcome(first, nil)
	o.outcome(again, func(a *schemas.DownloadFinished) { a.Outcome, a.SHA256 = d.Outcome, d.SHA256 })
	o.want("twice", again, why.SameBytes, "it holds the same bytes as "+first, "attempt 1 brought the bytes "+d.SHA256+", from twice")
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
		a := o.want("work", path(n), why.Queued, "the server work:22 has 2 of 2 sessions free", "work has the priority 5; before it in its source: ", "other sources with files that wait: 0")
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
	_, f := o.job(path(0))
	o.progress(path(0), 312_000_000)
	o.Clock = o.Clock.Add(3 * time.Second)
	a := o.want("work", path(0), why.Downloading, fmt.Sprintf("is being downloaded (312 MB of %d bytes, 8.0 MB/s, told 3s ago)", f.Size), "312000000 bytes of attempt 1 had come")
	if b := o.want("work", path(1), why.Downloading); strings.Contains(b.Sentence, "(") || len(b.Evidence) >= len(a.Evidence) {
		o.t.Errorf("of a file of which nothing was told: %+v", b)
	}
	end()
	o.want("work", path(0), why.Requested, "312000000 bytes of attempt 1 had come") // its member is gone

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
	for id, server := range map[string]string{"c1": "shared:22", "c2": "shared:22", "c3": "c3:22", "c4": "c4:22", "c5": "c5:22"} {
		o.source(id, "Ccpcz", one(server)).show("add/"+zip("Ccpcz", 80+int(id[1]-'0')), 10)
	}
	o.listed("c1", "c2", "c3", "c4", "c5")
	path := func(n int) string { return "add/" + zip("Ccpcz", 80+n) }
	o.open("c3")
	o.Exec("UPDATE control.poll SET state = 'running', lease_until = clock_timestamp() + interval '1 hour' WHERE state = 'due'")
	o.open("c4")
	o.want("c3", path(3), why.CreditUsed, "the server c3:22 allows 1", "(a poll of c3)")
	o.want("c4", path(4), why.CreditUsed, "(a poll that is due of c4)")
	o.Exec("INSERT INTO control.throttle (name, left_until) VALUES ('server c5:22', $1)", o.Clock.Add(time.Hour))
	o.dispatch()
	o.want("c5", path(5), why.Throttled, "throttled by the server c5:22", stamp(o.Clock.Add(time.Hour)))
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
