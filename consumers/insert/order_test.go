package insert

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tributary/schemas"
)

// reset empties the warehouse.
func (b *bench) reset() {
	b.t.Helper()
	tables := b.texts(`SELECT string_agg('warehouse.' || relname, ', ') FROM pg_class
		WHERE relnamespace = 'warehouse'::regnamespace AND relkind = 'r' AND relname NOT IN ('schema_version', 'state', 'lease', 'profile')`)[0]
	if _, err := b.pool.Exec(b.t.Context(), "TRUNCATE "+tables+"; UPDATE warehouse.state SET next_position = 1, next_offset = 0"); err != nil {
		b.t.Fatal(err)
	}
	b.at = progress{position: 1}
	clear(b.blobs)
}

// step is what may come in any order: a version of a file, complete, or an
// operation.
type step struct {
	docs      []doc
	unload    *doc // any document of the version
	parameter string
}

func (s step) String() string {
	switch {
	case s.unload != nil:
		return fmt.Sprintf("unload %s %d rank %d", s.unload.action, s.unload.inc, s.unload.rank)
	case s.parameter != "":
		return "reference"
	}
	d := s.docs[0]
	var entries []string
	for _, d := range s.docs {
		entries = append(entries, fmt.Sprintf("%s failed=%t", d.entry, d.failed))
	}
	return fmt.Sprintf("%s %d rank %d run %d: %s", d.action, d.inc, d.rank, d.run, strings.Join(entries, ", "))
}

// steps draws complete versions of a few files that disagree about a few keys:
// several versions and runs of a file, failed and lacking documents, all
// actions; unloads of some of them; and a load of the reference table.
func steps(t *rapid.T) []step {
	var out []step
	seen := map[string]bool{}
	contents := map[string][]doc{}
	for range rapid.IntRange(1, 12).Draw(t, "versions") {
		base := doc{action: rapid.SampledFrom(schemas.Actions()).Draw(t, "action"), inc: int64(rapid.IntRange(0, 2).Draw(t, "increment")),
			rank: rapid.IntRange(0, 2).Draw(t, "rank"), run: int64(rapid.IntRange(0, 1).Draw(t, "run"))}
		version := fmt.Sprint(base.action, base.inc, base.rank)
		if id := fmt.Sprint(version, base.run); seen[id] {
			continue
		} else {
			seen[id] = true
		}
		// The entries of a version are those of its bytes, whatever the run.
		docs, ok := contents[version]
		if !ok {
			docs = entries(t)
			contents[version] = docs
		}
		var s step
		for _, d := range docs {
			d.action, d.inc, d.rank, d.run = base.action, base.inc, base.rank, base.run
			d.failed = rapid.IntRange(0, 4).Draw(t, "failed") == 0
			s.docs = append(s.docs, d)
		}
		out = append(out, s)
		if rapid.IntRange(0, 5).Draw(t, "unloaded") == 0 {
			out = append(out, step{unload: &s.docs[0]})
		}
	}
	if rapid.Bool().Draw(t, "reference") {
		out = append(out, step{parameter: "parameter_id\nOTHER\n"})
	}
	return out
}

// entries draws the documents of a version.
func entries(t *rapid.T) []doc {
	var out []doc
	for e := range 3 {
		if e > 0 && rapid.IntRange(0, 2).Draw(t, "lacks") == 0 {
			continue
		}
		d := doc{entry: fmt.Sprintf("%d.xml", e), docInc: int64(e), kind: "specimen"}
		var list []string
		for m := range 4 {
			switch value := rapid.IntRange(-1, 2).Draw(t, "value"); {
			case value < 0:
			case e == 2:
				list = append(list, fmt.Sprintf("e%d m%d %d", m, rapid.IntRange(0, 1).Draw(t, "specimen")*m, value-1))
			default:
				list = append(list, fmt.Sprintf("m%d=%d", m, value))
			}
		}
		if e == 2 {
			d.kind, d.xml = "experiment", experiments(list...)
		} else {
			d.xml = mice("H", list...)
		}
		out = append(out, d)
	}
	return out
}

// run applies steps, cut into batches and transactions as drawn, and returns
// what must not depend on that.
func (b *bench) run(t *rapid.T, list []step) []string {
	open := b.positions(list, rapid.SliceOfN(rapid.Bool(), len(list), len(list)).Draw(t, "batch ends"))
	for len(open) > 0 {
		n := rapid.IntRange(1, min(len(open), 8)).Draw(t, "transaction")
		b.must(open[:n]...)
		open = open[n:]
	}
	b.sound()
	return append([]string{b.hash()}, b.state()...)
}

// positions empties the warehouse and makes the positions of steps, with the
// end of a batch after those that end one, and ends of both centres' last ones.
func (b *bench) positions(list []step, ends []bool) []*schemas.DocumentOrdered {
	b.reset()
	var open []*schemas.DocumentOrdered
	for i, s := range list {
		batch, centre := fmt.Sprint("batch ", i), "H"
		switch {
		case s.unload != nil:
			open = append(open, b.unload(*s.unload))
		case s.parameter != "":
			open = append(open, b.reference("parameter", s.parameter))
		default:
			docs := append([]doc(nil), s.docs...)
			for i := range docs {
				docs[i].batch = batch
			}
			version := b.version(docs...)
			centre = centreOf(version[0])
			open = append(open, version...)
		}
		if ends[i] {
			open = append(open, of(centre, b.batchEnd(batch)))
		}
	}
	return append(open, b.batchEnd("last"), of("G", b.batchEnd("last of G")))
}

