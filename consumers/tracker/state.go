package tracker

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"tributary/schemas"
)

// The states below are what the tracker remembers of each thing, stored in
// the column merge of its row. add is commutative, associative and
// idempotent: a state is a function of the set of its events.

// seen is when something was first and last spoken of.
type seen struct {
	First time.Time `json:"t0,omitzero"`
	Last  time.Time `json:"t1,omitzero"`
}

func (s *seen) add(o seen) {
	s.First, s.Last = earliest(s.First, o.First), latest(s.Last, o.Last)
}

// file is a name and what is to be done with it.
type file struct {
	seen
	Name     string `json:"n"`
	Todo     int    `json:"a"`
	Revision int64  `json:"r,omitempty"` // of its own step; the greatest counts
	Own      step   `json:"o,omitzero"`  // its own (phase, status), before any attempt: a name is judged again when centres change, so the last counts
}

func (f *file) add(o *file) {
	f.seen.add(o.seen)
	f.Name, f.Todo = max(f.Name, o.Name), max(f.Todo, o.Todo)
	switch c := cmp.Or(cmp.Compare(f.Revision, o.Revision), f.Own.At.Compare(o.Own.At)); {
	case o.Own.Phase == 0:
	case f.Own.Phase == 0 || c < 0:
		f.Revision, f.Own = o.Revision, o.Own
	case c == 0:
		f.Own = f.Own.join(o.Own)
	}
}

// hosting is a file on a source.
type hosting struct {
	seen
	File     string    `json:"-"`
	Source   string    `json:"src"`
	Look     int32     `json:"l,omitempty"`
	Revision int64     `json:"r,omitempty"`
	State    string    `json:"s,omitempty"`
	Size     int64     `json:"b,omitempty"`
	ModTime  time.Time `json:"mt,omitzero"`
	Listed   time.Time `json:"lt,omitzero"`
	Note     string    `json:"n,omitempty"`
	Message  string    `json:"m,omitempty"` // why it can't be fetched as it is shown here

	Said         map[string]string `json:"a,omitempty"` // what a listing said of a look beside that
	SaidLook     int32             `json:"al,omitempty"`
	SaidRevision int64             `json:"ar,omitempty"`

	Class     string `json:"c,omitempty"` // how control classed a look without fetching it
	ClassLook int32  `json:"cl,omitempty"`
}

func (h *hosting) add(o *hosting) {
	h.seen.add(o.seen)
	h.File, h.Source = max(h.File, o.File), max(h.Source, o.Source)
	if c := cmp.Or(cmp.Compare(h.Look, o.Look), cmp.Compare(h.Revision, o.Revision)); c < 0 {
		h.Look, h.Revision, h.State, h.Size, h.ModTime, h.Listed, h.Note, h.Message = o.Look, o.Revision, o.State, o.Size, o.ModTime, o.Listed, o.Note, o.Message
	} else if c == 0 {
		// Poll and control both tell of a look, each what it knows.
		h.State, h.Size, h.ModTime, h.Listed, h.Note, h.Message = max(h.State, o.State), max(h.Size, o.Size), latest(h.ModTime, o.ModTime), earliest(h.Listed, o.Listed), max(h.Note, o.Note), max(h.Message, o.Message)
	}
	switch c := cmp.Or(cmp.Compare(h.SaidLook, o.SaidLook), cmp.Compare(h.SaidRevision, o.SaidRevision)); {
	case o.Said == nil:
	case h.Said == nil || c < 0:
		h.Said, h.SaidLook, h.SaidRevision = o.Said, o.SaidLook, o.SaidRevision
	case c == 0:
		h.Said = greatest(h.Said, o.Said)
	}
	if cmp.Or(cmp.Compare(o.ClassLook, h.ClassLook), cmp.Compare(o.Class, h.Class)) > 0 {
		h.Class, h.ClassLook = o.Class, o.ClassLook
	}
}

// greatest has of each name the greater text.
func greatest(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	for name, text := range b {
		out[name] = max(out[name], text)
	}
	return out
}

