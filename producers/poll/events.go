package poll

import (
	"strconv"
	"time"

	"tributary/schemas"
	"tributary/sql/control"
)

func scope(p control.Poll, centre string) schemas.Scope {
	return schemas.Scope{Run: schemas.LiveRun, Session: p.Session, Centre: centre, Source: p.Source}
}

func fileRef(file, name, action string) schemas.FileRef {
	return schemas.FileRef{File: file, FileName: name, Action: action}
}

func centreOf(w control.Sighting) string {
	if w.Centre == nil {
		return ""
	}
	return *w.Centre
}

func status(id, key, subject string, now time.Time, body *schemas.StatusChanged) schemas.Message {
	return schemas.Message{ID: id, Topic: schemas.StatusChangedTopic, Key: key, Stage: stage, Subject: subject, Time: now, Body: body}
}

// fileEvent tells how a file's name was judged. A file that had ended unfetched
// may be judged so more than once, so its look tells the events apart.
func fileEvent(p control.Poll, w control.Sighting, before string, now time.Time) schemas.Message {
	body := &schemas.StatusChanged{
		Scope: scope(p, centreOf(w)), FileRef: fileRef(w.File, w.Name, w.Action), Entity: schemas.EntityFile,
		Phase: string(schemas.ZipName), Status: string(schemas.Done), Exception: w.Exception, Message: w.Message,
		FileSize: w.Size, ListedAt: &w.ListedAt,
	}
	if w.Exception != "" {
		body.Status = string(schemas.Failed)
	} else {
		body.FileDate, body.FileInc = *w.FileDate, *w.FileInc
	}
	parts := []string{centreOf(w), w.Exception}
	if before == gone || before == sourceRemoved || before == centreNotHosted {
		parts = append(parts, p.Source, strconv.Itoa(int(w.Look)))
	}
	return status(schemas.EventID(stage, schemas.LiveRun, w.File, "zip_name", parts...), w.File, w.Action+"/"+w.Name, now, body)
}

// unfetchedEvent tells that a file ended which no source shows any more, and which
// was never fetched.
func unfetchedEvent(p control.Poll, f control.Unfetched, look int32, exception, message string, now time.Time) schemas.Message {
	return status(schemas.EventID(stage, schemas.LiveRun, f.File, "unfetched", exception, p.Source, strconv.Itoa(int(look))), f.File, f.Action+"/"+f.Name, now, &schemas.StatusChanged{
		Scope: scope(p, f.Centre), FileRef: fileRef(f.File, f.Name, f.Action), Entity: schemas.EntityFile,
		Phase: string(schemas.ZipName), Status: string(schemas.Cancelled), Exception: exception, Message: message,
	})
}

// hostingEvent tells that a listing showed a look of a file.
func hostingEvent(p control.Poll, w control.Sighting, l control.Listed, now time.Time) schemas.Message {
	body := &schemas.StatusChanged{
		Scope: scope(p, centreOf(w)), FileRef: fileRef(w.File, w.Name, w.Action), Entity: schemas.EntityHosting, Server: p.Server,
		Look: w.Look, FileSize: w.Size, ModTime: w.ModTime, ListedAt: &w.ListedAt, Revision: 1,
		Attributes: schemas.Listed(l.Attributes),
	}
	body.Attributes["state"] = w.State
	if w.State == gone {
		body.Attributes["exception"], body.Attributes["message"], body.Note = l.Invalid, l.Message, l.Invalid
	}
	if w.Class == "unsettled" {
		body.Note, body.Revision = "unsettled", 0
	}
	return status(schemas.EventID(stage, schemas.LiveRun, p.Source+"/"+w.File, "hosting", strconv.Itoa(int(w.Look)), w.Class), w.File, w.Action+"/"+w.Name, now, body)
}

// discovered announces a look to plan.
func discovered(p control.Poll, w control.Sighting, changed bool, now time.Time) schemas.Message {
	change := "new"
	if changed {
		change = "changed"
	}
	return schemas.Message{
		ID:    schemas.EventID(stage, schemas.LiveRun, p.Source+"/"+w.File, schemas.FileDiscoveredTopic, strconv.Itoa(int(w.Look))),
		Topic: schemas.FileDiscoveredTopic, Key: w.File, Stage: stage, Subject: w.Action + "/" + w.Name, Time: now,
		Body: &schemas.FileDiscovered{
			Scope: scope(p, centreOf(w)), FileRef: fileRef(w.File, w.Name, w.Action), Poll: p.ID, Change: change,
			Look: w.Look, Size: w.Size, ModTime: w.ModTime, ListedAt: &w.ListedAt,
		},
	}
}

// goneEvent tells plan that a file can't be fetched from a source any more.
func goneEvent(p control.Poll, v control.Vanished, now time.Time) schemas.Message {
	return schemas.Message{
		ID:    schemas.EventID(stage, schemas.LiveRun, p.Source+"/"+v.File, "gone", strconv.Itoa(int(v.Look))),
		Topic: schemas.FileDiscoveredTopic, Key: v.File, Stage: stage, Subject: v.Action + "/" + v.Name, Time: now,
		Body: &schemas.FileDiscovered{Scope: scope(p, v.Centre), FileRef: fileRef(v.File, v.Name, v.Action), Poll: p.ID, Change: "gone", Look: v.Look, Size: v.Size},
	}
}

// goneEvents tell plan and the log that complete listings lack a file.
func goneEvents(p control.Poll, v control.Vanished, now time.Time) []schemas.Message {
	return []schemas.Message{
		goneEvent(p, v, now),
		status(schemas.EventID(stage, schemas.LiveRun, p.Source+"/"+v.File, "hosting_gone", strconv.Itoa(int(v.Look))), v.File, v.Action+"/"+v.Name, now, &schemas.StatusChanged{
			Scope: scope(p, v.Centre), FileRef: fileRef(v.File, v.Name, v.Action), Entity: schemas.EntityHosting, Server: p.Server, Look: v.Look, FileSize: v.Size, Revision: 2,
			Attributes: map[string]string{"state": gone},
		}),
	}
}

// taskEvent tells how a poll ended.
func taskEvent(p control.Poll, c counts, o outcome, now time.Time) schemas.Message {
	st := schemas.Done
	if o.state != "complete" && o.state != "minimal" {
		st = schemas.Failed
	}
	n := strconv.Itoa
	told := map[string]string{"listed": n(c.listed), "new": n(c.fresh), "changed": n(c.changed),
		"unsettled": n(c.unsettled), "rejected": n(c.rejected), "gone": n(c.gone)}
	if c.fresh+c.changed > 0 {
		told["largest"] = strconv.FormatInt(c.largest, 10)
	}
	c.ignored.attributes(told)
	c.twins.attributes(told)
	c.kept.attributes(told)
	c.passing.attributes(told)
	c.clock.attributes(told)
	c.takeUp(p, told)
	if c.notHosted > 0 {
		told["not_hosted"] = n(c.notHosted)
	}
	if c.refused.total > 0 {
		told["refused"] = n(c.refused.total)
	}
	return status(schemas.EventID(stage, schemas.LiveRun, p.ID, "poll_ended"), p.Session, "source "+p.Source, now, &schemas.StatusChanged{
		Scope: schemas.Scope{Run: schemas.LiveRun, Session: p.Session, Centre: p.Centre, Source: p.Source}, Entity: schemas.EntityTask, Server: p.Server,
		Attempt: int32(p.Attempts), Phase: string(schemas.ZipName), Status: string(st), Exception: o.exception, Message: o.message, Note: o.state,
		StartedAt: &p.StartedAt, FinishedAt: &now, Attributes: told,
	})
}
