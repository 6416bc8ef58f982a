package deadletter

import (
	"strconv"
	"time"

	"tributary/sql/control"
)

// Row is a dead letter as JSON for programs.
type Row struct {
	ID         string    `json:"id"`
	Time       time.Time `json:"time,omitzero"`
	Stage      string    `json:"stage"`
	Topic      string    `json:"topic"`
	About      string    `json:"about"` // for people
	Exception  string    `json:"exception"`
	Error      string    `json:"error"`
	Attempts   int       `json:"attempts,omitempty"`
	Action     string    `json:"action,omitempty"`
	File       string    `json:"file,omitempty"`
	Document   string    `json:"document,omitempty"`
	Files      int       `json:"files,omitempty"`
	Centre     string    `json:"centre,omitempty"`
	Source     string    `json:"source,omitempty"`
	Attempt    int32     `json:"attempt,omitempty"`
	State      string    `json:"state"`
	Deaths     int       `json:"deaths"`
	Replayed   *Decision `json:"replayed,omitempty"`
	Dropped    *Decision `json:"dropped,omitempty"`
	NewAttempt int32     `json:"new_attempt,omitempty"`
	Problem    string    `json:"problem,omitempty"`
}

// Decision is what somebody decided about a dead letter.
type Decision struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	Forced bool      `json:"forced,omitempty"`
}

// Row is the letter for programs.
func (l *Standing) Row() Row {
	r := Row{ID: l.ID, Time: l.Time, Stage: l.Stage, Topic: l.Topic, About: l.Subject(), Exception: l.Class, Error: l.Error, Attempts: l.Attempts,
		Action: l.Action, File: l.FileName, Document: l.Entry, Files: l.Job, Centre: l.Centre, Source: l.Source, Attempt: l.Attempt,
		State: l.State, Deaths: l.Deaths, NewAttempt: l.Decided.Attempt, Problem: l.Problem}
	if r.About == "" {
		r.About = l.Topic + "/" + strconv.Itoa(int(l.OriginPartition)) + " at offset " + strconv.FormatInt(l.OriginOffset, 10)
	}
	if d := l.Decided.Retry; !d.At.IsZero() {
		r.Replayed = &Decision{d.By, d.Reason, d.At, l.Decided.Forced}
	}
	if d := l.Decided.Drop; !d.At.IsZero() {
		r.Dropped = &Decision{By: d.By, Reason: d.Reason, At: d.At}
	}
	return r
}

// Header names the columns of a list of letters.
func Header() []string {
	return []string{"id", "given up", "exception", "about", "centre", "state", "deaths", "decided by", "reason", "error"}
}

// Cells are the columns of a list of letters, as Header names them.
func (r Row) Cells() []string {
	at, last := "", r.Replayed
	if !r.Time.IsZero() {
		at = r.Time.Format(time.DateTime)
	}
	if r.State == control.LetterDropped {
		last = r.Dropped
	}
	if last == nil {
		last = &Decision{}
	}
	return []string{r.ID, at, r.Exception, r.About, r.Centre, r.State, strconv.Itoa(r.Deaths), last.By, last.Reason, r.Error}
}