// attributes are what the listing said of the latest look; nil: nothing.
func (h *hosting) attributes() map[string]string {
	if h.SaidLook < h.Look {
		return nil
	}
	return h.Said
}

// unsettled is the note of a look that poll has not announced yet; other notes
// are control's, who classed the look without fetching it.
const unsettled = "unsettled"

// duplicate is the note of an attempt that brought bytes which are known: of the same file,
// whose attempt it repeats, or of another.
const duplicate = "duplicate"

// note is what is to be said of the latest look.
func (h *hosting) note() string {
	if h.Class != "" && h.ClassLook >= h.Look {
		return h.Class
	}
	return h.Note
}

// outcome is what is known of one outcome of an attempt.
type outcome struct {
	Step     step      `json:"o,omitzero"`
	Started  time.Time `json:"ts,omitzero"`
	Finished time.Time `json:"tf,omitzero"`
	SHA256   string    `json:"h,omitempty"`
	MD5      string    `json:"m,omitempty"`
	Bytes    int64     `json:"b,omitempty"`
	Rows     int64     `json:"r,omitempty"`
	Notes    []string  `json:"n,omitempty"`  // sorted
	From     int64     `json:"f,omitempty"`  // where the transfer went on
	Request  string    `json:"rq,omitempty"` // heads
	Response string    `json:"rs,omitempty"`
}

func (c *outcome) add(o *outcome) {
	c.Step = c.Step.join(o.Step)
	c.Started, c.Finished = earliest(c.Started, o.Started), latest(c.Finished, o.Finished)
	c.SHA256, c.MD5, c.Bytes, c.Rows = max(c.SHA256, o.SHA256), max(c.MD5, o.MD5), max(c.Bytes, o.Bytes), max(c.Rows, o.Rows)
	c.Notes = union(c.Notes, o.Notes)
	c.From, c.Request, c.Response = max(c.From, o.From), max(c.Request, o.Request), max(c.Response, o.Response)
}

// attempt is one attempt to fetch a file.
type attempt struct {
	seen
	File      string              `json:"-"`
	Run       string              `json:"run"`
	Number    int32               `json:"k"`
	Source    string              `json:"src,omitempty"`
	Session   string              `json:"ses,omitempty"`
	Look      int32               `json:"l,omitempty"`
	Listed    int64               `json:"b,omitempty"`
	Requested time.Time           `json:"tr,omitzero"`
	Accepted  string              `json:"acc,omitempty"`
	Repeats   int32               `json:"rep,omitempty"`
	Dropped   bool                `json:"nt,omitempty"` // it ended without being tried
	Final     step                `json:"f,omitzero"`   // control's judgement that the file failed with it
	Outcomes  map[string]*outcome `json:"o,omitempty"`
	Progress  progress            `json:"p,omitzero"` // told last while it runs; nothing once it has ended

	spoken bool // an event is about the attempt itself, not a document of it
}

func (a *attempt) add(o *attempt) {
	a.seen.add(o.seen)
	a.File, a.Run, a.Number = max(a.File, o.File), max(a.Run, o.Run), max(a.Number, o.Number)
	a.Source, a.Session = max(a.Source, o.Source), max(a.Session, o.Session)
	a.Look, a.Listed, a.Repeats = max(a.Look, o.Look), max(a.Listed, o.Listed), max(a.Repeats, o.Repeats)
	a.Requested = earliest(a.Requested, o.Requested)
	a.Accepted = longer(a.Accepted, o.Accepted)
	a.Final = a.Final.join(o.Final)
	a.spoken, a.Dropped = a.spoken || o.spoken, a.Dropped || o.Dropped
	for key, c := range o.Outcomes {
		if mine, ok := a.Outcomes[key]; ok {
			mine.add(c)
			continue
		}
		if a.Outcomes == nil {
			a.Outcomes = map[string]*outcome{}
		}
		a.Outcomes[key] = c
	}
	a.Progress.add(o.Progress)
	if a.over() {
		a.Progress = progress{} // however late some of it was told
	}
}

