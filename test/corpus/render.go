package corpus

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const (
	namespace = "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/"

	latin1 = "ISO-8859-1"
	utf16  = "UTF-16"
)

// page writes XML one element a line and knows the line it is on.
type page struct {
	w     *bufio.Writer
	line  int
	bytes int // of UTF-8
	keep  bool
	rows  []tuple
	open  []int // ordinals of the rows whose elements are not closed
}

func (p *page) printf(format string, args ...any) {
	n, _ := fmt.Fprintf(p.w, format, args...) // bufio keeps the error for Flush
	_ = p.w.WriteByte('\n')
	p.line++
	p.bytes += n + 1
}

// attr formats an attribute, escaped; empty values are left out.
func attr(name, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + `="` + esc(value) + `"`
}

func esc(s string) string {
	var b writer
	_ = xml.EscapeText(&b, []byte(s)) // writes to memory
	return string(b)
}

type writer []byte

func (w *writer) Write(b []byte) (int, error) {
	*w = append(*w, b...)
	return len(b), nil
}

// write renders d in its encoding.
func (d *document) write(w io.Writer) error {
	var recode *transform.Writer
	switch d.encoding {
	case latin1:
		recode = transform.NewWriter(w, charmap.ISO8859_1.NewEncoder())
	case utf16:
		recode = transform.NewWriter(w, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder())
	}
	if recode != nil {
		w = recode
	}
	p := &page{w: bufio.NewWriterSize(w, 64<<10), line: 1, keep: d.bulk == nil}
	d.body(p)
	d.rows = p.rows
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("write document %s: %w", d.name, err)
	}
	if recode != nil {
		if err := recode.Close(); err != nil {
			return fmt.Errorf("encode document %s: %w", d.name, err)
		}
	}
	return nil
}

func (d *document) body(p *page) {
	encoding := d.encoding
	if encoding == "" {
		encoding = "UTF-8"
	}
	p.printf(`<?xml version="1.0" encoding="%s"?>`, encoding)
	root, space := "centreSpecimenSet", namespace+"specimen"
	if d.kind == experimentKind {
		root, space = "centreProcedureSet", namespace+"procedure"
	}
	if d.fault == docDoctype {
		d.faultLine = p.line
		p.printf(`<!DOCTYPE %s [<!ENTITY e "entity">]>`, root)
	}
	p.printf(`<%s xmlns="%s">`, root, space)
	if d.kind == specimenKind {
		d.specimenCentre(p)
	} else {
		d.procedureCentres(p)
	}
	p.printf(`</%s>`, root)
}

func (d *document) specimenCentre(p *page) {
	p.enter("submission", 2, there(d.centreID), "-", "-")
	p.printf(`  <centre%s>`, attr("centreID", d.shownCentre(p)))
	for _, s := range d.specimens {
		s.write(p, d.centreID)
	}
	if d.breaks(p) {
		if d.fault == docInvalid {
			p.printf(`    <mouse DOB="2024-02-30" isBaseline="perhaps"/>`)
		} else {
			p.printf(`    <mouse></embryo>`)
		}
	}
	p.printf(`  </centre>`)
	p.leave()
}

// shownCentre is the centreID as it is written. One variant of an invalid
// document names a centre that the schema doesn't know.
func (d *document) shownCentre(p *page) string {
	if d.fault == docInvalid && d.variant%3 == 1 {
		d.faultLine = p.line
		return "Bay"
	}
	return d.centreID
}

// breaks reports whether the fault is to be written here, and notes the line.
func (d *document) breaks(p *page) bool {
	if d.fault == docMalformed || d.fault == docInvalid && d.variant%3 != 1 {
		d.faultLine = p.line
		return true
	}
	return false
}

// procedureCentres writes one centre element per pipeline, in the order in
// which the schema wants its children.
func (d *document) procedureCentres(p *page) {
	type group struct{ pipeline, project string }
	var groups []group
	runs := map[group][]*run{}
	for _, r := range d.runs {
		g := group{r.pipeline, r.project}
		if runs[g] == nil {
			groups = append(groups, g)
		}
		runs[g] = append(runs[g], r)
	}
	for i, g := range groups {
		p.enter("submission", 2, there(d.centreID), there(g.pipeline), there(g.project))
		p.printf(`  <centre%s%s%s>`, attr("centreID", d.shownCentre(p)), attr("pipeline", g.pipeline), attr("project", g.project))
		for _, kind := range []string{housingRun, lineRun, experimentRun} {
			for _, r := range runs[g] {
				if r.kind == kind {
					r.write(p, d.centreID)
				}
			}
		}
		if i == len(groups)-1 {
			d.bulk.write(p)
			if d.breaks(p) {
				switch {
				case d.fault == docMalformed:
					p.printf(`    <experiment></line>`)
				case d.variant%3 == 0:
					p.printf(`    <experiment experimentID="no_date"><specimenID>1</specimenID></experiment>`)
				default:
					p.printf(`    <surprise/>`)
				}
			}
		}
		p.printf(`  </centre>`)
		p.leave()
	}
}

