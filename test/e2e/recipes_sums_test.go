package e2e

import (
	"fmt"
	"path/filepath"
	"time"

	"tributary/test/corpus"
)

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