// document is one document of one outcome of an attempt.
type document struct {
	seen
	File       string     `json:"-"`
	Download   string     `json:"-"`
	Outcome    string     `json:"out"`
	Document   string     `json:"doc,omitempty"`
	Entry      string     `json:"e"`
	Ordinal    int32      `json:"i,omitempty"`
	Centre     string     `json:"c,omitempty"`
	Date       string     `json:"dd,omitempty"`
	Inc        int64      `json:"di,omitempty"`
	Kind       string     `json:"kd,omitempty"`
	Size       int64      `json:"b,omitempty"`
	MD5        string     `json:"m,omitempty"`
	SHA256     string     `json:"h,omitempty"`
	Session    string     `json:"ses,omitempty"`
	Rows       int64      `json:"r,omitempty"`
	Position   int64      `json:"pos,omitempty"`
	Named      step       `json:"j0,omitzero"` // the first judgement of its name
	Judged     step       `json:"j1,omitzero"` // the first judgement by its schema
	Base       step       `json:"c0,omitzero"` // all else, without data checks
	Check      int32      `json:"ck,omitempty"`
	Checked    step       `json:"cn,omitzero"` // of the latest data check
	Provenance provenance `json:"v,omitzero"`

	decided *quality // in quality control, of one that is loaded and checked; only while in memory
}

func (d *document) add(o *document) {
	d.seen.add(o.seen)
	d.File, d.Download, d.Outcome, d.Entry = max(d.File, o.File), max(d.Download, o.Download), max(d.Outcome, o.Outcome), max(d.Entry, o.Entry)
	d.Document, d.Centre, d.Date, d.Kind = max(d.Document, o.Document), max(d.Centre, o.Centre), max(d.Date, o.Date), max(d.Kind, o.Kind)
	d.MD5, d.SHA256, d.Session = max(d.MD5, o.MD5), max(d.SHA256, o.SHA256), max(d.Session, o.Session)
	d.Ordinal, d.Inc, d.Size = max(d.Ordinal, o.Ordinal), max(d.Inc, o.Inc), max(d.Size, o.Size)
	d.Rows, d.Position = max(d.Rows, o.Rows), max(d.Position, o.Position)
	d.Named, d.Judged, d.Base = d.Named.before(o.Named), d.Judged.before(o.Judged), d.Base.join(o.Base)
	switch {
	case o.Check > d.Check:
		d.Check, d.Checked = o.Check, o.Checked
	case o.Check == d.Check:
		d.Checked = d.Checked.join(o.Checked)
	}
	d.Provenance.add(o.Provenance)
}

// place adds a step where it belongs: what a record says that is read again may
// be judged by other rules by then, and what was judged first is what sequence has
// accepted.
func (d *document) place(s step, check int32) {
	switch {
	case check > 0:
		s.Version = "" // it is in Provenance
		d.Check, d.Checked = check, s
	case s.Phase == schemas.XMLName.ID() && (s.Status == done || s.Status == failed):
		d.Named = s
	case s.Phase == schemas.XSD.ID() && (s.Status == done || s.Status == failed):
		d.Judged = s
	default:
		if !s.ended() {
			s.Version = ""
		}
		d.Base = s
	}
}

// unchecked is where the document stands without data checks. What insert has
// taken was accepted, whatever a judgement says whose maker's clock was behind.
func (d *document) unchecked() step {
	out := d.Base
	taken := d.Checked.Phase != 0 || d.Base.Phase >= schemas.Upload.ID() && (d.Base.Status == done || d.Base.Status == failed)
	for _, judgement := range []step{d.Named, d.Judged} {
		if !taken || judgement.Status == done {
			out = out.join(judgement)
		}
	}
	return out
}

// shown is the step that the document shows: its earliest failure before any
// data check, else what the latest check says.
func (d *document) shown() step {
	if s := d.unchecked(); s.ended() || d.Checked.Phase == 0 {
		return s
	}
	return d.Checked
}

// union merges two sorted sets.
func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.SortFunc(out, strings.Compare)
	return slices.Compact(out)
}
