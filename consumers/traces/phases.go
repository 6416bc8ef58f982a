package traces

import (
	"strings"
	"time"

	"tributary/schemas"
)

// Names of the spans that are no phases. The others are called as their phases are.
const (
	rootName     = "file"          // from the first listing of the look until it was announced
	planWait     = "plan"          // until control asked for the first attempt
	downloadWait = "download wait" // until a member began to fetch
	unzipWait    = "unzip wait"
	xsdWait      = "xsd wait"
	order        = "order"     // from the verdict until insert came to the document's position
	dataWait     = "data wait" // from the document's rows until the end of its batch
)

// observation is what one event says: spans that have ended, and edges of those between
// two events.
type observation struct {
	spans []span
	root  *span // of the trace, unless an earlier event made it
	edges []edge
}

// edge is where a wait begins or ends. The wait is a span once both are known.
type edge struct {
	wait span // without its times
	from time.Time
	to   time.Time
}

// read makes of an event what it says of a file's trace.
func read(m schemas.Message, e *schemas.StatusChanged) observation {
	if e.File == "" || m.Time.IsZero() {
		return observation{}
	}
	s := subjectOf(m, e)
	var out observation
	switch e.Entity {
	case schemas.EntityHosting:
		out = s.hosting()
	case schemas.EntityFile:
		out = s.refusal()
	case schemas.EntityDownload:
		out = s.download()
	case schemas.EntityDocument:
		out = s.phases()
	}
	if out.root == nil && e.Run != schemas.LiveRun && (len(out.spans) > 0 || len(out.edges) > 0) {
		// No listing begins a replay, but the first that is told of the file.
		r := s.span(s.root(), [8]byte{}, rootName, s.began(), s.at)
		out.root = &r
	}
	return out
}

// began is when what the event tells of began, as far as it knows.
func (s subject) began() time.Time {
	first := s.at
	for _, t := range []*time.Time{s.event.RequestedAt, s.event.StartedAt} {
		if t != nil && t.Before(first) {
			first = t.UTC()
		}
	}
	return first
}

// hosting is the observation of a file. A look that has not settled is told again,
// and one that is passed over or gone is not processed.
func (s subject) hosting() observation {
	e := s.event
	if e.Note != "" || e.Attributes["state"] != "present" {
		return observation{}
	}
	start := s.at
	if e.ListedAt != nil && e.ListedAt.Before(start) {
		start = e.ListedAt.UTC()
	}
	root := s.outcomeSpan(s.root(), [8]byte{}, rootName, start, s.at)
	return observation{root: &root, edges: []edge{s.planned(s.at, time.Time{})}}
}

// refusal is the end of a file that is not fetched: for its name, or since it is
// gone. It has been seen, and that is its trace.
func (s subject) refusal() observation {
	e := s.event
	if e.Phase != string(schemas.ZipName) || e.Status == string(schemas.Done) {
		return observation{}
	}
	start := s.at
	if e.ListedAt != nil && e.ListedAt.Before(start) {
		start = e.ListedAt.UTC()
	}
	root := s.outcomeSpan(s.root(), [8]byte{}, rootName, start, s.at)
	return observation{root: &root}
}

