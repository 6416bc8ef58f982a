package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tributary/schemas"
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
	// A session in which something failed has failed.
	status := map[bool]string{true: "done", false: "failed"}
	fileFailed := slices.ContainsFunc(r.first.Files, func(f corpus.FileEnd) bool { return f.Status == "failed" })
	rejected, again := failed(r.first.Documents), failed(r.documents())-failed(r.first.Documents)
	want := []string{
		fmt.Sprint(1, status[rejected == 0 && !fileFailed], len(r.corpus.Sources), len(both)-1, size, documents, rejected, loads[1]),
		fmt.Sprint(2, status[again == 0], len(r.corpus.Sources), 1, f.Size, f.Documents, again, loads[2]),
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
	r.same("sessions (by the log)", r.sessionsOfTheLog(), cuts(rows(r, "sessions"), sessionColumns()...))
}

// sessionColumns are those of sessions that the oracle does not know.
func sessionColumns() []string {
	return []string{"session", "opened", "seconds", "change", "polls_failed", "found", "gone", "failed", "rows"}
}

// sessionsOfTheLog are the sessions by what the log tells of them.
func (r *asked) sessionsOfTheLog() (out []string) {
	r.t.Helper()
	type session struct {
		number                                 int64
		opened, closed                         time.Time
		pollsFailed, found, gone, failed, rows int64
	}
	byID := map[string]*session{}
	for _, e := range r.log {
		if e.Body.Session == "" || e.Body.Run != "" && e.Body.Run != schemas.LiveRun {
			continue
		}
		s := byID[e.Body.Session]
		if s == nil {
			s = &session{}
			byID[e.Body.Session] = s
		}
		number := func(key string) int64 {
			n, _ := strconv.ParseInt(e.Body.Attributes[key], 10, 64) // as what is not there: 0
			return n
		}
		switch {
		case e.Body.Entity == schemas.EntitySession:
			s.number = max(s.number, e.Body.Number)
			if e.Body.Started != nil && (s.opened.IsZero() || e.Body.Started.Before(s.opened)) {
				s.opened = *e.Body.Started
			}
			if e.Body.Finished != nil && e.Body.Finished.After(s.closed) {
				s.closed = *e.Body.Finished
			}
		case e.Body.Entity == schemas.EntityTask:
			s.found, s.gone = s.found+number("new")+number("changed"), s.gone+number("gone")
			if e.Body.Status == "failed" {
				s.pollsFailed++
			}
		case e.Body.Entity == schemas.EntityDownload && e.Stage == "plan" && e.Body.Status == "failed":
			s.failed++
		case e.inserted():
			s.rows += e.Body.Rows
		}
	}
	before := math.NaN()
	for _, s := range slices.SortedFunc(maps.Values(byID), func(a, b *session) int { return cmp.Compare(a.number, b.number) }) {
		seconds := thousandths(s.closed.Sub(s.opened).Seconds())
		var change any
		if !math.IsNaN(before) {
			change = seconds - before
		}
		before = seconds
		out = append(out, cut(map[string]any{"session": float64(s.number), "opened": s.opened.UTC().Format(time.RFC3339Nano), "seconds": seconds, "change": change,
			"polls_failed": float64(s.pollsFailed), "found": float64(s.found), "gone": float64(s.gone), "failed": float64(s.failed), "rows": float64(s.rows)}, sessionColumns()...))
	}
	return out
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
		source, exception string
		look              int
		failed, missed    bool
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
		if e.Stage == "plan" && e.Body.Status == "failed" {
			a.failed, a.exception = true, e.Body.Exception
		}
		a.missed = a.missed || e.Body.Note == "not_tried"
	}
	type sum struct{ attempts, files, failed, retries, from, to, missed int }
	want := map[string]*sum{}
	why := map[string]map[string]int{} // by source: by exception
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
				if why[a.source] == nil {
					why[a.source] = map[string]int{}
				}
				why[a.source][a.exception]++
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
		said, _ := row["exception"].(string)
		for exception, times := range why[row["source"].(string)] {
			if times > why[row["source"].(string)][said] {
				r.t.Errorf("report retries: %v failed most often with %q, not %d times with %s", row["source"], said, times, exception)
			}
		}
		if (said == "") != (len(why[row["source"].(string)]) == 0) {
			r.t.Errorf("report retries: %v failed with %q, by the log %v", row["source"], said, why[row["source"].(string)])
		}
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
	refused := map[string]string{"add/" + hostileName: "zip_name failed"}
	files := []string{"add/" + hostileName + " " + refused["add/"+hostileName]}
	for _, f := range r.corpus.Oracle.Files {
		name := f.Action + "/" + f.File
		if f.Status == "failed" && f.Documents == 0 && (f.Phase == "zip_name" || f.Phase == "unzip") {
			refused[name] = f.Phase + " failed"
		}
		files = append(files, name+" "+refused[name])
	}
	var stand []string
	for _, row := range all {
		if row["what"] != "file" {
			continue
		}
		name, after := row["file"].(string), row["after"].(string)
		if refused[name] == "" { // where its documents stand is the oracle's; where it stands without them is not
			if strings.HasSuffix(after, " failed") && strings.HasPrefix(after, "zip_name") {
				r.t.Errorf("report changes: %s stands at %s", name, after)
			}
			after = ""
		}
		stand = append(stand, name+" "+after)
	}
	r.same("changes (files)", files, stand)
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
