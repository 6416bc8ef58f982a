package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// hostileName is the name of a file that is in no corpus.
const hostileName = `';--{x:String}<b>&"%s.zip`

// TestRecipesMatchTheOracle runs a corpus through real servers, with a file of
// a hostile name among the others, sends a file again, and compares what every
// recipe answers with what follows from the oracle; times, which no oracle
// knows, with what follows from the log as Kafka has it.
func TestRecipesMatchTheOracle(t *testing.T) {
	shape := os.Getenv("TRIBUTARY_RECIPES")
	if shape == "" {
		t.Skip("takes a minute: make test-recipes runs it (TRIBUTARY_RECIPES names the corpus)")
	}
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: shape}, rig.Options{})
	at := s.corpus.Sources[0]
	if err := os.WriteFile(filepath.Join(s.rig.Dir, "sources", at.ID, "add", hostileName), []byte("no zip"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.once()
	first, between := s.corpus.Oracle, time.Now()
	name := s.corpus.Reuploadable()
	if err := s.corpus.Reupload("add", name); err != nil {
		t.Fatal(err)
	}
	if err := s.rig.Update(); err != nil {
		t.Fatal(err)
	}
	s.once()
	s.engines(func(engine.Endpoints) {
		r := &asked{system: s, first: first, again: name, log: s.log(), between: between}
		r.rejected()
		r.failures()
		r.throughput()
		r.sessions()
		r.resubmissions()
		r.retries()
		r.changes()
		r.speed()
		r.latency()
		r.backlog()
		r.slowest()
		r.drawn()
	})
}

// asked is what the recipes are compared with.
type asked struct {
	*system
	first   corpus.Oracle // before a file was sent again
	again   string        // the file sent again
	log     []told
	between time.Time
}

// resent is the file that was sent again, as it ended.
func (r *asked) resent() corpus.FileEnd {
	for _, f := range r.corpus.Oracle.Files {
		if f.File == r.again && f.Action == "add" {
			return f
		}
	}
	r.t.Fatalf("%s is not in the oracle", r.again)
	return corpus.FileEnd{}
}

// arrived are the files that were fetched, and by which source, in both
// sessions: those that the oracle says were fetched, and the one sent again.
func (r *asked) arrived() []corpus.FileEnd {
	var out []corpus.FileEnd
	for _, f := range r.first.Files {
		if len(f.Sources) > 0 && f.SHA256 != "" {
			out = append(out, f)
		}
	}
	return append(out, r.resent())
}

// documents are the ends of the documents of both sessions.
func (r *asked) documents() []corpus.DocEnd {
	out := slices.Clone(r.first.Documents)
	for _, d := range r.corpus.Oracle.Documents {
		if d.File == r.again && d.Action == "add" {
			out = append(out, d)
		}
	}
	return out
}

// rows are those of a recipe.
func rows(r *asked, name string, arguments ...string) []map[string]any {
	r.t.Helper()
	return list[map[string]any](r.system, append([]string{"report", name}, arguments...)...)
}

// same compares rows by what the given columns have.
func (r *asked) same(what string, want, got []string) {
	r.t.Helper()
	slices.Sort(want)
	slices.Sort(got)
	if diff := gocmp.Diff(want, got); diff != "" {
		r.t.Errorf("report %s (-want +answered):\n%s", what, diff)
	}
}

// cut is a row with only some columns.
func cut(row map[string]any, columns ...string) string {
	var b strings.Builder
	for _, c := range columns {
		v, ok := row[c]
		if !ok {
			v = "no column " + c
		}
		if f, is := v.(float64); is {
			v = math.Round(f*1000) / 1000
		}
		fmt.Fprintf(&b, "%s=%v ", c, v)
	}
	return b.String()
}

func cuts(rows []map[string]any, columns ...string) (out []string) {
	for _, row := range rows {
		out = append(out, cut(row, columns...))
	}
	return out
}

func (r *asked) rejected() {
	r.t.Helper()
	type sum map[string]any
	byCentre := map[string]sum{}
	for _, d := range r.corpus.Oracle.Documents {
		c := byCentre[d.Centre]
		if c == nil {
			c = sum{"centre": d.Centre, "documents": 0., "rejected": 0., "xml_name": 0., "xsd": 0., "upload": 0., "data": 0., "open": 0.}
			byCentre[d.Centre] = c
		}
		c["documents"] = c["documents"].(float64) + 1
		if d.Status == "failed" {
			c["rejected"] = c["rejected"].(float64) + 1
			c[d.Phase] = c[d.Phase].(float64) + 1
		}
	}
	var want []string
	columns := []string{"centre", "documents", "rejected", "share", "xml_name", "xsd", "upload", "data", "open"}
	for _, c := range byCentre {
		c["share"] = c["rejected"].(float64) / c["documents"].(float64)
		want = append(want, cut(c, columns...))
	}
	got := rows(r, "rejected")
	for i, row := range got {
		if row["rank"] != float64(i+1) || i > 0 && row["share"].(float64) > got[i-1]["share"].(float64) {
			r.t.Errorf("report rejected: %v has rank %v", row["centre"], row["rank"])
		}
	}
	r.same("rejected", want, cuts(got, columns...))
}

// failures compares what the oracle knows whole: all but which checks of the
// data failed, of which a document may have more than it names, and transfers.
func (r *asked) failures() {
	r.t.Helper()
	count := map[[3]string]map[string]bool{}
	add := func(centre, phase, exception, what string) {
		key := [3]string{centre, phase, exception}
		if count[key] == nil {
			count[key] = map[string]bool{}
		}
		count[key][what] = true
	}
	for _, f := range r.first.Files {
		if f.Status != "failed" || f.Phase != "zip_name" && f.Phase != "unzip" {
			continue
		}
		centre := ""
		if f.Centre != nil {
			centre = *f.Centre
		}
		if f.Documents == 0 {
			add(centre, f.Phase, f.Exceptions[0], f.Action+"/"+f.File)
		}
	}
	add("", "zip_name", "zip_name_pattern", hostileName)
	for _, d := range r.documents() {
		for _, e := range d.Errors {
			if d.Phase != "data" {
				add(d.Centre, d.Phase, e.Exception, d.Action+"/"+d.File+"/"+d.Document)
			}
		}
	}
	var want, got []string
	for key, of := range count {
		want = append(want, fmt.Sprint(key, len(of)))
	}
	sums := map[[3]string]float64{}
	known := map[string]bool{"zip_name": true, "unzip": true, "xml_name": true, "xsd": true, "upload": true}
	for _, row := range rows(r, "failures") {
		if key := [3]string{row["centre"].(string), row["phase"].(string), row["exception"].(string)}; known[key[1]] {
			sums[key] += row["failures"].(float64)
		}
	}
	for key, n := range sums {
		got = append(got, fmt.Sprint(key, n))
	}
	r.same("failures", want, got)
	seen := map[string]bool{}
	for _, row := range rows(r, "failures", "--phase", "data") {
		seen[fmt.Sprint(row["centre"], row["exception"])] = true
	}
	for _, d := range r.first.Documents {
		for _, e := range d.Errors {
			if d.Phase == "data" && !seen[d.Centre+e.Exception] {
				r.t.Errorf("report failures --phase data has no %s of %s", e.Exception, d.Centre)
			}
		}
	}
}

// throughput compares the sums by source: the oracle knows no times.
func (r *asked) throughput() {
	r.t.Helper()
	type sum struct{ files, bytes, documents, validated, inserted float64 }
	want := map[string]*sum{}
	of := func(source string) *sum {
		if want[source] == nil {
			want[source] = &sum{}
		}
		return want[source]
	}
	came := map[string]string{} // by file
	for _, e := range r.log {
		if e.fetched() {
			came[e.name()] = e.Body.Source
		}
	}
	for _, f := range r.arrived() {
		source := came[f.Action+"/"+f.File]
		if !slices.Contains(f.Sources, source) {
			r.t.Errorf("%s was fetched from %q, not from one of %q", f.File, source, f.Sources)
		}
		w := of(source)
		w.files, w.bytes, w.documents = w.files+1, w.bytes+float64(f.Size), w.documents+float64(f.Documents)
	}
	for _, d := range r.documents() {
		w := of(came[d.Action+"/"+d.File])
		if d.Phase != "xml_name" {
			w.validated++
		}
	}
	for _, p := range r.corpus.Oracle.Order {
		if p.Loads {
			of(came[p.Action+"/"+p.File]).inserted++
		}
	}
	got := map[string]*sum{}
	for _, row := range rows(r, "throughput", "--every", "1m") {
		source := row["source"].(string)
		if got[source] == nil {
			got[source] = &sum{}
		}
		n := func(column string) float64 { return row[column].(float64) }
		if n("files")+n("documents")+n("inserted") == 0 {
			continue
		}
		g := got[source]
		g.files, g.bytes, g.documents = g.files+n("files"), g.bytes+n("bytes"), g.documents+n("documents")
		g.validated, g.inserted = g.validated+n("validated"), g.inserted+n("inserted")
	}
	var wants, gots []string
	for source, x := range want {
		wants = append(wants, fmt.Sprint(source, *x))
	}
	for source, x := range got {
		if *x != (sum{}) {
			gots = append(gots, fmt.Sprint(source, *x))
		}
	}
	r.same("throughput", wants, gots)
}

func (r *asked) sessions() {
	r.t.Helper()
	f := r.resent()
	failed := func(all []corpus.DocEnd) (n int) {
		for _, d := range all {
			if d.Status == "failed" {
				n++
			}
		}
		return n
	}
	both := r.arrived()
	size := int64(0)
	documents := 0
	for _, x := range both[:len(both)-1] {
		size, documents = size+x.Size, documents+x.Documents
	}
	loads := map[int]int{}
	for _, p := range r.corpus.Oracle.Order {
		if p.Loads {
			loads[p.Session]++
		}
	}
	want := []string{
		fmt.Sprint(1, "done", len(r.corpus.Sources), len(both)-1, size, documents, failed(r.first.Documents), loads[1]),
		fmt.Sprint(2, "done", len(r.corpus.Sources), 1, f.Size, f.Documents, failed(r.documents())-failed(r.first.Documents), loads[2]),
	}
	var got []string
	for _, row := range rows(r, "sessions") {
		n := func(column string) int64 { return int64(row[column].(float64)) }
		got = append(got, fmt.Sprint(n("session"), row["status"], n("polls"), n("files"), n("bytes"), n("documents"), n("rejected"), n("inserted")))
		if n("listed") != int64(r.hosted()) {
			r.t.Errorf("report sessions: session %v listed %v, the sources have %d files", row["session"], row["listed"], r.hosted())
		}
	}
	r.same("sessions", want, got)
}

// hosted counts the files that the sources show.
func (r *asked) hosted() (n int) {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(r.rig.Dir, "sources", "*", "*", "*"))
	if err != nil {
		r.t.Fatal(err)
	}
	return len(found)
}

