package e2e

import (
	"fmt"
	"slices"
	"strings"
)

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
	add("", "zip_name", "zip_name_pattern", "add|"+hostileName)
	for _, d := range r.documents() {
		for _, e := range d.Errors {
			if d.Phase != "data" {
				add(d.Centre, d.Phase, e.Exception, d.Action+"/"+d.File+"/"+d.Document)
			}
		}
	}
	var want, got []string
	for key, of := range count {
		files := map[string]bool{}
		for what := range of {
			file := strings.SplitN(what, "/", 3)
			files[strings.Join(file[:min(len(file), 2)], "/")] = true
		}
		want = append(want, fmt.Sprint(key, len(of), len(files)))
	}
	sums := map[[3]string][2]float64{} // failures, and their files
	known := map[string]bool{"zip_name": true, "unzip": true, "xml_name": true, "xsd": true, "upload": true}
	for _, row := range rows(r, "failures") {
		if key := [3]string{row["centre"].(string), row["phase"].(string), row["exception"].(string)}; known[key[1]] {
			sums[key] = [2]float64{sums[key][0] + row["failures"].(float64), sums[key][1] + row["files"].(float64)}
		}
	}
	for key, n := range sums {
		got = append(got, fmt.Sprint(key, n[0], n[1]))
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
