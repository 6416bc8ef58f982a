package corpus

import (
	"fmt"
	"time"
)

const (
	add    = "add"
	edit   = "edit"
	remove = "delete"

	specimenKind   = "specimen"
	experimentKind = "experiment"
)

// file is one zip as its centre meant it.
type file struct {
	name    string
	action  string
	centre  string // canonical; empty if its name is bad
	date    time.Time
	inc     int
	docs    []*document
	others  int // entries that are no documents
	hosts   []string
	expect  []string // sources it may have been fetched from
	fault   string
	uploads int // after the first
	stream  bool

	size   int64
	sha256 string
}

// document is one XML of a zip.
type document struct {
	name      string
	kind      string
	centreID  string
	date      time.Time
	inc       int
	specimens []*specimen
	runs      []*run
	encoding  string // as it is declared; UTF-8 if empty
	fault     string
	faultLine int // set by rendering
	variant   int // of the fault
	bulk      *bulk
}

// specimen is a mouse or an embryo.
type specimen struct {
	id, colony, strain, gender, zygosity string
	litter, pipeline, project            string
	baseline, embryo                     bool
	born                                 time.Time
	stage                                string
	status                               string
}

// run is one procedure carried out: an experiment, a line or a housing.
type run struct {
	kind              string
	pipeline, project string
	experiment        string
	sequence          *string
	date              time.Time
	specimens         []string
	colony            string
	fromLIMS          bool
	procedure         *string
	params            []param
	status            string
}

// param is a parameter of any kind with its values.
type param struct {
	kind   string // element name
	id     string
	seq    *int64
	unit   *string
	values []value
	status *string
}

type value struct {
	increment *string
	text      string
}

// Kinds of run and of parameter; the latter are the names of their elements.
const (
	experimentRun = "experiment"
	lineRun       = "line"
	housingRun    = "housing"

	simple   = "simpleParameter"
	ontology = "ontologyParameter"
	series   = "seriesParameter"
	media    = "mediaParameter"
	metadata = "procedureMetadata"
)

func ptr[T any](v T) *T { return &v }

func day(t time.Time) string { return t.Format(time.DateOnly) }

func zipName(centre string, date time.Time, inc int) string {
	return fmt.Sprintf("%s.%s.%02d.impc.zip", centre, day(date), inc)
}

func documentName(centre string, date time.Time, inc int, kind string) string {
	return fmt.Sprintf("%s.%s.%02d.%s.impc.xml", centre, day(date), inc, kind)
}

// copyOf is a deep enough copy: what revise changes is not shared.
func (r *run) copyOf() *run {
	out := *r
	out.params = make([]param, len(r.params))
	for i, p := range r.params {
		out.params[i] = p
		out.params[i].values = append([]value{}, p.values...)
	}
	return &out
}
