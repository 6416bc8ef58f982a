package asof

import (
	"time"

	"tributary/schemas"
)

// first is the file that has most of the story.
const first = "H.2012-10-02.01.impc.zip"

func start() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) }

// end is the time of the story's last event.
func end() time.Time { return start().Add(59 * time.Minute) }

// teller tells a story: each event a second after the one before.
type teller struct {
	now time.Time
	log []Event
}

func (l *teller) tell(e schemas.StatusChanged) {
	l.now = l.now.Add(time.Second)
	l.log = append(l.log, Event{e, l.now})
}

func (l *teller) stamp() *time.Time {
	at := l.now.Add(500 * time.Millisecond)
	return &at
}

// story is a log of two sessions: a file that fails once, is fetched from
// another source, has a document that fails, and is replaced by a second
// version; a file of another centre that two sources host; a name under two
// actions; a bad name; a file that stays pending; an event that cannot be
// placed; centres and sources that change; and at last something told again.
func story() []Event {
	l := &teller{now: start()}
	for i, c := range []string{"H", "Ics"} {
		l.tell(schemas.StatusChanged{Entity: schemas.EntityCentre, Scope: schemas.Scope{Centre: c}, Attributes: map[string]string{"full_name": "Institute " + c, "active": "true"}})
		l.tell(schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: c, Source: []string{"s0", "s1"}[i]},
			Attributes: map[string]string{"protocol": "sftp", "hostname": "h:22", "state": "available"}})
	}
	live := schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", "1"), Centre: "H", Source: "s0"}
	l.session(live, 1)
	l.fails(live, first)
	other := live
	other.Centre, other.Source = "Ics", "s1"
	l.good(other, "Ics.2012-10-02.01.impc.zip", "add", 1, "bb", "Ics.2012-10-02.1.specimen.impc.xml")
	l.closed(live)

	again := live
	again.Session = schemas.ID("session", "2")
	l.tell(schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "Ics", Source: "s0"}, Revision: 1,
		Attributes: map[string]string{"protocol": "ftp", "hostname": "i:21", "state": "maintenance"}})
	l.session(again, 2)
	l.good(again, first, "add", 3, "cc", "H.2012-10-02.1.specimen.impc.xml", "H.2012-10-02.3.specimen.impc.xml")
	l.good(again, "H.2013-01-01.01.impc.zip", "delete", 1, "dd", "H.2013-01-01.1.specimen.impc.xml")
	waits := l.file(again, "H.2013-01-01.01.impc.zip", "add", "done")
	l.hosting(waits, "s0", "present")
	bad := l.file(again, "H2013.zip", "add", "failed")
	l.tell(schemas.StatusChanged{Entity: "weather", Scope: again})
	repeat := bad
	l.now = end().Add(-time.Second)
	l.tell(repeat)
	return l.log
}

func (l *teller) session(s schemas.Scope, number int64) {
	l.tell(schemas.StatusChanged{Entity: schemas.EntitySession, Scope: s, Number: number, StartedAt: l.stamp()})
	l.tell(schemas.StatusChanged{Entity: schemas.EntityTask, Scope: s, Phase: "zip_name", Status: "done", FinishedAt: l.stamp(), Attributes: map[string]string{"listed": "3"}})
}

func (l *teller) closed(s schemas.Scope) {
	l.tell(schemas.StatusChanged{Entity: schemas.EntityBatch, Scope: s, Number: 1, Status: "done", Rows: 3, FinishedAt: l.stamp()})
	l.tell(schemas.StatusChanged{Entity: schemas.EntitySession, Scope: s, Status: "done", FinishedAt: l.stamp()})
}

// file tells that a name was judged, and returns that event.
func (l *teller) file(s schemas.Scope, name, action, status string) schemas.StatusChanged {
	e := schemas.StatusChanged{Scope: s, FileRef: schemas.FileRef{File: schemas.FileID(action, name), FileName: name, Action: action},
		Entity: schemas.EntityFile, Phase: "zip_name", Status: status, FileDate: "2012-10-02", FileInc: 1}
	if status == "failed" {
		e.Exception, e.Centre, e.FileDate = "name_pattern", "", ""
	}
	l.tell(e)
	return e
}

