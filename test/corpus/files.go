package corpus

import (
	"fmt"
	"time"
)

// open begins the next file of a centre: some days after the last, or on the
// same day with the next increment.
func (c *Corpus) open(at *centre, action string) *file {
	if at.files > 0 && c.rng.IntN(3) == 0 {
		at.inc++
	} else {
		at.date, at.inc = at.date.AddDate(0, 0, 1+c.rng.IntN(6)), 1+c.rng.IntN(3)
	}
	at.files++
	f := &file{action: action, centre: at.name, date: at.date, inc: at.inc, name: zipName(at.written, at.date, at.inc), hosts: []string{at.source}, expect: []string{at.source}}
	c.files = append(c.files, f)
	return f
}

// doc appends a document to f. Increments within a file follow their order.
func (f *file) doc(kind string) *document {
	inc := 1
	for _, d := range f.docs {
		if d.kind == kind {
			inc++
		}
	}
	d := &document{name: documentName(f.centre, f.date, inc, kind), kind: kind, centreID: f.centre, date: f.date, inc: inc}
	f.docs = append(f.docs, d)
	return d
}

// fresh sends new specimens and experiments on them and on older ones, in n
// documents. Nothing of it is remembered if keep is false: a faulty file's data
// must not be referred to.
func (c *Corpus) fresh(at *centre, n int, keep bool) *file {
	f := c.open(at, add)
	var sent []*specimen
	d := f.doc(specimenKind)
	for range 3 + c.rng.IntN(6) {
		s := c.specimen(at)
		d.specimens = append(d.specimens, s)
		sent = append(sent, s)
	}
	known := append(append([]*specimen{}, sent...), at.specimens...)
	if !keep {
		known = sent
	}
	var runs []*run
	for i := range n - 1 {
		e := f.doc(experimentKind)
		for range 2 + c.rng.IntN(4) {
			e.runs = append(e.runs, c.experiment(at, known[c.rng.IntN(len(known))].id))
		}
		if i == 0 && c.rng.IntN(3) == 0 {
			e.runs = append(e.runs, c.line(at))
		}
		if i == 0 && at.inc < 4 && c.rng.IntN(5) == 0 && at.files%2 == 1 {
			e.runs = append(e.runs, c.housingOnce(at)...)
		}
		if c.rng.IntN(12) == 0 && len(known) > 1 {
			e.runs = append(e.runs, c.experiment(at, known[0].id, known[1].id))
		}
		runs = append(runs, e.runs...)
	}
	if keep {
		at.specimens = append(at.specimens, sent...)
		at.runs = append(at.runs, runs...)
	}
	return f
}

// housingOnce makes a housing unless this date has one already, since its key
// is the date.
func (c *Corpus) housingOnce(at *centre) []*run {
	h := c.housing(at)
	for _, r := range at.runs {
		if r.kind == housingRun && r.date.Equal(h.date) {
			return nil
		}
	}
	return []*run{h}
}

// change edits some of what is there.
func (c *Corpus) change(at *centre) *file {
	f := c.open(at, edit)
	c.changes(at, f)
	return f
}

func (c *Corpus) changes(at *centre, f *file) {
	d := f.doc(specimenKind)
	for _, i := range c.some(len(at.specimens), 3) {
		copied := *at.specimens[i]
		copied.litter += "e"
		d.specimens = append(d.specimens, &copied)
		at.specimens[i] = &copied
	}
	e := f.doc(experimentKind)
	for _, i := range c.some(len(at.runs), 4) {
		r := c.revised(at.runs[i])
		e.runs = append(e.runs, r)
		at.runs[i] = r
	}
}

// drop deletes some experiments, and one specimen with all of its experiments.
func (c *Corpus) drop(at *centre) *file {
	f := c.open(at, remove)
	victim := c.rng.IntN(len(at.specimens))
	gone := map[*run]bool{}
	for _, i := range c.some(len(at.runs), 2) {
		gone[at.runs[i]] = true
	}
	e := f.doc(experimentKind)
	var left []*run
	for _, r := range at.runs {
		for _, id := range r.specimens {
			if id == at.specimens[victim].id {
				gone[r] = true
			}
		}
		if gone[r] {
			e.runs = append(e.runs, r)
		} else {
			left = append(left, r)
		}
	}
	at.runs = left
	f.doc(specimenKind).specimens = []*specimen{at.specimens[victim]}
	at.specimens = append(append([]*specimen{}, at.specimens[:victim]...), at.specimens[victim+1:]...)
	return f
}

