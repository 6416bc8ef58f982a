package corpus

import (
	"cmp"
	"slices"

	"tributary/test/corpus/ledger"
)

// Oracle is what must be seen when everything has been ingested.
type Oracle struct {
	Files        []FileEnd
	Documents    []DocEnd
	Specimens    []Specimen
	Runs         []Run
	Measurements []Measurement // nil for Big, see Counts
	Counts       Counts
	Order        []Position
	Warehouse    *Warehouse // nil for Big
}

// Counts are the numbers of current rows in the warehouse.
type Counts struct{ Specimens, Runs, Measurements int }

// FileEnd is the end of one file.
type FileEnd struct {
	File, Action  string
	Centre        *string  // nil for a bad name
	Sources       []string // any of which it may have been fetched from; empty: from none
	Phase, Status string
	Exceptions    []string // any of which may be shown; empty: not judged
	Message       string   // what the message must contain
	Attempts      int      // 0: not judged
	Size          int64    // bytes; 0 for a bad name
	SHA256        string   // empty for a bad name
	Documents     int      // that are shown
}

// DocEnd is the end of one document.
type DocEnd struct {
	Document, File, Action, Centre string
	Phase, Status                  string
	Errors                         []Finding // each must be there; there may be more, unless there are none here
}

// Finding is an expected error of a document.
type Finding struct {
	Exception    string
	Line, Column int // 0: not judged
}

// Specimen is a row of current_specimen.
type Specimen struct {
	Centre, SpecimenID string
	Kind               string // mouse or embryo
}

// Run is a row of current_procedure_run. What it does not have is nil.
type Run struct {
	Centre, Kind          string
	Pipeline, Project     string
	ExperimentID          *string
	ProcedureID           *string
	SequenceID            *string
	ColonyID              *string
	FromLIMS, LastUpdated *string  // of a housing
	Specimens             []string // in document order
}

// Measurement is a row of current_measurement: one value of a parameter. A
// parameter with a status and no value is one row without value.
type Measurement struct {
	Run         Run
	Kind        string // simple, ontology, series or metadata
	ParameterID string
	SequenceID  *int64
	Increment   *string
	Unit        *string
	Value       *string
	Status      *string
}

// Position is one place in the order of insertion. Sessions count from 1: what
// Add and Reupload bring is a session of its own.
type Position struct {
	Session                int
	Centre                 string
	Action, File, Document string
	Loads                  bool // false: it is ordered, and fails at upload
}

// loads reports whether the rows of d reach the warehouse.
func loads(f *file, d *document) bool {
	if _, bad := endOf(f.fault); bad {
		return false
	}
	_, bad := endOfDocument(d.fault)
	return !bad
}

// judge computes the oracle of all files, but for the order.
func judge(files []*file, big bool, loaded *lists) Oracle {
	specimens, runs := claims{}, claims{}
	b := &books{of: map[*document]*ledger.Document{}}
	var o Oracle
	if !big {
		b = keep(files)
		b.lists = loaded
		o.Warehouse = b.warehouse()
	}
	for _, f := range files {
		for _, d := range f.shown() {
			if l := b.of[d]; !loads(f, d) || l != nil && l.Withdrawn {
				continue
			}
			at, gone := versionOf(f, d), f.action == remove
			for _, s := range d.specimens {
				specimens.make(specimenKey(f.centre, s.id), claim{version: at, gone: gone, owner: d, specimen: s, centre: f.centre})
			}
			d.bulk.each(func(r *run) {
				r.forget() // only their number is told of values in bulk
				runs.make(runKey(f.centre, r), claim{version: at, gone: gone, owner: d, run: r, centre: f.centre})
			})
			for _, r := range d.runs {
				runs.make(runKey(f.centre, r), claim{version: at, gone: gone, owner: d, run: r, centre: f.centre})
			}
		}
	}
	for _, x := range specimens.current() {
		kind := "mouse"
		if x.specimen.embryo {
			kind = "embryo"
		}
		o.Specimens = append(o.Specimens, Specimen{Centre: x.centre, SpecimenID: x.specimen.id, Kind: kind})
	}
	for _, x := range runs.current() {
		row := x.row()
		o.Runs = append(o.Runs, row)
		found := measurements(row, x.run)
		o.Counts.Measurements += len(found)
		if !big {
			o.Measurements = append(o.Measurements, found...)
		}
	}
	o.Counts.Specimens, o.Counts.Runs = len(o.Specimens), len(o.Runs)
	for _, f := range files {
		o.ends(f, b.findings)
	}
	return o
}