func (s *specimen) write(p *page, centre string) {
	unit := s.stageUnit
	if unit == "" {
		unit = "DPC"
	}
	kind, life := "mouse", attr("DOB", day(s.born)+s.zone)
	measures := s.phenotyping
	if measures == "" {
		measures = centre
	}
	dob, zone, stage, status, since := there(day(s.born)), given(s.zone), "-", given(s.status), "-"
	if s.embryo {
		kind, life = "embryo", ` stage="`+esc(s.stage)+`"`+attr("stageUnit", unit)
		dob, zone, stage = "-", "-", there(s.stage)
	} else {
		unit = ""
	}
	if s.status != "" {
		since = there(day(s.born))
	}
	p.enter("specimen", 4, there(kind), there(centre), there(s.id), given(s.colony), given(s.strain), there(strconv.FormatBool(s.baseline)), there(s.gender),
		there(s.zygosity), there(s.litter), there(s.pipeline), there(s.project), there(measures), there(centre), dob, zone, stage, given(unit), status, since, "-")
	defer p.leave()
	head := kind + life + attr("colonyID", s.colony) + attr("isBaseline", strconv.FormatBool(s.baseline)) + attr("strainID", s.strain) +
		attr("specimenID", s.id) + attr("gender", s.gender) + attr("zygosity", s.zygosity) + attr("litterId", s.litter) +
		attr("pipeline", s.pipeline) + attr("productionCentre", centre) + attr("phenotypingCentre", measures) + attr("project", s.project)
	if s.empty() {
		p.printf(`    <%s/>`, head)
		return
	}
	p.printf(`    <%s>`, head)
	s.origin(p)
	if s.status != "" {
		p.printf(`      <statusCode%s>%s</statusCode>`, attr("date", day(s.born)), esc(s.status))
	}
	p.printf(`    </%s>`, kind)
}

func (s *specimen) empty() bool {
	return s.status == "" && len(s.relatives)+len(s.genotypes)+len(s.alterations)+len(s.strains) == 0
}

// origin is where it comes from, in the order of the schema.
func (s *specimen) origin(p *page) {
	for _, x := range s.relatives {
		p.enter("related_specimen", 6, there(x[0]), there(x[1]))
		p.printf(`      <relatedSpecimen%s%s/>`, attr("specimenID", x[0]), attr("relationship", x[1]))
		p.leave()
	}
	for _, x := range s.genotypes {
		p.enter("genotype", 6, there(x.symbol), there(x.gene), there(x.allele), given(x.mother), given(x.father))
		p.printf(`      <genotype%s%s%s%s%s/>`, attr("MGIGeneId", x.gene), attr("geneSymbol", x.symbol), attr("MGIAlleleId", x.allele),
			attr("motherZygosity", x.mother), attr("fatherZygosity", x.father))
		p.leave()
	}
	for _, x := range s.alterations {
		p.enter("chromosomal_alteration", 6)
		p.printf(`      <chromosomalAlteration>`)
		for _, kind := range []string{"added", "removed"} {
			for _, y := range x {
				if y.kind == kind {
					p.enter("chromosome", 8, there(kind), there(y.from), there(y.to), given(y.species))
					p.printf(`        <chromosome%s%s%s%s/>`, map[string]string{"added": "Added", "removed": "Removed"}[kind], attr("start", y.from), attr("end", y.to), attr("species", y.species))
					p.leave()
				}
			}
		}
		p.printf(`      </chromosomalAlteration>`)
		p.leave()
	}
	for _, x := range s.strains {
		p.enter("parental_strain", 6, there(x), "=female", "=1", "=50")
		p.printf(`      <parentalStrain percentage="50.0"%s gender="female" level="1"/>`, attr("MGIStrainID", x))
		p.leave()
	}
}

func (r *run) write(p *page, centre string) {
	columns := []string{there(r.kind), there(centre), there(r.pipeline), there(r.project), "-", maybe(r.sequence), "-", "-", "-", "-", "-", "-", maybe(r.procedure), list(r.specimens)}
	seq := ""
	if r.sequence != nil {
		seq = attr("sequenceID", *r.sequence)
	}
	switch r.kind {
	case housingRun:
		columns[9], columns[10] = there(strconv.FormatBool(r.fromLIMS)), there(day(r.date))
		p.enter("procedure_run", 4, columns...)
		p.printf(`    <housing fromLIMS="%t"%s>`, r.fromLIMS, attr("lastUpdated", day(r.date)))
	case lineRun:
		columns[8] = there(r.colony)
		p.enter("procedure_run", 4, columns...)
		p.printf(`    <line%s%s>`, attr("colonyID", r.colony), seq)
	default:
		columns[4], columns[6] = there(r.experiment), there(day(r.date))
		p.enter("procedure_run", 4, columns...)
		p.printf(`    <experiment%s%s%s>`, seq, attr("experimentID", r.experiment), attr("dateOfExperiment", day(r.date)))
		for _, s := range r.specimens {
			p.enter("run_specimen", 6, there(s))
			p.printf(`      <specimenID>%s</specimenID>`, esc(s))
			p.leave()
		}
	}
	if r.procedure != nil {
		p.printf(`      <procedure%s>`, attr("procedureID", *r.procedure))
		for _, kind := range []string{simple, ontology, series, media, sampled, filmed, metadata} {
			for i := range r.params {
				if r.params[i].kind == kind {
					r.params[i].write(p)
				}
			}
		}
		p.printf(`      </procedure>`)
	}
	for i, s := range append([]string{r.status}, r.statuses...) {
		if i > 0 || s != "" {
			p.enter("run_status", 6, there(s), there(day(r.date)), "-")
			p.printf(`      <statusCode%s>%s</statusCode>`, attr("date", day(r.date)), esc(s))
			p.leave()
		}
	}
	p.printf(`    </%s>`, r.kind)
	p.leave()
}
