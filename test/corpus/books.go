package corpus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tributary/test/corpus/ledger"
)

// Warehouse is what the warehouse must hold, whatever came first. Rows are
// lines of words with a | between them; columns are "=" and the value, or "-".
type Warehouse struct {
	// Claims are all claims, those that hold and those that don't: place,
	// archive, record type, ordinal, natural key without quotes, subject, line, column, first
	// byte, byte behind the last, tombstone, is current, withdrawn.
	Claims []string
	// Rows are by table: place, archive, ordinal of the record, ordinal, parent
	// where there is such a column, tombstone, is current, columns, line. The
	// line is ? where several claims share one content, since it is that of the
	// one that came first. Submissions have neither record nor what follows from
	// it.
	Rows map[string][]string
	// Stored are numbers of rows by table: content is stored once for each key
	// and content.
	Stored map[string]int
	// Findings are the open ones: test, level, place, archive, ordinal of the
	// record, ordinal, record type, centre, subject, line as in Rows.
	Findings []string
	// Context: centre, pipeline, project, strain, colony, zygosity, sex,
	// procedure, parameter, runs, measurements, first and last date.
	Context []string
	// Overview: centre, procedure, specimens, experiments, lines, housings,
	// measurements, findings by level (info, warn, error), last change.
	Overview []string
}

// record is a claim with all that is said in it.
type record struct {
	*ledger.Claim
	at      *document
	centre  string
	rows    []tuple // the first is its own
	key     []string
	subject string
	shared  bool
}

// of returns a column of a row, and whether it has a value.
func (t *tuple) of(column string) (string, bool) {
	i := slices.Index(Columns[t.table], column)
	if i < 0 {
		panic("corpus: " + t.table + " has no column " + column)
	}
	return strings.CutPrefix(t.columns[i], "=")
}

// text is a column's value, empty if there is none.
func (t *tuple) text(column string) string {
	v, has := t.of(column)
	if !has {
		return ""
	}
	return v
}

// own is the row of the record itself.
func (r *record) own() *tuple { return &r.rows[0] }

// each calls do with the rows of a table.
func (r *record) each(table string, do func(*tuple)) {
	for i := range r.rows {
		if r.rows[i].table == table {
			do(&r.rows[i])
		}
	}
}

// below is the number of rows of a table that lie in a row.
func (r *record) below(table string, in *tuple) int {
	n := 0
	r.each(table, func(t *tuple) {
		if t.parent == in.ordinal {
			n++
		}
	})
	return n
}

// books are all documents of all uploads, and what holds of them.
type books struct {
	docs     []*ledger.Document
	of       map[*document]*ledger.Document
	records  []*record
	findings map[*document][]Finding // errors
	known    map[string]*record      // current specimens by centre and id
	lists    *lists                  // reference lists, if they are loaded
}

// keep opens the books on files whose documents have been rendered.
func keep(files []*file) *books {
	b := &books{of: map[*document]*ledger.Document{}, findings: map[*document][]Finding{}, known: map[string]*record{}}
	about := map[*ledger.Claim]*record{}
	for _, f := range files {
		if _, bad := endOf(f.fault); bad {
			continue
		}
		for n := range f.uploads + 1 {
			u := f.upload(n)
			for _, d := range u.docs {
				l := &ledger.Document{Archive: u.sha256, Fails: !loads(f, d), Version: ledger.Version{FileDate: day(f.date), FileInc: f.inc,
					DocDate: day(d.date), DocInc: d.inc, Action: f.action, File: f.name, Document: d.name, Upload: n}}
				l.Unload = slices.Contains(f.gone, n)
				b.of[d] = l
				b.docs = append(b.docs, l)
				for _, r := range d.records(f.centre) {
					about[r.Claim] = r
					l.Claims = append(l.Claims, r.Claim)
				}
			}
		}
	}
	contents := map[string]int{}
	for _, c := range ledger.Judge(b.docs) {
		r := about[c]
		b.records = append(b.records, r)
		contents[c.Type+c.Key+"\x02"+c.Content]++
		if c.Current && c.Type == "specimen" {
			b.known[r.centre+" "+r.own().text("specimen_id")] = r
		}
	}
	for _, r := range b.records {
		r.shared = contents[r.Type+r.Key+"\x02"+r.Content] > 1
	}
	return b
}

// keyColumns make the natural key.
var keyColumns = map[string][]string{
	"mouse": {"centre", "specimen_id"}, "embryo": {"centre", "specimen_id"},
	experimentRun: {"centre", "kind", "experiment_id", "sequence_id", "procedure_id", "specimen_ids"},
	lineRun:       {"centre", "kind", "colony_id", "pipeline", "procedure_id", "sequence_id"},
	housingRun:    {"centre", "kind", "from_lims", "last_updated", "pipeline", "procedure_id"},
}

