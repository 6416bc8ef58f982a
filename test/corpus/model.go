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
	old     []earlier
	gone    []int // uploads that were unloaded
	stream  bool

	size   int64
	sha256 string
}

// earlier is what an earlier upload of a file had.
type earlier struct {
	docs   []*document
	sha256 string
	size   int64
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
	rows      []tuple // set by rendering, unless there is a bulk
}

// specimen is a mouse or an embryo.
type specimen struct {
	id, colony, strain, gender, zygosity string
	litter, pipeline, project            string
	baseline, embryo                     bool
	born                                 time.Time
	zone                                 string // behind the date of birth
	stage, stageUnit                     string // days after copulation unless said
	status                               string
	phenotyping                          string      // another centre
	relatives                            [][2]string // specimen, relationship
	genotypes                            []genotype
	strains                              []string // parental
	alterations                          [][]segment
}

type genotype struct{ symbol, gene, allele, mother, father string }

type segment struct{ kind, from, to, species string }

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
	statuses          []string // after the first
}

// param is a parameter of any kind with its values.
type param struct {
	kind   string // element name
	id     string
	seq    *int64
	unit   *string
	values []value
	status *string
	files  []mediaFile // of the kinds of media
	meta   []param     // of a series of files
}

type value struct {
	increment *string
	status    string // of the increment
	text      string
}

// mediaFile is a file that lies elsewhere. Files of one sample, and of one
// section in it, follow each other.
type mediaFile struct {
	sample, section, local string
	increment              string
	uri, fileType, link    string
	shows                  []association
	meta                   []param
}

type association struct {
	parameter string
	seq       *int64
	link      string
	dims      []dim
}

type dim struct{ id, origin, unit, value string }

// Kinds of run and of parameter; the latter are the names of their elements.
const (
	experimentRun = "experiment"
	lineRun       = "line"
	housingRun    = "housing"

	simple   = "simpleParameter"
	ontology = "ontologyParameter"
	series   = "seriesParameter"
	media    = "mediaParameter"
	sampled  = "mediaSampleParameter"
	filmed   = "seriesMediaParameter"
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
