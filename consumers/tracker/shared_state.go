package tracker

import (
	"cmp"
	"encoding/json"
	"maps"
	"time"
)

// What is spoken of under several keys, and so in several partitions, or has
// revisions.

// announced is a centre or a source: the announcement with the greatest
// revision counts.
type announced struct {
	Name       string            `json:"n"`
	Revision   int64             `json:"r"`
	Centre     string            `json:"c,omitempty"` // that runs the source
	Attributes map[string]string `json:"a,omitempty"`
	Created    time.Time         `json:"t0,omitzero"`
	At         time.Time         `json:"t1,omitzero"` // of the announcement that counts
}

func (a *announced) add(o *announced) {
	a.Name = max(a.Name, o.Name)
	a.Created = earliest(a.Created, o.Created)
	if o.At.IsZero() {
		return
	}
	c := -1
	if !a.At.IsZero() {
		c = cmp.Or(cmp.Compare(a.Revision, o.Revision), cmp.Compare(a.text(), o.text()))
	}
	if c < 0 {
		a.Revision, a.Centre, a.Attributes, a.At = o.Revision, o.Centre, o.Attributes, o.At
	} else if c == 0 {
		a.At = latest(a.At, o.At)
	}
}

// text tells two announcements with one revision apart.
func (a *announced) text() string {
	text, err := json.Marshal([]any{a.Centre, a.Attributes}) // keys are sorted
	if err != nil {
		return ""
	}
	return string(text)
}

// session is a round of polling.
type session struct {
	seen
	Number   int64     `json:"k,omitempty"`
	Started  time.Time `json:"ts,omitzero"`
	Finished time.Time `json:"tf,omitzero"`
	Status   int       `json:"s,omitempty"`
	Phase    int       `json:"p,omitempty"` // that failed
	Note     string    `json:"n,omitempty"`
}

func (s *session) add(o *session) {
	s.seen.add(o.seen)
	s.Number, s.Status, s.Phase, s.Note = max(s.Number, o.Number), max(s.Status, o.Status), max(s.Phase, o.Phase), max(s.Note, o.Note)
	s.Started, s.Finished = earliest(s.Started, o.Started), latest(s.Finished, o.Finished)
}

// closed is the parent's status: null while open, 0, or the task that failed.
func (s *session) closed() any {
	switch {
	case s.Status == failed || s.Status == cancelled:
		return max(s.Phase, 1)
	case s.Status == done || !s.Finished.IsZero():
		return 0
	}
	return nil
}

// task is one poll of a session.
type task struct {
	seen
	Session  string            `json:"-"`
	Source   string            `json:"src,omitempty"`
	Phase    int               `json:"p"`
	Step     step              `json:"o,omitzero"`
	Started  time.Time         `json:"ts,omitzero"`
	Finished time.Time         `json:"tf,omitzero"` // of the end that counts, the last
	Counts   map[string]string `json:"c,omitempty"`
}

func (t *task) add(o *task) {
	t.seen.add(o.seen)
	t.Session, t.Source, t.Phase = max(t.Session, o.Session), max(t.Source, o.Source), max(t.Phase, o.Phase)
	t.Started = earliest(t.Started, o.Started)
	c := cmp.Or(t.Finished.Compare(o.Finished), t.Step.compare(o.Step))
	if c < 0 {
		t.Step, t.Finished, t.Counts = o.Step, o.Finished, maps.Clone(o.Counts)
	} else if c == 0 {
		t.Step = t.Step.join(o.Step)
		if (&announced{Attributes: t.Counts}).text() < (&announced{Attributes: o.Counts}).text() {
			t.Counts = maps.Clone(o.Counts)
		}
	}
}

// batch is what is inserted together.
type batch struct {
	seen
	Centre    string    `json:"c"`
	Number    int64     `json:"k"`
	Session   string    `json:"ses,omitempty"`
	Status    int       `json:"s,omitempty"`
	Documents int64     `json:"r,omitempty"`
	Started   time.Time `json:"ts,omitzero"`
	Finished  time.Time `json:"tf,omitzero"`
	Position  int64     `json:"pos,omitempty"` // of its end
	Checked   string    `json:"v,omitempty"`   // by what all records of the centre were checked at its end
}

func (b *batch) add(o *batch) {
	b.seen.add(o.seen)
	b.Centre, b.Number = max(b.Centre, o.Centre), max(b.Number, o.Number)
	b.Session, b.Status, b.Documents = max(b.Session, o.Session), max(b.Status, o.Status), max(b.Documents, o.Documents)
	b.Started, b.Finished = earliest(b.Started, o.Started), latest(b.Finished, o.Finished)
	b.Position, b.Checked = max(b.Position, o.Position), max(b.Checked, o.Checked)
}

// named is a zip's name with whatever actions it lies under.
type named struct {
	Last     time.Time `json:"t1,omitzero"`
	Name     string    `json:"n"`
	Centre   string    `json:"c,omitempty"`
	Date     string    `json:"dd,omitempty"`
	Inc      int64     `json:"di,omitempty"`
	Dated    bool      `json:"ok,omitempty"`
	SHA256   string    `json:"h,omitempty"`
	MD5      string    `json:"m,omitempty"`
	Size     int64     `json:"b,omitempty"`
	Received time.Time `json:"tf,omitzero"`
}

func (n *named) add(o *named) {
	n.Last = latest(n.Last, o.Last)
	n.Name, n.Centre, n.Date, n.Inc = max(n.Name, o.Name), max(n.Centre, o.Centre), max(n.Date, o.Date), max(n.Inc, o.Inc)
	n.Dated = n.Dated || o.Dated
	if cmp.Or(n.Received.Compare(o.Received), cmp.Compare(n.SHA256, o.SHA256), cmp.Compare(n.MD5, o.MD5), cmp.Compare(n.Size, o.Size)) < 0 {
		n.SHA256, n.MD5, n.Size, n.Received = o.SHA256, o.MD5, o.Size, o.Received
	}
}

// version is the bytes received under a file's name.
type version struct {
	seen
	File   string `json:"-"`
	SHA256 string `json:"h"`
	MD5    string `json:"m,omitempty"`
	Size   int64  `json:"b,omitempty"`
}

func (v *version) add(o *version) {
	v.seen.add(o.seen)
	v.File, v.SHA256 = max(v.File, o.File), max(v.SHA256, o.SHA256)
	v.MD5, v.Size = max(v.MD5, o.MD5), max(v.Size, o.Size)
}
