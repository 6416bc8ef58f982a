// Package why answers why a file is where it is, or why it was not taken.
//
// Judge is one pure function from facts to an answer, for the command, and for
// whoever shows the same elsewhere. An Asker gathers the facts, from control and
// from the tracker, in statements that follow indexes and end at limits.
package why

import (
	"fmt"
	"time"

	"tributary/internal/profile"
	"tributary/schemas"
	"tributary/schemas/exception"
	"tributary/sql/control"
)

// Limits are the settings up to which things are waited for.
type Limits struct {
	Settle       time.Duration // how long a file must have looked the same
	PollCutoff   time.Duration // after which a session's polls are waited for no longer
	ReleaseLimit time.Duration // after which a batch is released with what has ended
	LateLimit    time.Duration // how long a late batch gathers
}

// Source is the source that is asked about.
type Source struct {
	control.Standing

	Listings control.Listings
	Complete *CompleteListing // the last that the tracker knows; nil: none
	Ignored  control.Ignored  // the entry of this name that is passed over; without a name: none is
	Filter   string           // its filter that excludes the file; empty: none does
	Refusal  string           // why the source may not show files of the name's centre; empty: it may
}

// Facts are what is known of one file at one source. What was not asked, or is
// not known, is nil or empty.
type Facts struct {
	Now    time.Time
	Limits Limits

	Name    string // the file's, as a listing keeps it
	Action  string // its directory: add, edit or delete; empty: none was named, and none is known
	Outside string // the directory that was named, where it is none of these
	Centre  string // that the name says; empty where it breaks the convention
	Bad     *profile.NameError

	SourceID string  // as it was asked; empty: no source could show the file
	Source   *Source // nil: there is none of that id

	File     *control.KnownFile
	Look     *control.LastLook // what the source showed last
	Hostings []control.Hosting // at all sources
	Fetches  []control.Fetch   // the newest first
	From     *control.Hosting  // from where it is fetched next; nil: from nowhere now
	Choice   []control.Hosting // from where it could be, in the order in which that is tried
	Credit   control.CreditUse // of the server of From
	Left     time.Time         // until when that server has asked to be left alone; zero: it has not
	Pace     string            // how fast it may be asked for the source of From, or of the job; empty: as fast as it goes
	Queue    control.Queue
	Batch    *control.BatchStanding
	Replays  []control.ReplayOf // that chose it, the newest first
	Unload   *control.Operation // of the bytes that it shows
	Damage   *control.Damage    // of the bytes that it shows

	Dormant string // why nothing is fetched, as this machine sees it
	Stopped string // at which record insertion has stopped until a person decides
	Applied *int64 // the last position that the warehouse has applied

	Tracked *Tracked // nil: the tracker doesn't know the file
	Hosted  *Hosted  // what the tracker has of the hosting
}

// Fact is a piece of evidence.
type Fact struct {
	At   *time.Time `json:"at,omitempty"` // when it came to be so; nil: it has no time
	Text string     `json:"text"`
}

// Answer says why a file is where it is. Its texts quote what others chose: they
// are fit for a terminal only once package screen has shown them.
type Answer struct {
	File     string  `json:"file"`   // action/name, or the name alone
	Source   string  `json:"source"` // empty: no source could show it
	Verdict  Verdict `json:"verdict"`
	Sentence string  `json:"sentence"`
	Evidence []Fact  `json:"evidence"`
	Next     string  `json:"next,omitempty"` // what to do; empty: nothing is to be done
	Older    int32   `json:"older_looks"`    // how often the source showed it otherwise before
}

// Judge answers from facts alone.
func Judge(f Facts) Answer {
	a := Answer{File: f.file(), Source: f.SourceID, Evidence: []Fact{}}
	if f.Look != nil {
		a.Older = max(f.Look.Look-1, 0)
	}
	switch {
	case f.SourceID != "" && f.Source == nil:
		a.say(SourceUnknown, "There is no source %s, so nothing of it is taken.", f.SourceID)
		a.Next = "Look for its name: tributary sources"
	case f.File != nil && f.File.Held():
		f.held(&a)
	case f.Look != nil:
		f.listed(&a)
	case f.File == nil && f.Tracked != nil:
		f.remembered(&a)
	default:
		f.unlisted(&a)
	}
	f.twins(&a)
	f.urgency(&a)
	f.history(&a)
	return a
}

// file is what people call the file.
func (f *Facts) file() string {
	switch name := schemas.Cut(f.Name, maxName); {
	case f.Outside != "":
		return schemas.Cut(f.Outside, maxName) + "/" + name
	case f.Action != "":
		return f.Action + "/" + name
	default:
		return name
	}
}

const (
	maxName = 300  // bytes of a name that an answer repeats
	maxText = 1000 // bytes of a message
)

// say gives the verdict in a sentence.
func (a *Answer) say(v Verdict, format string, args ...any) {
	a.Verdict, a.Sentence = v, fmt.Sprintf(format, args...)
}

// prove adds evidence that has no time.
func (a *Answer) prove(format string, args ...any) { a.proveAt(nil, format, args...) }

// proveAt adds evidence.
func (a *Answer) proveAt(at *time.Time, format string, args ...any) {
	if at != nil {
		utc := at.UTC()
		at = &utc
	}
	a.Evidence = append(a.Evidence, Fact{At: at, Text: fmt.Sprintf(format, args...)})
}

// because is an exception with what was said about it.
func because(name, message string) string {
	switch {
	case name == "":
		return schemas.Cut(message, maxText)
	case message == "":
		return schemas.Cut(name, maxName)
	}
	return schemas.Cut(name, maxName) + ": " + schemas.Cut(message, maxText)
}

// remedy is what to do about an exception; empty where it is not documented.
func remedy(name string) string {
	e, _ := exception.Find(name)
	return e.Do
}
