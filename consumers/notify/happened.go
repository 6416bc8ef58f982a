package notify

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"tributary/internal/config"
	"tributary/internal/notice"
	"tributary/schemas"
)

// happened are the notices that an event may lead to, whoever wants them. Only the live
// run has any: who has a replay done looks at it.
//
// A notice's id follows from what it is about, not from the event that says so first: a
// thousand documents that fail alike in one attempt at a file are one notice.
func happened(m schemas.Message, e *schemas.StatusChanged) []notice.Notice {
	if e.Run != "" && e.Run != schemas.LiveRun {
		return nil
	}
	var out []notice.Notice
	add := func(kind, title string, about ...string) *notice.Notice {
		out = append(out, notice.Notice{ID: schemas.ID(append([]string{"notice", kind}, about...)...), Kind: kind, Time: m.Time, Title: title, Data: dataOf(m, e)})
		return &out[len(out)-1]
	}
	switch e.Entity {
	case schemas.EntityBatch:
		if e.Status == string(schemas.Done) {
			add(config.BatchClosed, fmt.Sprintf("Batch %d of %s is closed: %d documents", e.Number, e.Centre, e.Rows), m.ID)
		}
	case schemas.EntitySource:
		aboutSource(m, e, add)
	case schemas.EntityFile, schemas.EntityDownload, schemas.EntityDocument:
		aboutFile(m, e, add)
	}
	return out
}

type adder func(kind, title string, about ...string) *notice.Notice

func aboutSource(m schemas.Message, e *schemas.StatusChanged, add adder) {
	why := e.Attributes["suspended_why"]
	switch {
	case e.Note == schemas.NoteLate:
		add(config.CentreLate, fmt.Sprintf("The files of %s are late (%s)", e.Centre, e.Source), m.ID)
	case e.Note == schemas.NoteClockSkewed:
		add(config.ClockSkewed, fmt.Sprintf("The clock of the server of %s (%s): %s", e.Source, e.Centre, e.Message), m.ID)
	case e.Attributes["state"] == "suspended" && e.Note != schemas.NoteOverrun:
		// What else is told of it while it stays suspended is not told again.
		n := add(config.SourceSuspended, fmt.Sprintf("The source %s of %s is suspended", e.Source, e.Centre), e.Source, e.Attributes["suspended_at"])
		n.Data.Message = cmp.Or(why, e.Message)
	}
}

func aboutFile(m schemas.Message, e *schemas.StatusChanged, add adder) {
	attempt := []string{e.File, strconv.Itoa(int(e.Attempt)), e.Exception}
	switch schemas.Status(e.Status) {
	case schemas.Failed:
		switch {
		case e.Entity == schemas.EntityDocument && e.Phase == string(schemas.Data):
			n := add(config.FindingOpened, fmt.Sprintf("%s: %s in its data", name(e), e.Exception), append(attempt, strconv.Itoa(int(e.Check)))...)
			n.Data.Count = int64(e.ErrorsTotal)
		case e.Entity == schemas.EntityDownload && (e.Accepted == "" || e.Attributes[schemas.TriedAgain] != ""):
			// A stage's word, of which control says what follows; or another attempt follows.
		default:
			add(config.FileFailed, fmt.Sprintf("%s failed in %s: %s", name(e), e.Phase, e.Exception), attempt...)
		}
	case schemas.Done:
		if e.Entity == schemas.EntityDownload && e.Accepted != "" && e.Phase != string(schemas.Unzip) {
			return // what was brought was there before
		}
		if e.Entity == schemas.EntityDownload && e.Phase == string(schemas.ZipMD5) {
			reached(m, e, string(schemas.Download), add) // both are told at once
		}
		for _, p := range e.Passed {
			reached(m, e, p.Phase, add)
		}
		if e.Entity != schemas.EntityDownload || e.Phase != string(schemas.Unzip) || e.Accepted != "" { // control says which unzip counts
			reached(m, e, e.Phase, add)
		}
	}
}

func reached(m schemas.Message, e *schemas.StatusChanged, phase string, add adder) {
	n := add(config.PhaseReached, fmt.Sprintf("%s is through %s", subject(e), phase), m.ID, phase)
	n.Data.Phase, n.Data.Exception = phase, ""
}

// dataOf is what an event is about.
func dataOf(m schemas.Message, e *schemas.StatusChanged) notice.Data {
	d := notice.Data{Message: e.Message, Centre: e.Centre, Source: e.Source, File: name(e), Document: e.Entry, Phase: e.Phase, Exception: e.Exception, Number: e.Number, Event: m.ID}
	if e.Entity == schemas.EntityBatch {
		d.Count = e.Rows
	}
	return d
}

// name is the file as people name it; empty where it is about none.
func name(e *schemas.StatusChanged) string {
	if e.FileName == "" {
		return ""
	}
	return e.Action + "/" + e.FileName
}

func subject(e *schemas.StatusChanged) string {
	if e.Entry == "" {
		return name(e)
	}
	return name(e) + "/" + e.Entry
}

// rules are those of one target.
type rules []config.NotifyRule

// of are the rules that tell a target.
func of(all []config.NotifyRule, target string) (out rules) {
	for _, r := range all {
		for _, to := range r.To {
			if to == target {
				out = append(out, r)
				break
			}
		}
	}
	return out
}

// want tells whether any rule wants a notice.
func (r rules) want(n notice.Notice) bool {
	for _, rule := range r {
		if rule.When == n.Kind && (rule.When != config.PhaseReached || rule.Phase == n.Data.Phase) &&
			among(rule.Centres, n.Data.Centre) && among(rule.Sources, n.Data.Source) && among(rule.Exceptions, n.Data.Exception) {
			return true
		}
	}
	return false
}

// among tells whether a limit lets a word through; capitals don't matter.
func among(limit []string, word string) bool {
	for _, l := range limit {
		if strings.EqualFold(l, word) {
			return true
		}
	}
	return len(limit) == 0
}

// Wanted are the notices of a message that a rule tells, whoever it tells them.
func Wanted(r config.NotifyRule, m schemas.Message) []notice.Notice { return rules{r}.wanted(m) }

// wanted are the notices of a message for a target, in the order in which it tells them.
func (r rules) wanted(m schemas.Message) (out []notice.Notice) {
	e, ok := m.Body.(*schemas.StatusChanged)
	if !ok {
		return nil
	}
	for _, n := range happened(m, e) {
		if r.want(n) {
			out = append(out, n)
		}
	}
	return out
}