// download is what is told of an attempt: that it was asked for, fetched, unzipped.
func (s subject) download() observation {
	e := s.event
	if e.RequestedAt != nil && e.StartedAt == nil {
		return observation{edges: []edge{s.planned(time.Time{}, e.RequestedAt.UTC())}}
	}
	if e.StartedAt == nil || e.FinishedAt == nil {
		return observation{}
	}
	start, end := e.StartedAt.UTC(), e.FinishedAt.UTC()
	if e.Phase == string(schemas.Unzip) {
		fetched, _, _ := strings.Cut(e.Outcome, "/")
		return observation{
			spans: []span{s.outcomeSpan(s.attempt(string(schemas.Unzip), e.Outcome), s.root(), string(schemas.Unzip), start, end)},
			edges: []edge{s.edge(s.attempt(unzipWait, fetched), s.root(), unzipWait, time.Time{}, start)},
		}
	}
	fetch := s.outcomeSpan(s.attempt(string(schemas.Download), e.Outcome), s.root(), string(schemas.Download), start, end)
	fetch.client = true
	fetch.attributes = append(fetch.attributes, server(e.Server)...)
	out := observation{spans: []span{fetch}}
	if e.RequestedAt != nil && e.RequestedAt.Before(start) {
		out.spans = append(out.spans, s.span(s.attempt(downloadWait, e.Outcome), s.root(), downloadWait, e.RequestedAt.UTC(), start))
	}
	if e.Status == string(schemas.Done) {
		out.edges = append(out.edges, s.edge(s.attempt(unzipWait, e.Outcome), s.root(), unzipWait, end, time.Time{}))
	}
	return out
}

// phases are what is told of a document: those that it passed, the one that it
// is in, and the waits between.
func (s subject) phases() observation {
	e := s.event
	var out observation
	for _, p := range e.Passed {
		start, end := s.times(p.StartedAt, p.FinishedAt)
		id, parent := s.place(p.Phase)
		passed := s.outcomeSpan(id, parent, p.Phase, start, end)
		passed.failed, passed.message = "", ""
		out.add(s, passed)
	}
	if e.Phase == "" || e.FinishedAt == nil && (e.Status == string(schemas.Pending) || e.Status == string(schemas.Running)) {
		return out
	}
	start, end := s.times(e.StartedAt, e.FinishedAt)
	id, parent := s.place(e.Phase)
	out.add(s, s.outcomeSpan(id, parent, e.Phase, start, end))
	return out
}

// place is the id of a document's phase and what it stands below: the first stands
// below the archive, where that was unzipped in this trace, and the others below
// the first.
func (s subject) place(phase string) (id, parent [8]byte) {
	switch {
	case phase != string(schemas.XMLName):
		return s.document(phase), s.reading()
	case s.stage == string(schemas.Unzip):
		return s.reading(), s.attempt(string(schemas.Unzip), s.event.Outcome)
	}
	return s.reading(), s.root()
}

// times are a phase's. One that was judged before the replay took none.
func (s subject) times(started, finished *time.Time) (start, end time.Time) {
	if started == nil || finished == nil {
		return s.at, s.at
	}
	return started.UTC(), finished.UTC()
}

// add adds a phase of a document, and where waits begin and end with it.
func (t *observation) add(s subject, p span) {
	t.spans = append(t.spans, p)
	var before, after string
	switch schemas.Phase(p.name) {
	case schemas.XMLName:
		after = xsdWait
	case schemas.XSD:
		before, after = xsdWait, order
	case schemas.Upload:
		before, after = order, dataWait
	case schemas.Data:
		before = dataWait
	default:
	}
	if before != "" && s.event.Check <= 1 {
		t.edges = append(t.edges, s.edge(s.between(before), s.reading(), before, time.Time{}, p.start))
	}
	if after != "" && p.failed == "" {
		t.edges = append(t.edges, s.edge(s.between(after), s.reading(), after, p.end, time.Time{}))
	}
}

// between is the wait of a document between two phases.
func (s subject) between(name string) [8]byte {
	s.event = &schemas.StatusChanged{Attempt: s.event.Attempt, Outcome: s.event.Outcome, DocumentRef: schemas.DocumentRef{Document: s.event.Document}}
	return s.document(name)
}

// planned is an edge of the wait for the first attempt, whichever event tells it.
func (s subject) planned(from, to time.Time) edge {
	e := *s.event
	e.Attempt, s.event = 0, &e
	return s.edge(spanID(s.trace, planWait), s.root(), planWait, from, to)
}

func (s subject) edge(id, parent [8]byte, name string, from, to time.Time) edge {
	return edge{wait: s.span(id, parent, name, time.Time{}, time.Time{}), from: from, to: to}
}
