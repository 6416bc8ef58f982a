package corpus

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// version is the version key, whose fields compare in this order.
type version struct {
	fileDate, docDate string
	fileInc, docInc   int
	action            int
	file, document    string
}

func (a version) compare(b version) int {
	return cmp.Or(
		cmp.Compare(a.fileDate, b.fileDate), cmp.Compare(a.fileInc, b.fileInc),
		cmp.Compare(a.docDate, b.docDate), cmp.Compare(a.docInc, b.docInc),
		cmp.Compare(a.action, b.action), cmp.Compare(a.file, b.file), cmp.Compare(a.document, b.document))
}

func versionOf(f *file, d *document) version {
	return version{
		fileDate: day(f.date), fileInc: f.inc, docDate: day(d.date), docInc: d.inc,
		action: slices.Index([]string{add, edit, remove}, f.action), file: f.name, document: d.name,
	}
}

// claim is what one document says about one key: this is it, or it is gone.
type claim struct {
	version  version
	gone     bool
	owner    *document
	specimen *specimen
	run      *run
	centre   string
}

type claims map[string]claim

func (c claims) make(key string, x claim) {
	if old, there := c[key]; !there || x.version.compare(old.version) > 0 {
		c[key] = x
	}
}

func (c claims) current() []claim {
	var out []claim
	for _, key := range sorted(c) {
		if x := c[key]; !x.gone {
			out = append(out, x)
		}
	}
	return out
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

func key(parts ...string) string { return strings.Join(parts, "\x00") }

func specimenKey(centre, id string) string { return key(centre, id) }

func runKey(centre string, r *run) string {
	seq, procedure := "", ""
	if r.sequence != nil {
		seq = "=" + *r.sequence
	}
	if r.procedure != nil {
		procedure = "=" + *r.procedure
	}
	switch r.kind {
	case lineRun:
		return key(centre, r.kind, r.colony, r.pipeline, procedure, seq)
	case housingRun:
		return key(centre, r.kind, day(r.date), r.pipeline, procedure, map[bool]string{true: "lims"}[r.fromLIMS])
	}
	return key(append([]string{centre, r.kind, r.experiment, seq, procedure}, r.specimens...)...)
}
