package tracker

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"tributary/schemas"
)

// eventLog draws a log as the stages write it: sources and centres, sessions,
// hostings, attempts with one or more outcomes, documents with checks.
func eventLog(t *rapid.T) []event {
	l := &logger{t: t, now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
	for i, name := range []string{"H", "Ics"} {
		for revision := range rapid.IntRange(0, 2).Draw(t, "revisions") {
			l.emit(schemas.StatusChanged{Entity: schemas.EntityCentre, Scope: schemas.Scope{Centre: name}, Revision: int64(revision),
				Attributes: map[string]string{"full_name": fmt.Sprintf("%s %d", name, revision), "active": "true"}})
			source := map[string]string{"protocol": "sftp", "hostname": "h:22", "state": "available", "overruns": fmt.Sprint(revision),
				"definition": fmt.Sprintf(`{"id":"s%d","max_sessions":%d}`, i, revision+1)}
			if rapid.IntRange(0, 2).Draw(t, "suspended") == 0 {
				source["state"], source["suspended_at"], source["suspended_why"] = "suspended", l.stamp().Format(time.RFC3339Nano), "3 polls in a row failed"
			}
			l.emit(schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: name, Source: fmt.Sprintf("s%d", i)}, Revision: int64(revision), Attributes: source, Message: rapid.SampledFrom([]string{"", "changed by somebody"}).Draw(t, "changed")})
		}
	}
	session := schemas.ID("session", "1")
	l.emit(schemas.StatusChanged{Entity: schemas.EntitySession, Scope: schemas.Scope{Session: session}, Number: 1, StartedAt: l.stamp()})
	l.emit(schemas.StatusChanged{Entity: schemas.EntityTask, Scope: schemas.Scope{Session: session, Source: "s0"}, Phase: "zip_name",
		Status: rapid.SampledFrom([]string{"done", "failed"}).Draw(t, "poll"), Exception: "lost", FinishedAt: l.stamp(), Attributes: map[string]string{"listed": "3"}})
	for i := range rapid.IntRange(1, 3).Draw(t, "files") {
		l.file(session, fmt.Sprintf("H.2012-10-%02d.01.impc.zip", i/2+1), schemas.Actions()[i%2])
	}
	for _, status := range []string{"running", "done"} {
		l.emit(schemas.StatusChanged{Entity: schemas.EntityBatch, Scope: schemas.Scope{Centre: "H", Session: session}, Number: 1, Status: status, Rows: 3})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "checks of all") {
		l.emit(schemas.StatusChanged{Entity: schemas.EntityBatch, Scope: schemas.Scope{Centre: "H", Run: schemas.LiveRun}, Number: int64(i + 2), Status: "done", Position: int64(i + 1), VersionOf: fmt.Sprintf("v%d", i)})
	}
	run := "00000000-0000-4000-8000-00000000000a"
	for i, note := range []string{"requested", "stopped", "resumed", "done"} {
		l.emit(schemas.StatusChanged{Entity: schemas.EntityReplay, Scope: schemas.Scope{Run: run}, Number: 1, Note: note, Rows: 3, Revision: int64(i + 1),
			Status: []string{"running", "pending", "running", "done"}[i], Attributes: map[string]string{"by": "somebody", "from": "xsd", "rate": "2.5", "since": "2012-10-02T00:00:00Z"}})
	}
	l.emit(schemas.StatusChanged{Entity: schemas.EntityMember, Scope: schemas.Scope{Run: schemas.LiveRun}, Message: "asked to stop by ann", Attributes: map[string]string{"member": "m", "by": "ann", "reason": rapid.SampledFrom([]string{"", "x"}).Draw(t, "why")}})
	if rapid.Bool().Draw(t, "closed") {
		l.emit(schemas.StatusChanged{Entity: schemas.EntitySession, Scope: schemas.Scope{Session: session}, Status: "done", FinishedAt: l.stamp()})
	}
	return l.events
}

// shadowed draws what a shadow run tells of the files of a log, and of one that
// only it knows.
func shadowed(t *rapid.T, log []event) (out []event) {
	run, err := schemas.NewShadowRun()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range log {
		switch e.Entity {
		case schemas.EntityFile, schemas.EntityHosting, schemas.EntityDownload, schemas.EntityDocument, schemas.EntityQuality, schemas.EntityBatch:
			e.Run, e.Attempt, e.Number, e.at = run, e.Attempt+10, e.Number+10, e.at.Add(time.Hour)
			if e.Entity == schemas.EntityDocument && rapid.Bool().Draw(t, "judged otherwise") {
				e.Status, e.Exception, e.VersionOf = "failed", "of_the_shadow", "v9"
			}
			out = append(out, e)
			e.FileName, e.Centre = "H.2099-01-01.1.impc.zip", "Shadows"
			out = append(out, e)
		}
	}
	return out
}

type logger struct {
	t      *rapid.T
	now    time.Time
	events []event
}