// some picks n different indexes below limit, in order.
func (c *Corpus) some(limit, n int) []int {
	picked := map[int]bool{}
	for range min(n, limit) {
		picked[c.rng.IntN(limit)] = true
	}
	var out []int
	for i := range limit {
		if picked[i] {
			out = append(out, i)
		}
	}
	return out
}

// next is the next good file of a centre, of the kind that is due.
func (c *Corpus) next(at *centre) *file {
	switch {
	case at.files%8 == 4 && len(at.runs) > 3:
		return c.change(at)
	case at.files%8 == 6 && len(at.runs) > 3 && len(at.specimens) > 4:
		return c.drop(at)
	}
	return c.fresh(at, 2+c.rng.IntN(4), true)
}

// stale is a file dated before all others that says something else about what
// is there: it must be loaded and lose.
func (c *Corpus) stale(at *centre) {
	late := at.date
	inc := at.inc
	at.date, at.inc = time.Date(2023, 6, 1+c.session, 0, 0, 0, 0, time.UTC), 1
	f := &file{action: add, centre: at.name, date: at.date, inc: 1, name: zipName(at.written, at.date, 1), hosts: []string{at.source}, expect: []string{at.source}}
	c.files = append(c.files, f)
	d := f.doc(specimenKind)
	for _, i := range c.some(len(at.specimens), 3) {
		copied := *at.specimens[i]
		copied.litter = "old"
		d.specimens = append(d.specimens, &copied)
	}
	e := f.doc(experimentKind)
	for _, i := range c.some(len(at.runs), 3) {
		e.runs = append(e.runs, c.revised(at.runs[i]))
	}
	at.date, at.inc = late, inc
}

// faulty is a file that fails as a whole; nobody refers to what is in it.
func (c *Corpus) faulty(at *centre, fault string) *file {
	f := c.fresh(at, 3, false)
	f.fault = fault
	switch fault {
	case namePattern:
		f.name = pick(c, "%s.%s.impc.zip", "%s.%s.1234567.impc.zip", "%s-%s-01.impc.zip", "12%s.%s.01.impc.zip")
		f.name = fmt.Sprintf(f.name, at.name, day(f.date))
	case nameDate:
		f.name = fmt.Sprintf("%s.2024-02-31.%02d.impc.zip", at.name, f.inc)
	case nameCentre:
		f.name = fmt.Sprintf("Atlantis.%s.%02d.impc.zip", day(f.date), f.inc)
	case zipEmpty:
		f.docs, f.others = nil, 2
	}
	if fault == namePattern || fault == nameDate || fault == nameCentre {
		f.centre = ""
	}
	return f
}

// spoilt appends a faulty document to a good file.
func (c *Corpus) spoilt(at *centre, f *file, fault string) {
	d := f.doc(experimentKind)
	on := at.specimens[c.rng.IntN(len(at.specimens))].id
	d.fault, d.variant = fault, c.rng.IntN(3)
	other := "Ning"
	switch fault {
	case docName:
		d.name = pick(c, "%s.%s.experiment.impc.xml", "%s%sexperiment.impc.xml", "results %s %s.xml")
		d.name = fmt.Sprintf(d.name, at.name, day(f.date))
	case docNameCentre:
		d.name = documentName(other, d.date, d.inc, d.kind)
	case docCentre:
		d.centreID = other
	case docUnknown:
		on = fmt.Sprintf("%s-NOBODY-%d", upper(at.name), len(c.files))
	}
	d.runs = append(d.runs, c.experiment(at, on))
	if fault == docTwice {
		d.runs = append(d.runs, c.revised(d.runs[0]))
	}
}
