package corpus

import (
	"fmt"
	"time"
)

// enrich gives a specimen what the schemas allow besides, and lets some of them
// break a rule for data.
func (c *Corpus) enrich(at *centre, s *specimen) {
	if c.rng.IntN(3) == 0 {
		s.zone = pick(c, "Z", "+01:00", "-05:00")
	}
	if c.rng.IntN(4) == 0 {
		s.relatives = append(s.relatives, [2]string{fmt.Sprintf("%s-%05d", upper(at.name), 1+c.rng.IntN(at.serial)), pick(c, "father", "mother", "littermate", "from_stock_breeding")})
	}
	if !s.baseline && c.rng.IntN(4) == 0 {
		s.genotypes = append(s.genotypes, genotype{symbol: "Müll<1>", gene: "MGI:99", allele: "MGI:98", mother: "homozygous"})
		s.strains = append(s.strains, "MGI:2159769")
	}
	if c.rng.IntN(6) == 0 {
		s.alterations = append(s.alterations, []segment{{"added", "1", "5000", "Homo sapiens"}, {"removed", "7q11", "7q12", ""}}, []segment{{"added", "2", "3", ""}}, nil)
	}
	switch c.rng.IntN(40) {
	case 0, 10:
		s.strain = pick(c, "", "MGI:0")
	case 1:
		s.colony = ""
	case 2:
		s.born = at.date.AddDate(0, 1, 0)
	case 3:
		s.project = pick(c, "Mousetrap", " MRC", "mgp")
	case 4:
		s.embryo, s.stage, s.stageUnit = true, pick(c, "E12.5", "25", "20.5", "TS9", "unknown", ""), "DPC"
	case 5:
		s.embryo, s.stage, s.stageUnit = true, pick(c, "TS20", "12a", "26", "0", "9.5", "late"), "Theiler"
	case 6:
		s.status = pick(c, " ", "free words", "IMPC_SSC_003 : wrong place")
	case 7:
		s.id = " " + s.id
	case 8:
		s.phenotyping = "Rbrc"
	case 9:
		s.born = time.Date(1989, 12, 31, 0, 0, 0, 0, time.UTC)
	}
}

// elaborate does the same to a run.
func (c *Corpus) elaborate(at *centre, r *run) {
	if c.rng.IntN(8) == 0 {
		r.pipeline, r.project = upper(at.name)+"_002", pick(c, "MGP", "KMPC", "RIKEN BRC")
	}
	if r.kind != housingRun && c.rng.IntN(10) == 0 {
		r.statuses = append(r.statuses, "IMPC_PSC_003: repeated", "IMPC_PSC_016")
	}
	if r.procedure == nil {
		if c.rng.IntN(3) == 0 {
			r.status = "" // neither a procedure nor a reason
		}
		return
	}
	stem := (*r.procedure)[:len("IMPC_XXX")]
	id := func(n int) string { return fmt.Sprintf("%s_%03d_001", stem, n) }
	if c.rng.IntN(4) == 0 {
		r.params = append(r.params, c.samples(id(70), id(1)), c.film(id(71), id(2)))
	}
	if c.rng.IntN(6) == 0 {
		p := param{kind: media, id: id(72), files: []mediaFile{{uri: "ftp://images/" + id(72), fileType: "application/dicom", link: "https://example.org/?a=1&b=2",
			shows: []association{{parameter: id(1), link: "here", dims: []dim{{"x", "top left", "px", "10.5"}, {"y", "top left", "", "-3"}}}, {parameter: id(2)}},
			meta:  []param{{kind: metadata, id: id(60), values: []value{{text: "lens 2"}}}, {kind: metadata, id: id(61), seq: ptr(int64(2)), status: ptr("IMPC_PARAMSC_007")}}}}}
		r.params = append(r.params, p)
	}
	if c.rng.IntN(8) == 0 {
		r.params = append(r.params, param{kind: media, id: id(73), status: ptr("IMPC_PARAMSC_010"), files: []mediaFile{{uri: "missing", fileType: "image/png"}}})
	}
	c.dent(at, r, id)
}

