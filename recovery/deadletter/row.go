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
	r := Row{ID: l.ID, Time: l.Time, Stage: l.Stage, Topic: l.Topic, Exception: l.Class, Error: l.Error, Attempts: l.Attempts,
		Action: l.Action, File: l.FileName, Document: l.Entry, Files: l.Job, Centre: l.Centre, Source: l.Source, Attempt: l.Attempt,
		State: l.State, Deaths: l.Deaths, NewAttempt: l.Decided.Attempt, Problem: l.Problem}
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
func (l *Standing) Cells() []string {
	at, about, last := "", l.Subject(), l.Decided.Retry
	if !l.Time.IsZero() {
		at = l.Time.Format(time.DateTime)
	}
	if about == "" {
		about = l.Topic + "/" + strconv.Itoa(int(l.OriginPartition)) + " at offset " + strconv.FormatInt(l.OriginOffset, 10)
	}
	if l.State == control.LetterDropped {
		last = l.Decided.Drop
	}
	return []string{l.ID, at, l.Class, about, l.Centre, l.State, strconv.Itoa(l.Deaths), last.By, last.Reason, l.Error}
}