func (l *logger) stamp() *time.Time {
	l.now = l.now.Add(time.Duration(rapid.IntRange(1, 5000).Draw(l.t, "µs")) * time.Microsecond)
	now := l.now
	return &now
}

// emit adds an event, and sometimes the repeat of it that a crash leaves, with
// other times.
func (l *logger) emit(e schemas.StatusChanged) {
	l.events = append(l.events, event{*l.stamp(), e})
	if rapid.IntRange(0, 9).Draw(l.t, "repeated") == 0 {
		if e.FinishedAt != nil {
			e.FinishedAt = l.stamp()
		}
		if e.StartedAt != nil {
			e.StartedAt = l.stamp()
		}
		l.events = append(l.events, event{*l.stamp(), e})
	}
}

func (l *logger) file(session, name, action string) {
	t := l.t
	ref := schemas.FileRef{File: schemas.FileID(action, name), FileName: name, Action: action}
	base := schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Session: session, Centre: "H", Source: "s0"}, FileRef: ref}
	e := base
	e.Entity, e.Phase, e.Status, e.FileDate, e.FileInc = schemas.EntityFile, "zip_name", "done", "2012-10-01", 1
	if rapid.IntRange(0, 4).Draw(t, "bad name") == 0 {
		e.Status, e.Exception, e.Centre = "failed", "name_pattern", ""
		l.emit(e)
		return
	}
	l.emit(e)
	for look := range rapid.IntRange(1, 2).Draw(t, "looks") {
		for i := range 2 {
			e = base
			e.Entity, e.Source, e.Look, e.FileSize, e.ListedAt, e.ModTime = schemas.EntityHosting, fmt.Sprintf("s%d", i), int32(look+1), int64(100+look), l.stamp(), l.stamp()
			e.Attributes = map[string]string{"state": rapid.SampledFrom([]string{"present", "gone"}).Draw(t, "state")}
			if e.Attributes["state"] == "gone" && rapid.Bool().Draw(t, "refused") {
				e.Note, e.Attributes["message"] = "centre_not_hosted_here", fmt.Sprint("refused at look ", look)
			}
			for _, name := range []string{"listed.title", "listed.id"} {
				if says := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, name); says != "" {
					e.Attributes[name] = says
				}
			}
			e.Revision = int64(rapid.IntRange(0, 2).Draw(t, "revision"))
			l.emit(e)
		}
		if rapid.Bool().Draw(t, "classed") {
			e = base
			e.Entity, e.Source, e.Look, e.Note = schemas.EntityHosting, "s1", int32(look+1), "duplicate"
			l.emit(e)
		}
	}
	for attempt := range rapid.IntRange(0, 3).Draw(t, "attempts") {
		l.attempt(base, int32(attempt+1))
	}
}

func (l *logger) attempt(base schemas.StatusChanged, number int32) {
	t := l.t
	base.Attempt, base.Look = number, 1
	base.Source = rapid.SampledFrom([]string{"s0", "s1"}).Draw(t, "source")
	download := base
	download.Entity = schemas.EntityDownload
	e := download
	e.Phase, e.Status, e.RequestedAt = "download", "pending", l.stamp()
	l.emit(e)
	e.Status, e.StartedAt, e.RequestedAt = "running", l.stamp(), nil
	l.emit(e)
	for range rapid.IntRange(0, 2).Draw(t, "progress") {
		p := e
		p.Attributes = schemas.Progress{Received: rapid.Int64Range(0, 3).Draw(t, "received"), Rate: rapid.Int64Range(0, 1).Draw(t, "rate")}.Attributes()
		l.emit(p)
	}
	if rapid.IntRange(0, 5).Draw(t, "goes on") == 0 {
		return
	}
	var outcomes []string
	for i := range rapid.IntRange(1, 2).Draw(t, "outcomes") {
		outcomes = append(outcomes, l.outcome(download, fmt.Sprintf("sha%d%d", number%2, i)))
	}
	if rapid.IntRange(0, 5).Draw(t, "judged") == 0 {
		return
	}
	accepted := rapid.SampledFrom(outcomes).Draw(t, "accepted")
	e = download
	e.Accepted = firstPart(accepted)
	l.emit(e)
	if parts(accepted) == 2 && rapid.Bool().Draw(t, "unzip judged") {
		e.Accepted = accepted
		l.emit(e)
	}
	switch rapid.IntRange(0, 5).Draw(t, "end") {
	case 0:
		e.Accepted, e.Phase, e.Status, e.Exception = accepted, "unzip", "failed", "corrupted_at_producer"
		l.emit(e)
	case 1:
		e.Phase, e.Status, e.Note, e.Repeats, e.Accepted = "zip_md5", "done", "duplicate", number-1, firstPart(accepted)
		l.emit(e)
	}
}

func firstPart(chain string) string {
	for i := range chain {
		if chain[i] == '/' {
			return chain[:i]
		}
	}
	return chain
}

