//go:build !race

package insert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tributary/schemas"
	"tributary/schemas/impc"
	"tributary/test/corpus"
)

// centreParts is what one centre of a corpus sends: its documents in their order, by
// version.
type centreParts struct {
	centre   string
	versions []*schemas.DocumentOrdered       // their withdrawals
	docs     []*schemas.DocumentOrdered       // of all, in the order of the key
	main     []int                            // versions of the session's batch
	late     []int                            // of a late one
	of       map[*schemas.DocumentOrdered]int // version of a document
}

// TestPartsLoadWhatTheWholeLoads: with the IMPC's profile, whatever parts a batch is
// released in, and wherever a late batch falls between them, the warehouse holds the
// same in the end as if it were released as a whole: rows, verdicts, findings, context,
// overview and hash. Surrogate keys, positions and times are apart.
func TestPartsLoadWhatTheWholeLoads(t *testing.T) {
	b := newBenchOf(t, impc.FS)
	checks(t, "2")
	for seed := range uint64(4) {
		c, err := corpus.Generate(corpus.Options{Seed: seed, Shape: corpus.Whole, Zips: 24})
		if err != nil {
			t.Fatal(err)
		}
		o := order(t, c, b.codec)
		b.in.deps.Blobs = o.blobs
		lists, all := o.lists(c), centres(o.events)
		whole := slices.Clone(lists)
		for _, p := range all {
			whole = append(append(whole, p.part(p.main, false)...), p.end(false))
			if len(p.late) > 0 {
				whole = append(append(whole, p.part(p.late, true)...), p.end(true))
			}
		}
		want := b.loadedParts(slices.Collect(slices.Chunk(whole, 50)))
		rapid.Check(t, func(rt *rapid.T) {
			if d := gocmp.Diff(want, b.loadedParts(schedule(rt, lists, all))); d != "" {
				rt.Fatalf("in parts, something else is loaded of corpus %d (- whole, + parts):\n%s", seed, d)
			}
		})
	}
}

// schedule draws how the batches of all centres are released in parts, one centre's
// among the others', and in which transactions they are loaded.
func schedule(t *rapid.T, lists []*schemas.DocumentOrdered, all []*centreParts) (transactions [][]*schemas.DocumentOrdered) {
	var queues [][][]*schemas.DocumentOrdered
	for _, p := range all {
		queues = append(queues, p.drawn(t))
	}
	released := slices.Clone(lists)
	for len(queues) > 0 {
		i := rapid.IntRange(0, len(queues)-1).Draw(t, "centre")
		released = append(released, queues[i][0]...)
		if queues[i] = queues[i][1:]; len(queues[i]) == 0 {
			queues = slices.Delete(queues, i, i+1)
		}
	}
	for len(released) > 0 {
		n := rapid.IntRange(1, min(len(released), 60)).Draw(t, "transaction")
		transactions, released = append(transactions, released[:n]), released[n:]
	}
	return transactions
}

// lists are the positions that load the corpus' reference lists.
func (o *ordered) lists(c *corpus.Corpus) (out []*schemas.DocumentOrdered) {
	o.t.Helper()
	all := c.Lists()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w, err := o.blobs.Create(o.t.Context())
		if err != nil {
			o.t.Fatal(err)
		}
		if _, err := w.Write([]byte(all[name])); err != nil {
			o.t.Fatal(err)
		}
		ref, err := w.Commit()
		if err != nil {
			o.t.Fatal(err)
		}
		out = append(out, &schemas.DocumentOrdered{FileRef: schemas.FileRef{FileName: name + ".csv"}, DocumentRef: schemas.DocumentRef{Entry: name, Archive: ref.SHA256},
			What: schemas.PositionReference, Batch: "load of " + name})
	}
	return out
}

// centres takes an order apart, centre by centre. Every fifth version comes late.
func centres(events []*schemas.DocumentOrdered) (out []*centreParts) {
	by := map[string]*centreParts{}
	numbers := map[string]int{}
	version := func(o *schemas.DocumentOrdered) string { return o.Action + "/" + o.FileName + " " + o.Archive }
	for _, o := range events {
		p := by[o.Centre]
		switch o.What {
		case schemas.PositionDocument:
			if p == nil {
				p = &centreParts{centre: o.Centre, of: map[*schemas.DocumentOrdered]int{}}
				by[o.Centre], out = p, append(out, p)
			}
			p.docs = append(p.docs, o)
		case schemas.PositionVersion:
			n := len(p.versions)
			numbers[version(o)] = n
			if p.versions = append(p.versions, o); n%5 == 4 {
				p.late = append(p.late, n)
			} else {
				p.main = append(p.main, n)
			}
		}
	}
	for _, p := range out {
		for _, o := range p.docs {
			p.of[o] = numbers[version(o)]
		}
	}
	return out
}

