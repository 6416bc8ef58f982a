package corpus

import (
	"fmt"
	"time"
)

// centre is what the generator remembers of a centre, so that what it sends
// fits together: only specimens that were sent are experimented on, only what
// is there is edited or deleted.
type centre struct {
	name      string
	source    string
	written   string // as its file names have it
	pipeline  string
	project   string
	date      time.Time // of its last file
	inc       int
	files     int
	serial    int // of specimens and experiments
	specimens []*specimen
	runs      []*run
}

func (c *Corpus) centre(name, source string) *centre {
	at := &centre{
		name: name, source: source, written: name, pipeline: upper(name) + "_001",
		project: pick(c, "BaSH", "DTCC", "JAX", "MRC", "Phenomin"),
		date:    time.Date(2024, 1, 8+len(c.centres), 0, 0, 0, 0, time.UTC),
	}
	c.centres = append(c.centres, at)
	return at
}

func upper(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] >= 'a' && b[i] <= 'z' {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

func pick[T any](c *Corpus, of ...T) T { return of[c.rng.IntN(len(of))] }

// specimen makes one that nobody has heard of.
func (c *Corpus) specimen(at *centre) *specimen {
	at.serial++
	s := &specimen{
		id:     fmt.Sprintf("%s-%05d", upper(at.name), at.serial),
		strain: "MGI:2683688", gender: pick(c, "male", "female"), litter: fmt.Sprint(5000 + c.rng.IntN(900)),
		pipeline: at.pipeline, project: at.project,
		born:     at.date.AddDate(0, 0, -60-c.rng.IntN(100)),
		baseline: c.rng.IntN(3) == 0, embryo: c.rng.IntN(6) == 0,
	}
	s.zygosity = "wild type"
	if !s.baseline {
		s.colony = fmt.Sprintf("%s_C%03d", upper(at.name), c.rng.IntN(40))
		s.zygosity = pick(c, "homozygous", "heterozygous", "hemizygous")
		s.genotypes = []genotype{{symbol: fmt.Sprintf("Gene%d", len(s.id)), gene: fmt.Sprintf("MGI:%d", 100000+len(s.colony)), allele: fmt.Sprintf("MGI:%d", 5500000+len(s.colony)), father: "heterozygous"}}
		s.strains = []string{"MGI:2683688"}
	}
	if s.embryo {
		s.stage = pick(c, "9.5", "12.5", "14.5", "18.5")
	}
	if c.rng.IntN(15) == 0 {
		s.status = "IMPC_SSC_001: died before the end of the pipeline"
	}
	if c.rich {
		c.enrich(at, s)
	}
	return s
}

// experiment makes a run on the given specimens.
func (c *Corpus) experiment(at *centre, on ...string) *run {
	at.serial++
	r := &run{
		kind: experimentRun, pipeline: at.pipeline, project: at.project,
		experiment: fmt.Sprintf("%s_EXP_%06d", upper(at.name), at.serial),
		date:       at.date.AddDate(0, 0, -1-c.rng.IntN(30)), specimens: on,
	}
	if c.rng.IntN(3) == 0 {
		r.sequence = ptr(fmt.Sprint(1 + c.rng.IntN(3)))
	}
	if c.rng.IntN(25) == 0 {
		r.status = "IMPC_SSC_003: not performed"
	} else {
		procedure := pick(c, "IMPC_BWT_001", "IMPC_CBC_003", "IMPC_IPG_001", "IMPC_ABR_002", "IMPC_XRY_001")
		r.procedure = ptr(procedure)
		r.params = c.params(procedure)
	}
	if c.rich {
		c.elaborate(at, r)
	}
	return r
}

// line makes a run on a whole colony; serial numbers keep colonies apart.
func (c *Corpus) line(at *centre) *run {
	at.serial++
	procedure := pick(c, "IMPC_FER_001", "IMPC_VIA_001")
	r := &run{
		kind: lineRun, pipeline: at.pipeline, project: at.project, date: at.date,
		colony: fmt.Sprintf("%s_L%05d", upper(at.name), at.serial), procedure: ptr(procedure), params: c.params(procedure),
	}
	if c.rich {
		c.elaborate(at, r)
		if c.rng.IntN(3) == 0 {
			r.sequence = ptr("2")
		}
	}
	return r
}

// housing makes a description of conditions, one for a date.
func (c *Corpus) housing(at *centre) *run {
	r := &run{
		kind: housingRun, pipeline: at.pipeline, project: at.project, date: at.date, fromLIMS: c.rng.IntN(2) == 0,
		procedure: ptr("IMPC_HOU_001"), params: c.params("IMPC_HOU_001"),
	}
	if c.rich {
		day := r.date // which names it
		c.elaborate(at, r)
		r.date = day
	}
	return r
}

func (c *Corpus) params(procedure string) []param {
	stem := procedure[:len("IMPC_XXX")]
	id := func(n int) string { return fmt.Sprintf("%s_%03d_001", stem, n) }
	var out []param
	for i := range 3 + c.rng.IntN(5) {
		p := param{kind: simple, id: id(i + 1)}
		switch c.rng.IntN(8) {
		case 0:
			p.status = ptr("IMPC_PARAMSC_005: not measured")
		case 1:
			p.values = []value{{text: c.text()}}
		default:
			p.unit = ptr(pick(c, "g", "mm", "%", "mmol/l"))
			p.values = []value{{text: c.number()}}
		}
		if procedure == "IMPC_CBC_003" {
			p.seq = ptr(int64(i % 2))
		}
		out = append(out, p)
	}
	switch procedure {
	case "IMPC_IPG_001", "IMPC_ABR_002":
		for n := range 1 + c.rng.IntN(2) {
			p := param{kind: series, id: id(40 + n), unit: ptr("dB")}
			for i := range 4 + c.rng.IntN(6) {
				p.values = append(p.values, value{increment: ptr(fmt.Sprint(i * 15)), text: c.number()})
			}
			out = append(out, p)
		}
	case "IMPC_XRY_001":
		p := param{kind: ontology, id: id(54), seq: ptr(int64(1))}
		for range 1 + c.rng.IntN(3) {
			p.values = append(p.values, value{text: fmt.Sprintf("PATO:%07d", c.rng.IntN(3000))})
		}
		out = append(out, p, param{kind: media, id: id(34),
			files: []mediaFile{{uri: "images/" + id(34) + ".jpg", fileType: "image/jpeg", shows: []association{{parameter: id(1)}}}}})
	}
	for i := range c.rng.IntN(3) {
		p := param{kind: metadata, id: id(60 + i), values: []value{{text: c.text()}}}
		if c.rng.IntN(5) == 0 {
			p.values, p.status = nil, ptr("IMPC_PARAMSC_007: not recorded")
		}
		out = append(out, p)
	}
	return out
}

func (c *Corpus) number() string { return fmt.Sprintf("%.2f", c.rng.Float64()*200-20) }

// text is what people type, within Latin-1 so that every encoding can say it.
func (c *Corpus) text() string {
	return pick(c, "normal", "as expected", "abnormal: < 5 & > 2", `the "left" one`, "Straße 7, Orléans", "25 µl", "Müller's bench", "no data", "1", "TRUE") + fmt.Sprintf(" %03d", c.rng.IntN(1000))
}

// revise changes the values of a document and keeps all its keys.
func (c *Corpus) revise(d *document) {
	for i, s := range d.specimens {
		copied := *s
		copied.litter += "r"
		d.specimens[i] = &copied
	}
	for i, r := range d.runs {
		d.runs[i] = c.revised(r)
	}
}

func (c *Corpus) revised(r *run) *run {
	out := r.copyOf()
	for i := range out.params {
		if p := &out.params[i]; p.kind != media && len(p.values) > 0 {
			p.values[0].text = c.text()
		}
	}
	return out
}