// outcome adds what one outcome of the attempt leaves and returns its chain.
func (l *logger) outcome(download schemas.StatusChanged, sha string) string {
	t := l.t
	e := download
	e.Attributes = schemas.Transfer{From: rapid.Int64Range(0, 2).Draw(t, "from"), Request: rapid.SampledFrom([]string{"", "GET"}).Draw(t, "asked"),
		Response: rapid.SampledFrom([]string{"", "200", "206"}).Draw(t, "answered")}.Attributes()
	if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
		e.Phase, e.Status, e.Exception, e.Outcome, e.FinishedAt = "download", "failed", "truncated", "truncated", l.stamp()
		l.emit(e)
		return "truncated"
	}
	e.Phase, e.Status, e.Outcome, e.SHA256, e.MD5, e.Bytes, e.FinishedAt, e.Note = "zip_md5", "done", sha, sha, "md5"+sha, 100, l.stamp(), "no_checksum"
	l.emit(e)
	e = download
	e.Phase, e.Status, e.Outcome, e.StartedAt = "unzip", "running", sha, l.stamp()
	l.emit(e)
	if rapid.IntRange(0, 4).Draw(t, "unzip fails") == 0 {
		e.Status, e.Outcome, e.Exception, e.FinishedAt = "failed", sha+"/bad_crc", "bad_crc", l.stamp()
		l.emit(e)
		return e.Outcome
	}
	chain := sha + "/done"
	n := rapid.IntRange(1, 3).Draw(t, "documents")
	e.Status, e.Outcome, e.Rows, e.FinishedAt, e.VersionOf = "done", chain, int64(n), l.stamp(), "v1"
	l.emit(e)
	for i := range n {
		d := download
		d.Entity, d.Outcome = schemas.EntityDocument, chain
		d.Entry, d.Ordinal = fmt.Sprintf("H.2012-10-01.%d.specimen.impc.xml", i), int32(i)
		d.Document, d.SHA256 = schemas.DocumentID(d.File, d.Entry), fmt.Sprintf("bytes%d", i)
		d.DocCentre, d.DocDate, d.DocInc, d.Kind = "H", "2012-10-01", int64(i), "specimen"
		l.document(d)
		l.decisions(d)
	}
	return chain
}

// decisions are what people decide about a document, or about other bytes of its name:
// also before it was loaded, since an earlier attempt may have brought the same.
func (l *logger) decisions(d schemas.StatusChanged) {
	for i := range rapid.IntRange(0, 2).Draw(l.t, "decisions") {
		e := schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H"}, FileRef: d.FileRef, Entity: schemas.EntityQuality, Phase: "qc", Revision: int64(i + 1)}
		e.Document, e.Entry, e.SHA256 = d.Document, d.Entry, rapid.SampledFrom([]string{d.SHA256, d.SHA256, "others"}).Draw(l.t, "bytes")
		e.Note = rapid.SampledFrom(schemas.QualityDecisions()).Draw(l.t, "decided")
		e.Status, e.Attributes = string(schemas.QualityStatus(e.Note)), map[string]string{"by": rapid.SampledFrom([]string{"", "ann"}).Draw(l.t, "by"), "reason": "x"}
		l.emit(e)
	}
}

func (l *logger) document(d schemas.StatusChanged) {
	t := l.t
	version := func() string { return rapid.SampledFrom([]string{"", "v1", "v2"}).Draw(t, "version") }
	for _, phase := range []string{"xml_name", "xsd", "upload"} {
		d.Phase, d.Status, d.VersionOf = phase, "done", version()
		if d.Passed = nil; phase == "xsd" && rapid.Bool().Draw(t, "passed") {
			d.Passed = []schemas.PassedPhase{{Phase: "xml_name", VersionOf: version()}}
		}
		if rapid.IntRange(0, 5).Draw(t, phase) == 0 {
			d.Status, d.Exception, d.Message = "failed", phase+"_bad", "it is bad"
			for i := range rapid.IntRange(0, 3).Draw(t, "errors") {
				d.Errors = append(d.Errors, schemas.ErrorDetail{Line: int32(9 - i), Column: 1, Exception: phase + "_bad", Message: fmt.Sprint(i)})
			}
			d.ErrorsTotal = int32(len(d.Errors))
			l.emit(d)
			return
		}
		l.emit(d)
	}
	for check := range rapid.IntRange(0, 3).Draw(t, "checks") {
		c := d
		c.Check = int32(check + 1)
		c.Phase, c.Passed, c.VersionOf = "data", nil, version()
		if rapid.Bool().Draw(t, "finding") {
			c.Status, c.Errors = "failed", []schemas.ErrorDetail{{Line: 3, Exception: "specimen_unknown", Message: fmt.Sprint(check)}}
			l.emit(c)
			continue
		}
		for _, phase := range []string{"data", "context", "overview"} {
			c.Phase = phase
			l.emit(c)
		}
	}
}