func (r *asked) resubmissions() {
	r.t.Helper()
	type sum struct{ files, edits, deletes, resubmitted, versions, duplicates, corrected, broken, withdrawn int }
	want := map[string]*sum{}
	all := r.arrived()
	for _, f := range all[:len(all)-1] {
		if want[*f.Centre] == nil {
			want[*f.Centre] = &sum{}
		}
		w := want[*f.Centre]
		w.files++
		switch f.Action {
		case "edit":
			w.edits++
		case "delete":
			w.deletes++
		}
	}
	w := want[*r.resent().Centre]
	w.resubmitted, w.versions, w.withdrawn = 1, 1, 1
	var wants, gots []string
	for centre, x := range want {
		wants = append(wants, fmt.Sprint(centre, *x))
	}
	for _, row := range rows(r, "resubmissions") {
		n := func(column string) int { return int(row[column].(float64)) }
		gots = append(gots, fmt.Sprint(row["centre"], sum{n("files"), n("edits"), n("deletes"), n("resubmitted"), n("versions"), n("duplicates"), n("corrected"), n("broken"), n("withdrawn")}))
	}
	r.same("resubmissions", wants, gots)
}

// retries compares with the attempts of the log, in their order.
func (r *asked) retries() {
	r.t.Helper()
	type attempt struct {
		source         string
		look           int
		failed, missed bool
	}
	byFile := map[string]map[int]*attempt{}
	for _, e := range r.log {
		if e.Body.Entity != "download" || e.Body.Phase == "" {
			continue
		}
		if byFile[e.Body.File] == nil {
			byFile[e.Body.File] = map[int]*attempt{}
		}
		a := byFile[e.Body.File][e.Body.Attempt]
		if a == nil {
			a = &attempt{}
			byFile[e.Body.File][e.Body.Attempt] = a
		}
		if e.Body.Requested != nil {
			a.source, a.look = e.Body.Source, e.Body.Look
		}
		a.failed = a.failed || e.Stage == "plan" && e.Body.Status == "failed"
		a.missed = a.missed || e.Body.Note == "not_tried"
	}
	type sum struct{ attempts, files, failed, retries, from, to, missed int }
	want := map[string]*sum{}
	of := func(source string) *sum {
		if want[source] == nil {
			want[source] = &sum{}
		}
		return want[source]
	}
	for _, attempts := range byFile {
		var last *attempt
		seen := map[string]bool{}
		for n := 1; attempts[n] != nil; n++ {
			a := attempts[n]
			if a.missed {
				of(a.source).missed++
				continue
			}
			w := of(a.source)
			w.attempts++
			if !seen[a.source] {
				w.files++
			}
			seen[a.source] = true
			if a.failed {
				w.failed++
			}
			if last != nil && last.failed && last.source != a.source {
				w.to++
				of(last.source).from++
			}
			if last != nil && last.failed && last.source == a.source && last.look == a.look {
				w.retries++
			}
			last = a
		}
	}
	var wants, gots []string
	for source, x := range want {
		wants = append(wants, fmt.Sprint(source, *x))
	}
	for _, row := range rows(r, "retries") {
		n := func(column string) int { return int(row[column].(float64)) }
		gots = append(gots, fmt.Sprint(row["source"], sum{n("attempts"), n("files"), n("failed"), n("retries"), n("failovers_from"), n("failovers_to"), n("not_tried")}))
	}
	r.same("retries", wants, gots)
}

