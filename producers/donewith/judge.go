package donewith

import (
	"time"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/sql/control"
)

// found is what lies where a file was inserted from.
type found struct {
	entry   remote.Entry
	absent  bool
	moved   bool  // it lies where it was to be moved
	refused error // the server doesn't say
}

// judgement is what is known of one file when it is decided what is done with it.
type judgement struct {
	rule   config.DoneWith
	item   control.DoneWith
	began  bool // it was begun before, and what came of that is not known
	acting bool // it is ordered to be done, and stored that it is begun
	busy   bool // it is ordered, and may not be begun now
}

func (j judgement) path() string { return j.item.Action + "/" + j.item.Name }

func left(exception, message string) control.DoneOutcome {
	return control.DoneOutcome{State: control.DoneLeft, Exception: exception, Message: message}
}

// decide says what becomes of the file, or that it is to be acted. Nothing is done with
// what is not, as far as the server tells, the very file that was inserted.
func (j judgement) decide(is found) (o control.DoneOutcome, act bool) {
	switch {
	case is.refused != nil:
		return control.DoneOutcome{State: control.DoneDue, Exception: remote.Exception(is.refused), Message: is.refused.Error()}, false
	case is.absent && j.began && (j.rule.Act == config.DoneDelete || is.moved):
		o = j.done()
		o.Message += "; whoever began it was cut off"
		return o, false
	case is.absent:
		return left("file_gone", "it is not there any more, and not by us"), false
	case !j.item.Shown:
		return left("changed_since_insertion", "the source lists another look of it by now"), false
	case !verifiable(j.item, is.entry):
		return left("file_unverifiable", "the server doesn't tell size and time of it as its listing did"), false
	case !same(j.item, is.entry):
		return left("changed_since_insertion", "it has another size or time than what was inserted"), false
	case j.busy:
		return control.DoneOutcome{State: control.DoneDue, Message: "something of the file is under way, or it is held"}, false
	case !j.acting:
		return control.DoneOutcome{State: control.DoneShown, Message: "would be " + j.said() + ": all of it is inserted; nobody has ordered to act at the source"}, false
	}
	return o, true
}

// done is the outcome of what is done.
func (j judgement) done() control.DoneOutcome {
	return control.DoneOutcome{State: control.DoneDone, Taken: j.rule.Act != config.DoneMark, Message: j.said() + ", since all of it is inserted"}
}

// said is what is done, in the past.
func (j judgement) said() string {
	switch j.rule.Act {
	case config.DoneDelete:
		return "deleted at the source"
	case config.DoneMove:
		return "moved at the source, to " + j.rule.Target(j.path())
	}
	return "marked at the source, by " + j.rule.Target(j.path())
}

// verifiable tells whether both the listing and the server say size and time.
func verifiable(d control.DoneWith, e remote.Entry) bool {
	return e.Kind == remote.File && d.ModTime != nil && !e.ModTime.IsZero() && d.Size >= 0 && e.Size >= 0 && e.Precision <= time.Second
}

// same tells whether they say the same, to the second: listings and servers round
// otherwise below that.
func same(d control.DoneWith, e remote.Entry) bool {
	return d.Size == e.Size && d.ModTime.Truncate(time.Second).Equal(e.ModTime.Truncate(time.Second))
}