// shown are the documents of all uploads of a file.
func (f *file) shown() []*document {
	var out []*document
	for n := range f.uploads + 1 {
		out = append(out, f.upload(n).docs...)
	}
	return out
}

// ends judges a file and its documents.
func (o *Oracle) ends(f *file, findings map[*document][]Finding) {
	fe := FileEnd{File: f.name, Action: f.action, Sources: f.expect, Phase: "overview", Status: "done", Size: f.size, SHA256: f.sha256, Attempts: 1}
	if f.centre != "" {
		fe.Centre = ptr(f.centre)
	}
	if len(f.hosts) > 1 || f.uploads > 0 {
		fe.Attempts = 0
	}
	if bad, is := endOf(f.fault); is {
		fe.Phase, fe.Status, fe.Exceptions, fe.Message, fe.Attempts = bad.phase, "failed", bad.exceptions, bad.message, 0
		if f.centre == "" {
			fe.Size, fe.SHA256, fe.Sources = 0, "", nil
		}
		o.Files = append(o.Files, fe)
		return
	}
	fe.Documents = len(f.docs)
	for _, d := range f.docs {
		de := DocEnd{Document: d.name, File: f.name, Action: f.action, Centre: f.centre, Phase: "overview", Status: "done"}
		if bad, is := endOfDocument(d.fault); is {
			de.Phase, de.Status, de.Errors = bad.phase, "failed", []Finding{{Exception: bad.exceptions[0], Line: d.faultLine}}
		} else if open := findings[d]; len(open) > 0 {
			de.Phase, de.Status, de.Errors = "data", "failed", open
		}
		if de.Status == "failed" && (fe.Status != "failed" || phase(de.Phase) < phase(fe.Phase)) {
			fe.Phase, fe.Status = de.Phase, "failed"
		}
		o.Documents = append(o.Documents, de)
	}
	o.Files = append(o.Files, fe)
}

func phase(name string) int {
	return slices.Index([]string{"zip_name", "download", "zip_md5", "unzip", "xml_name", "xsd", "upload", "data", "context", "overview", "qc"}, name)
}

func (x claim) row() Run {
	r := x.run
	row := Run{Centre: x.centre, Kind: r.kind, Pipeline: r.pipeline, Project: r.project, ProcedureID: r.procedure, SequenceID: r.sequence, Specimens: r.specimens}
	switch r.kind {
	case experimentRun:
		row.ExperimentID = ptr(r.experiment)
	case lineRun:
		row.ColonyID = ptr(r.colony)
	case housingRun:
		lims := "false"
		if r.fromLIMS {
			lims = "true"
		}
		row.FromLIMS, row.LastUpdated = ptr(lims), ptr(day(r.date))
	}
	return row
}

func measurements(row Run, r *run) []Measurement {
	var out []Measurement
	for _, p := range r.params {
		kind, is := map[string]string{simple: "simple", ontology: "ontology", series: "series", metadata: "metadata"}[p.kind]
		if !is {
			continue
		}
		m := Measurement{Run: row, Kind: kind, ParameterID: p.id, SequenceID: p.seq, Unit: p.unit, Status: p.status}
		if len(p.values) == 0 {
			out = append(out, m)
			continue
		}
		for _, v := range p.values {
			m.Increment, m.Value = v.increment, ptr(v.text)
			out = append(out, m)
		}
	}
	return out
}

// groupOf is the first part of the order within a batch: specimens, then
// experiments, then deletions of experiments, then deletions of specimens.
func groupOf(f *file, d *document) int {
	switch {
	case d.kind == experimentKind && f.action != remove:
		return 1
	case d.kind == experimentKind:
		return 2
	case f.action == remove:
		return 3
	}
	return 0
}

// orderOf is the order in which the documents of these files are inserted when
// one session finds them all, centre by centre.
func orderOf(files []*file, session int) []Position {
	type placed struct {
		Position
		group   int
		version version
	}
	var all []placed
	for _, f := range files {
		if _, bad := endOf(f.fault); bad {
			continue
		}
		for _, d := range f.docs {
			if bad, is := endOfDocument(d.fault); is && bad.phase != "upload" {
				continue
			}
			all = append(all, placed{Position{session, f.centre, f.action, f.name, d.name, loads(f, d)}, groupOf(f, d), versionOf(f, d)})
		}
	}
	slices.SortFunc(all, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.Centre, b.Centre), cmp.Compare(a.group, b.group), a.version.compare(b.version))
	})
	out := make([]Position, len(all))
	for i := range all {
		out[i] = all[i].Position
	}
	return out
}
