package donewith

import (
	"strconv"
	"time"

	"tributary/schemas"
	"tributary/sql/control"
)

// The state of a hosting from which we have taken the file away.
const takenAway = "done_with"

// event tells what became of a file at a source, as what is said of its hosting there.
// It comes after all that polls tell of the look.
func event(v control.DoneVisit, d control.DoneWith, o control.DoneOutcome, now time.Time) schemas.Message {
	state := "present"
	if o.Taken {
		state = takenAway
	}
	told := map[string]string{"state": state, "message": o.Message, "done_with": d.Rule, "done_with_state": o.State}
	if o.Exception != "" {
		told["exception"] = o.Exception
	}
	if o.State == control.DoneDone {
		told["message"] += " (" + v.Standing.ActsSaid + ")"
		told["ordered"] = v.Standing.ActsSaid
	}
	const behindPolls = 3
	return schemas.Message{
		ID:    schemas.EventID(stage, schemas.LiveRun, v.Source+"/"+d.File, "done_with", strconv.Itoa(int(d.Look)), strconv.Itoa(d.Told)),
		Topic: schemas.StatusChangedTopic, Key: d.File, Stage: stage, Subject: d.Action + "/" + d.Name, Time: now,
		Body: &schemas.StatusChanged{
			Scope:   schemas.Scope{Run: schemas.LiveRun, Centre: d.Centre, Source: v.Source},
			FileRef: schemas.FileRef{File: d.File, FileName: d.Name, Action: d.Action}, Entity: schemas.EntityHosting, Server: v.Server,
			Look: d.Look, FileSize: d.Size, ModTime: d.ModTime, ListedAt: &d.ListedAt, Revision: int64(behindPolls + d.Told),
			Attributes: told,
		},
	}
}
