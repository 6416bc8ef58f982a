package corpus

import (
	"fmt"
	"math/rand/v2"
)

// bulk is the body of a document too large to keep: its runs are made again
// whenever they are asked for.
type bulk struct {
	at    centre
	on    []string
	runs  int
	seed  uint64
	plain int // values of about a kB in each run
}

// bulkValue is the length of a value in bytes, the size of a note that someone
// typed at length.
const bulkValue = 1000

// run makes the nth run.
func (b *bulk) run(n int) *run {
	rng := rand.New(rand.NewPCG(b.seed, uint64(n)))
	r := &run{
		kind: experimentRun, pipeline: b.at.pipeline, project: b.at.project, date: b.at.date,
		experiment: fmt.Sprintf("%s_BULK_%06d", upper(b.at.name), n),
		specimens:  []string{b.on[n%len(b.on)]}, procedure: ptr("IMPC_PAT_002"),
	}
	text := make([]byte, bulkValue)
	for i := range b.plain {
		for j := range text {
			text[j] = "abcdefghijklmnopqrstuvwxyz    -."[rng.Uint32()&31]
		}
		text[0], text[len(text)-1] = 'T', '.'
		r.params = append(r.params, param{kind: simple, id: fmt.Sprintf("IMPC_PAT_%03d_002", i+1), values: []value{{text: string(text)}}})
	}
	return r
}

func (b *bulk) write(p *page) {
	if b == nil {
		return
	}
	for n := range b.runs {
		b.run(n).write(p, b.at.name)
	}
}

// each calls do with every run.
func (b *bulk) each(do func(*run)) {
	if b == nil {
		return
	}
	for n := range b.runs {
		do(b.run(n))
	}
}

// forget drops the text of a run's values, so that a corpus larger than memory
// can be judged.
func (r *run) forget() {
	for i := range r.params {
		for j := range r.params[i].values {
			r.params[i].values[j].text = ""
		}
	}
}

// bigOnes makes two zips: one of a document of about size bytes, and one of
// that many entries, of which one in thirty is a document.
func (c *Corpus) bigOnes(size int64, entries int) {
	c.big = true
	c.source("harwell", "H", SFTP, "")
	c.source("ics", "Ics", SFTP, "")
	large, wide := c.centre("H", "harwell"), c.centre("Ics", "ics")

	f := c.fresh(large, 2, true)
	d := f.doc(experimentKind)
	d.runs = []*run{c.experiment(large, large.specimens[0].id)}
	const values = 40
	d.bulk = &bulk{at: *large, runs: int(size/(values*(bulkValue+140))) + 1, seed: c.rng.Uint64(), plain: values}
	for _, s := range large.specimens {
		d.bulk.on = append(d.bulk.on, s.id)
	}

	g := c.open(wide, add)
	documents := max(entries/30, 1)
	for range documents {
		g.docs = append(g.docs, &document{name: documentName(wide.name, g.date, len(g.docs)+1, specimenKind), kind: specimenKind,
			centreID: wide.name, date: g.date, inc: len(g.docs) + 1, specimens: []*specimen{c.specimen(wide)}})
	}
	g.others = entries - documents
}