func (c *Corpus) samples(of, shows string) param {
	p := param{kind: sampled, id: of}
	for s := range 1 + c.rng.IntN(2) {
		for e := range 1 + c.rng.IntN(2) {
			for f := range 1 + c.rng.IntN(2) {
				x := mediaFile{sample: fmt.Sprintf("s%d", s), section: fmt.Sprintf("e%d", e), local: fmt.Sprintf("f%d", f), uri: fmt.Sprintf("slides/%d/%d/%d.tif", s, e, f), fileType: "image/tiff"}
				if c.rng.IntN(2) == 0 {
					x.meta = []param{{kind: metadata, id: of, values: []value{{text: c.text()}}}}
					x.shows = []association{{parameter: shows, dims: []dim{{"z", "bottom", "µm", "7"}}}}
				}
				p.files = append(p.files, x)
			}
		}
	}
	if c.rng.IntN(5) == 0 {
		p.status, p.files = ptr("IMPC_PARAMSC_003"), nil
	}
	return p
}

func (c *Corpus) film(of, shows string) param {
	p := param{kind: filmed, id: of, meta: []param{{kind: metadata, id: of, seq: ptr(int64(1)), values: []value{{text: "25 fps"}}}}}
	for i := range 1 + c.rng.IntN(3) {
		x := mediaFile{increment: fmt.Sprint(i * 10), uri: fmt.Sprintf("film/%d.avi", i)}
		if i == 0 {
			x.fileType, x.shows = "video/avi", []association{{parameter: shows}}
			x.meta = []param{{kind: metadata, id: of, values: []value{{text: "night"}}}}
		}
		p.files = append(p.files, x)
	}
	return p
}

// dent lets a run break one of the rules for data now and then.
func (c *Corpus) dent(at *centre, r *run, id func(int) string) {
	simpleOne := func(n int, text string) param {
		return param{kind: simple, id: id(n), values: []value{{text: text}}}
	}
	add := func(p ...param) { r.params = append(r.params, p...) }
	switch c.rng.IntN(40) {
	case 0:
		r.date = at.date.AddDate(0, 2, 0) // in the future
	case 1:
		r.date = time.Date(2010, 5, 1, 0, 0, 0, 0, time.UTC) // before its specimen was born
	case 2:
		add(simpleOne(80, "1"), simpleOne(80, "2")) // twice, without sequence
	case 3:
		p := simpleOne(81, "1")
		p.seq = ptr(int64(3))
		add(p, p)
	case 4:
		add(simpleOne(82, ""))
	case 5:
		add(param{kind: simple, id: " " + id(83) + " ", values: []value{{text: "5"}}})
	case 6:
		add(param{kind: simple, id: id(84)}) // neither value nor status
	case 7:
		add(param{kind: series, id: id(85)}) // no values
	case 8:
		add(param{kind: series, id: id(86), values: []value{{increment: ptr("1"), text: "4"}, {increment: ptr("1"), text: "5"}}})
	case 9:
		add(param{kind: series, id: id(87), values: []value{{increment: ptr("1"), text: "4", status: "IMPC_PARAMSC_005"}, {increment: ptr("2"), text: ""}}})
	case 10:
		add(param{kind: series, id: id(88), values: []value{{increment: ptr(" "), text: "4"}, {increment: ptr(""), text: "4"}}})
	case 11:
		add(param{kind: ontology, id: id(89), values: []value{{text: ""}, {text: "MP:0000001"}}})
	case 12:
		add(param{kind: media, id: id(90), files: []mediaFile{{uri: "x.jpg", fileType: "image/jpeg", shows: []association{{parameter: id(99)}, {parameter: id(90)}}}}})
	case 13:
		add(param{kind: metadata, id: id(91), values: []value{{text: " "}}}, param{kind: metadata, id: id(92)})
	case 14:
		r.project = "Mousetrap"
	case 15:
		add(param{kind: simple, id: id(93), values: []value{{text: "5"}}, status: ptr("IMPC_PARAMSC_001")})
	case 16:
		r.procedure = ptr(*r.procedure + " ")
	case 17:
		add(param{kind: media, id: id(94), files: []mediaFile{{uri: " ", fileType: "image/jpeg"}}})
	case 18:
		add(param{kind: filmed, id: id(95)}, param{kind: sampled, id: id(96)})
	case 19:
		r.date = time.Date(1972, 2, 29, 0, 0, 0, 0, time.UTC)
	case 20:
		if r.kind == experimentRun {
			r.specimens = append(append([]string{}, r.specimens...), r.specimens[0])
		}
	}
}