// part is the documents of versions, in the order of the key, and what each withdraws.
func (p *centreParts) part(versions []int, late bool) (out []*schemas.DocumentOrdered) {
	add := func(o *schemas.DocumentOrdered) {
		ev := *o
		ev.Late, ev.Batch = late, p.batch(late)
		out = append(out, &ev)
	}
	for _, o := range p.docs {
		if slices.Contains(versions, p.of[o]) {
			add(o)
		}
	}
	for _, n := range slices.Sorted(slices.Values(versions)) {
		add(p.versions[n])
	}
	return out
}

func (p *centreParts) batch(late bool) string { return fmt.Sprint("batch-", p.centre, " late ", late) }

func (p *centreParts) end(late bool) *schemas.DocumentOrdered {
	return &schemas.DocumentOrdered{Scope: schemas.Scope{Centre: p.centre}, What: schemas.PositionBatchEnd, Batch: p.batch(late), Domain: p.centre, Number: 1, Late: late}
}

// drawn is the batches of the centre, in parts as drawn.
func (p *centreParts) drawn(t *rapid.T) (out [][]*schemas.DocumentOrdered) {
	left := rapid.Permutation(p.main).Draw(t, "ends of files")
	for len(left) > 0 {
		n := rapid.IntRange(1, len(left)).Draw(t, "part")
		out, left = append(out, p.part(left[:n], false)), left[n:]
	}
	out[len(out)-1] = append(out[len(out)-1], p.end(false)) // with the rest of it
	if len(p.late) > 0 {
		at := rapid.IntRange(0, len(out)).Draw(t, "late batch")
		out = slices.Insert(out, at, append(p.part(p.late, true), p.end(true)))
	}
	return out
}

// loadedParts loads positions into an empty warehouse and returns what it holds then.
func (b *bench) loadedParts(transactions [][]*schemas.DocumentOrdered) map[string][]string {
	b.t.Helper()
	b.reset()
	for _, events := range transactions {
		b.must(events...)
	}
	out := map[string][]string{"hash": {b.hash()}, "verdicts": b.verdicts()}
	const document = "d.action, d.file_name, d.entry, d.archive"
	for what, q := range map[string]string{
		"documents": "SELECT " + document + ", version_key, batch, state, phase, exception, rows, withdrawn FROM warehouse.document d ORDER BY 1, 2, 3, 4",
		"claims": "SELECT " + document + `, c.ordinal, record_type, claim::text, natural_key::text, fingerprint::text, line, col, tombstone, is_current
			FROM warehouse.claim c JOIN warehouse.document d USING (position) ORDER BY 1, 2, 3, 4, 5`,
		"findings": "SELECT " + document + `, f.ordinal, f.test, f.level, f.record, f.record_type, f.subject, f.line, f.col, f.message
			FROM warehouse.finding f JOIN warehouse.document d USING (position) WHERE f.open ORDER BY 1, 2, 3, 4, 5, 6`,
		"numbers of findings": "SELECT t::text FROM warehouse.finding_count t ORDER BY 1",
		"context":             "SELECT t::text FROM warehouse.context t ORDER BY 1",
		"overview":            "SELECT t::text FROM warehouse.overview t ORDER BY 1",
		"changes left":        "SELECT t::text FROM warehouse.changed t",
	} {
		out[what] = b.texts(q)
	}
	return out
}

// verdicts is what was told last of each document.
func (b *bench) verdicts() (out []string) {
	last := map[string]*schemas.StatusChanged{}
	for _, e := range b.events() {
		if e.Entity != schemas.EntityDocument {
			continue
		}
		key := strings.Join([]string{e.Action, e.FileName, e.Entry, e.Outcome}, " ")
		if old := last[key]; old == nil || cmp.Compare(e.Check, old.Check) >= 0 {
			last[key] = e
		}
	}
	for _, key := range slices.Sorted(maps.Keys(last)) {
		e := last[key]
		out = append(out, fmt.Sprint(key, ": ", e.Phase, " ", e.Status, " ", e.Exception, " ", e.Rows, " ", e.ErrorsTotal, " ", e.Errors))
	}
	return out
}