// changes compares the documents: since the beginning, all stand where the
// oracle says; since the file was sent again, only that and its documents do.
func (r *asked) changes() {
	r.t.Helper()
	var want, later, got, gotLater []string
	for _, d := range r.corpus.Oracle.Documents {
		line := fmt.Sprint(d.Action, "/", d.File, " ", d.Document, " ", d.Phase, " ", d.Status)
		want = append(want, line)
		if d.File == r.again && d.Action == "add" {
			later = append(later, line)
		}
	}
	last := r.withdrawnDocument()
	shown := func(rows []map[string]any, known bool) (out []string) {
		for _, row := range rows {
			if row["what"] == "document" && (known || row["document"] != last || row["file"] != "add/"+r.again) {
				out = append(out, fmt.Sprint(row["file"], " ", row["document"], " ", row["after"]))
			}
		}
		return out
	}
	all := rows(r, "changes", "--limit", "100000")
	got = shown(all, false)
	gotLater = shown(rows(r, "changes", "--since", r.between.UTC().Format(time.RFC3339Nano)), true)
	r.same("changes", want, got)
	r.same("changes --since", later, gotLater)
	files := 0
	for _, row := range all {
		if row["what"] == "file" {
			files++
		}
		if row["file"] == "add/"+hostileName && row["after"] != "zip_name failed" {
			r.t.Errorf("report changes: the hostile name stands at %v", row["after"])
		}
	}
	if files != len(r.corpus.Oracle.Files)+1 {
		r.t.Errorf("report changes has %d files, there are %d", files, len(r.corpus.Oracle.Files)+1)
	}
}

// withdrawnDocument is the document that the file sent again lacks.
func (r *asked) withdrawnDocument() string {
	left := map[string]bool{}
	for _, d := range r.corpus.Oracle.Documents {
		if d.File == r.again && d.Action == "add" {
			left[d.Document] = true
		}
	}
	for _, d := range r.first.Documents {
		if d.File == r.again && d.Action == "add" && !left[d.Document] {
			return d.Document
		}
	}
	r.t.Fatalf("%s has all its documents", r.again)
	return ""
}