// records gathers the rows of each claim of a rendered document.
func (d *document) records(centre string) []*record {
	var out []*record
	for i := range d.rows {
		t := d.rows[i]
		if t.isRecord {
			r := &record{Claim: &ledger.Claim{Type: t.table, Line: t.line}, at: d, centre: centre}
			for _, name := range keyColumns[t.text("kind")] {
				v, has := t.of(name)
				if !has {
					v = "-"
				}
				if name == "from_lims" {
					v = v[:1]
				}
				r.key = append(r.key, v)
			}
			r.Key = strings.Join(r.key, "\x01")
			if t.table == "procedure_run" {
				r.subject = t.text("procedure_id")
			}
			out = append(out, r)
		}
		if t.record > 0 {
			r := out[len(out)-1]
			first := t.ordinal
			if len(r.rows) > 0 {
				first = r.rows[0].ordinal
			}
			r.rows = append(r.rows, t)
			parent := t.parent - first
			if t.isRecord {
				parent = 0
			}
			r.Content += fmt.Sprint(t.table, t.ordinal-first, parent, strings.Join(t.columns, "\x01"), "\x03")
		}
	}
	return out
}

func (r *record) line(t *tuple) string {
	if r.shared {
		return "?"
	}
	return strconv.Itoa(t.line)
}

func place(d *ledger.Document) string { return d.Name() + "|" + d.Archive }

// warehouse says what all of it comes to.
func (b *books) warehouse() *Warehouse {
	w := &Warehouse{Rows: map[string][]string{}, Stored: map[string]int{}}
	for d, l := range b.of {
		for i := range d.rows {
			if t := &d.rows[i]; t.record == 0 && !l.Fails {
				w.Rows[t.table] = append(w.Rows[t.table], fmt.Sprintf("%s|%d|%s|%d", place(l), t.ordinal, strings.Join(t.columns, "|"), t.line))
				w.Stored[t.table]++
			}
		}
	}
	stored := map[string]bool{}
	for _, r := range b.records {
		own := r.own()
		w.Claims = append(w.Claims, fmt.Sprintf("%s|%s|%d|%s|%s|%d|%d|%d|%d|%t|%t|%t", place(r.Doc), r.Type, own.ordinal, strings.ReplaceAll(strings.Join(r.key, " "), `"`, ""), r.subject,
			own.line, own.column, own.begins, own.ends, r.Gone, r.Current, r.Doc.Withdrawn))
		first := !stored[r.Type+r.Key+"\x02"+r.Content]
		stored[r.Type+r.Key+"\x02"+r.Content] = true
		for i := range r.rows {
			t := &r.rows[i]
			parent := ""
			if Nested[t.table] {
				parent = fmt.Sprintf("|%d", t.parent)
			}
			w.Rows[t.table] = append(w.Rows[t.table], strings.Join(append([]string{fmt.Sprintf("%s|%d|%d%s|%t|%t", place(r.Doc), own.ordinal, t.ordinal, parent, r.Gone, r.Current)},
				append(slices.Clone(t.columns), r.line(t))...), "|"))
			if first {
				w.Stored[t.table]++
			}
		}
	}
	levels := b.judgeData(w)
	b.context(w)
	b.overview(w, levels)
	for _, list := range w.Rows {
		slices.Sort(list)
	}
	for _, list := range [][]string{w.Claims, w.Findings, w.Context, w.Overview} {
		slices.Sort(list)
	}
	return w
}

// finding notes an open finding.
func (b *books) finding(w *Warehouse, levels map[string]int, r *record, h hit) {
	w.Findings = append(w.Findings, fmt.Sprintf("%s|%s|%s|%d|%d|%s|%s|%s|%s", h.test, h.level, place(r.Doc), r.own().ordinal, h.row.ordinal, r.Type, r.centre, r.subject, r.line(h.row)))
	levels[r.centre+"|"+r.subject+"|"+h.level]++
	if h.level == "error" {
		f := Finding{Exception: h.test}
		if !r.shared {
			f.Line = h.row.line
		}
		b.findings[r.at] = append(b.findings[r.at], f)
	}
}

// judgeData finds what follows from claims and what the data checks find.
func (b *books) judgeData(w *Warehouse) map[string]int {
	levels := map[string]int{}
	for _, r := range b.records {
		if r.Finding != "" && !r.Doc.Withdrawn {
			b.finding(w, levels, r, hit{r.Finding, ledger.Level(r.Finding), r.own()})
		}
		if r.Current {
			for _, h := range b.check(r) {
				b.finding(w, levels, r, h)
			}
		}
	}
	return levels
}