func (l *teller) hosting(of schemas.StatusChanged, source, state string) {
	e := of
	e.Entity, e.Phase, e.Status, e.Source, e.Look, e.FileSize, e.ListedAt = schemas.EntityHosting, "", "", source, 1, 120, l.stamp()
	e.Centre = "Ics"
	e.Attributes = map[string]string{"state": state}
	l.tell(e)
}

// fails is a file whose first attempt fails and whose second has two documents,
// of which one fails.
func (l *teller) fails(s schemas.Scope, name string) {
	f := l.file(s, name, "add", "done")
	l.hosting(f, "s0", "present")
	l.hosting(f, "s1", "present")
	e := f
	e.Entity, e.Attempt, e.Phase, e.Status, e.RequestedAt = schemas.EntityDownload, 1, "download", "pending", l.stamp()
	l.tell(e)
	e.Status, e.Outcome, e.Exception, e.Message = "failed", "truncated", "truncated", "40 of 120 bytes"
	l.tell(e)
	e = f
	e.Entity, e.Attempt, e.Phase, e.Status, e.Accepted = schemas.EntityDownload, 1, "", "", "truncated"
	l.tell(e)
	s.Source = "s1"
	l.attempt(s, f, 2, "aa", "H.2012-10-02.1.specimen.impc.xml", "H.2012-10-02.2.experiment.impc.xml!")
	l.hosting(f, "s1", "gone")
}

// good is a file that is fetched, with the attempt's number, the hash of its
// bytes, and its documents, of which those with ! fail.
func (l *teller) good(s schemas.Scope, name, action string, attempt int32, sha string, documents ...string) {
	f := l.file(s, name, action, "done")
	l.hosting(f, s.Source, "present")
	l.attempt(s, f, attempt, sha, documents...)
}

func (l *teller) attempt(s schemas.Scope, file schemas.StatusChanged, number int32, sha string, documents ...string) {
	base := schemas.StatusChanged{Scope: s, FileRef: file.FileRef, Entity: schemas.EntityDownload, Attempt: number, Look: 1}
	tell := func(change func(*schemas.StatusChanged)) {
		e := base
		change(&e)
		l.tell(e)
	}
	tell(func(e *schemas.StatusChanged) { e.Phase, e.Status, e.RequestedAt = "download", "pending", l.stamp() })
	tell(func(e *schemas.StatusChanged) { e.Phase, e.Status, e.StartedAt = "download", "running", l.stamp() })
	tell(func(e *schemas.StatusChanged) {
		e.Phase, e.Status, e.Outcome, e.SHA256, e.MD5, e.Bytes, e.Note, e.FinishedAt = "zip_md5", "done", sha, sha, "m"+sha, 120, "no_checksum", l.stamp()
	})
	tell(func(e *schemas.StatusChanged) { e.Accepted = sha })
	chain := sha + "/done"
	tell(func(e *schemas.StatusChanged) {
		e.Phase, e.Status, e.Outcome, e.Rows, e.FinishedAt = "unzip", "done", chain, int64(len(documents)), l.stamp()
	})
	tell(func(e *schemas.StatusChanged) { e.Accepted = chain })
	for i, entry := range documents {
		bad := entry[len(entry)-1] == '!'
		if bad {
			entry = entry[:len(entry)-1]
		}
		for _, phase := range []string{"xml_name", "xsd", "upload", "overview"} {
			e := base
			e.Entity, e.Entry, e.Ordinal, e.Outcome, e.DocCentre, e.Phase, e.Status = schemas.EntityDocument, entry, int32(i), chain, s.Centre, phase, "done"
			e.Document = schemas.DocumentID(e.File, entry)
			if bad && phase == "xsd" {
				e.Status, e.Exception, e.ErrorsTotal = "failed", "xsd_invalid", 2
				e.Errors = []schemas.ErrorDetail{{Line: 9, Column: 2, Exception: "xsd_enumeration", Message: "not\none of them"}, {Line: 3, Column: 7, Exception: "xsd_missing", Message: "no id"}}
				l.tell(e)
				break
			}
			l.tell(e)
		}
	}
}