// state is what must be the same besides the rows.
func (b *bench) state() []string {
	b.t.Helper()
	var out []string
	for _, q := range []string{
		"SELECT specimen_id, litter_id FROM warehouse.current_specimen ORDER BY 1",
		"SELECT experiment_id, specimen_ids::text, value FROM warehouse.current_measurement ORDER BY 1, 2",
		`SELECT d.file_name, d.action, d.rank, d.run, d.entry, f.test, f.level, f.message, f.subject, f.ordinal, f.record, f.line > 0
			FROM warehouse.finding f JOIN warehouse.document d USING (position) WHERE f.open ORDER BY 1, 2, 3, 4, 5, 6, 8, f.ordinal`,
		"SELECT * FROM warehouse.finding_count ORDER BY 1, 2, 3, 4, 5",
		"SELECT procedure_id, parameter_id, measurements, first_date::text, last_date::text FROM warehouse.context ORDER BY 1, 2",
		"SELECT procedure_id, records, findings FROM warehouse.overview ORDER BY 1",
		"SELECT file_name, action, entry, rank, run, withdrawn FROM warehouse.document ORDER BY 1, 2, 3, 4, 5",
	} {
		out = append(append(out, "--"), b.texts(q)...)
	}
	return out
}

// sound checks what must hold of the rows by themselves.
func (b *bench) sound() {
	b.t.Helper()
	for what, query := range map[string]string{
		"numbers of findings that are not those of the open findings": `
			(SELECT centre, record_type, subject, test, level, count(*)::bigint AS n FROM warehouse.finding WHERE open GROUP BY 1, 2, 3, 4, 5 EXCEPT ALL TABLE warehouse.finding_count)
			UNION ALL (TABLE warehouse.finding_count EXCEPT ALL SELECT centre, record_type, subject, test, level, count(*)::bigint FROM warehouse.finding WHERE open GROUP BY 1, 2, 3, 4, 5)`,
		"contents stored twice": `SELECT claim, fingerprint FROM warehouse.claim WHERE content_position = position AND content_ordinal = ordinal GROUP BY claim, fingerprint, layout HAVING count(*) > 1`,
		"claims without content": `SELECT position, ordinal FROM warehouse.claim c WHERE NOT EXISTS (SELECT FROM warehouse.claim o
			WHERE o.position = c.content_position AND o.ordinal = c.content_ordinal AND o.claim = c.claim AND o.fingerprint = c.fingerprint AND o.layout = c.layout AND o.content_position = o.position)
			OR NOT EXISTS (SELECT FROM warehouse.specimen s WHERE s.position = c.content_position AND s.ordinal = c.content_ordinal
				UNION ALL SELECT FROM warehouse.procedure_run s WHERE s.position = c.content_position AND s.ordinal = c.content_ordinal)`,
		"contents without claim": `SELECT s.position, s.ordinal FROM (SELECT position, ordinal FROM warehouse.specimen UNION ALL SELECT position, ordinal FROM warehouse.procedure_run) s
			WHERE NOT EXISTS (SELECT FROM warehouse.claim c WHERE c.content_position = s.position AND c.content_ordinal = s.ordinal AND c.position = s.position)`,
		"keys with several current claims": "SELECT claim FROM warehouse.claim WHERE is_current GROUP BY 1 HAVING count(*) > 1",
		"changes after the batch's end":    "SELECT * FROM warehouse.changed",
		"overview": `SELECT (SELECT coalesce(sum(records), 0) FROM warehouse.overview), (SELECT count(*) FROM warehouse.claim WHERE is_current)
			WHERE (SELECT coalesce(sum(records), 0) FROM warehouse.overview) <> (SELECT count(*) FROM warehouse.claim WHERE is_current)`,
	} {
		if found := b.texts(query); len(found) > 0 {
			b.t.Errorf("%s: %s", what, strings.Join(found, "; "))
		}
	}
}

// The hash sees every current value, and nothing else.
func TestHashSeesValues(t *testing.T) {
	b := newBench(t)
	load := func(litter, value string, more ...doc) string {
		b.reset()
		b.must(b.event(doc{inc: 1, entry: "s.xml", xml: mice("H", "m1="+litter)}), b.event(doc{inc: 1, kind: "experiment", entry: "e.xml", xml: experiments("e1 m1 " + value)}))
		for _, d := range more {
			b.must(b.event(d))
		}
		return b.hash()
	}
	base := load("a", "1")
	if load("b", "1") == base || load("a", "2") == base {
		t.Error("a value has changed, and the hash has not")
	}
	if load("a", "1", doc{date: "2023-01-01", entry: "old.xml", xml: mice("H", "m1=old")}, doc{inc: 9, failed: true}) != base {
		t.Error("a superseded row or a failed document changes the hash")
	}
	if load("a", "1", doc{date: "2025-01-01", entry: "again.xml", xml: "\n\n" + mice("H", "m0=x", "m1=a")[22:]}) == base {
		t.Error("another specimen does not change the hash")
	}
	if load("a", "1", doc{date: "2025-01-01", entry: "again.xml", xml: strings.Replace(mice("H", "m1=a"), "<mouse", "\n\n<mouse", 1)}) != base {
		t.Error("the same, elsewhere in a document, changes the hash")
	}
}
