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
	w    *bufio.Writer
	line int
}

func (p *page) printf(format string, args ...any) {
	fmt.Fprintf(p.w, format, args...)
	_ = p.w.WriteByte('\n') // bufio keeps the error for Flush
	p.line++
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
	p := &page{w: bufio.NewWriterSize(w, 64<<10), line: 1}
	d.body(p)
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
		p.printf(`  <centre%s%s%s>`, attr("centreID", d.shownCentre(p)), attr("pipeline", g.pipeline), attr("project", g.project))
		for _, kind := range []string{housingRun, lineRun, experimentRun} {
			for _, r := range runs[g] {
				if r.kind == kind {
					r.write(p)
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
	}
}

func (s *specimen) write(p *page, centre string) {
	kind, life := "mouse", attr("DOB", day(s.born))
	if s.embryo {
		kind, life = "embryo", attr("stage", s.stage)+attr("stageUnit", "DPC")
	}
	head := kind + life + attr("colonyID", s.colony) + attr("isBaseline", strconv.FormatBool(s.baseline)) + attr("strainID", s.strain) +
		attr("specimenID", s.id) + attr("gender", s.gender) + attr("zygosity", s.zygosity) + attr("litterId", s.litter) +
		attr("pipeline", s.pipeline) + attr("productionCentre", centre) + attr("phenotypingCentre", centre) + attr("project", s.project)
	if s.baseline && s.status == "" {
		p.printf(`    <%s/>`, head)
		return
	}
	p.printf(`    <%s>`, head)
	if !s.baseline {
		p.printf(`      <genotype MGIGeneId="MGI:%d" geneSymbol="Gene%d" MGIAlleleId="MGI:%d" fatherZygosity="heterozygous"/>`, 100000+len(s.colony), len(s.id), 5500000+len(s.colony))
		p.printf(`      <parentalStrain percentage="50.0" MGIStrainID="MGI:2683688" gender="female" level="1"/>`)
	}
	if s.status != "" {
		p.printf(`      <statusCode%s>%s</statusCode>`, attr("date", day(s.born)), esc(s.status))
	}
	p.printf(`    </%s>`, kind)
}

func (r *run) write(p *page) {
	switch r.kind {
	case housingRun:
		p.printf(`    <housing fromLIMS="%t"%s>`, r.fromLIMS, attr("lastUpdated", day(r.date)))
	case lineRun:
		p.printf(`    <line%s>`, attr("colonyID", r.colony))
	default:
		seq := ""
		if r.sequence != nil {
			seq = attr("sequenceID", *r.sequence)
		}
		p.printf(`    <experiment%s%s%s>`, seq, attr("experimentID", r.experiment), attr("dateOfExperiment", day(r.date)))
		for _, s := range r.specimens {
			p.printf(`      <specimenID>%s</specimenID>`, esc(s))
		}
	}
	if r.procedure != nil {
		p.printf(`      <procedure%s>`, attr("procedureID", *r.procedure))
		for _, kind := range []string{simple, ontology, series, media, metadata} {
			for i := range r.params {
				if r.params[i].kind == kind {
					r.params[i].write(p)
				}
			}
		}
		p.printf(`      </procedure>`)
	}
	if r.status != "" {
		p.printf(`      <statusCode%s>%s</statusCode>`, attr("date", day(r.date)), esc(r.status))
	}
	p.printf(`    </%s>`, r.kind)
}

func (m *param) write(p *page) {
	head := attr("parameterID", m.id)
	if m.unit != nil {
		head += attr("unit", *m.unit)
	}
	if m.seq != nil {
		head += attr("sequenceID", strconv.FormatInt(*m.seq, 10))
	}
	if m.kind == media {
		p.printf(`        <%s%s URI="images/%s.jpg" fileType="image/jpeg">`, m.kind, head, esc(m.id))
		p.printf(`          <parameterAssociation parameterID="%s"/>`, esc(m.id))
		p.printf(`        </%s>`, m.kind)
		return
	}
	p.printf(`        <%s%s>`, m.kind, head)
	for _, v := range m.values {
		switch m.kind {
		case ontology:
			p.printf(`          <term>%s</term>`, esc(v.text))
		case series:
			p.printf(`          <value%s>%s</value>`, attr("incrementValue", *v.increment), esc(v.text))
		default:
			p.printf(`          <value>%s</value>`, esc(v.text))
		}
	}
	if m.status != nil {
		p.printf(`          <parameterStatus>%s</parameterStatus>`, esc(*m.status))
	}
	p.printf(`        </%s>`, m.kind)
}
