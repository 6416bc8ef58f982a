//go:build !race

package tracker

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

// A record that is read again may be judged otherwise by then. The document
// shows what was judged first, in whatever order that comes, and what insert has
// loaded whatever a judgement says.
func TestTheFirstJudgementCounts(t *testing.T) {
	pool := database(t)
	const name = "H.2012-10-02.1.impc.zip"
	at := func(second int, s step, version string, errors ...string) event {
		e := documentAt(name, "a", s)
		e.VersionOf = version
		for _, x := range errors {
			e.Errors = append(e.Errors, schemas.ErrorDetail{Exception: s.Exception, Message: x})
		}
		return event{time.Unix(int64(100+second), 0), e}
	}
	named, valid := step{Phase: 5, Status: done}, step{Phase: 6, Status: done}
	misnamed, invalid := step{Phase: 5, Status: failed, Exception: "misnamed"}, step{Phase: 6, Status: failed, Exception: "xsd_invalid"}
	loaded, refused := step{Phase: 7, Status: done}, step{Phase: 7, Status: failed, Exception: "centre_mismatch"}
	for what, tc := range map[string]struct {
		log  []event
		want []string
	}{
		"valid, then refused":           {[]event{at(1, named, "u1"), at(2, valid, "x1"), at(4, invalid, "x2", "one")}, []string{"xsd done u1 x1"}},
		"refused, then valid":           {[]event{at(1, named, "u1"), at(2, invalid, "x1", "one"), at(4, valid, "x2")}, []string{"xsd failed u1 x1 one"}},
		"refused, then for more":        {[]event{at(1, named, "u1"), at(2, invalid, "x1", "one"), at(4, invalid, "x2", "one", "two")}, []string{"xsd failed u1 x1 one"}},
		"loaded, then refused":          {[]event{at(1, named, "u1"), at(2, valid, "x1"), at(3, loaded, "l1"), at(4, invalid, "x2", "one")}, []string{"upload done u1 x1 l1"}},
		"refused by a clock behind":     {[]event{at(1, named, "u1"), at(0, invalid, "x2", "one"), at(3, loaded, "l1")}, []string{"upload done u1 l1"}},
		"not loaded, then refused":      {[]event{at(1, named, "u1"), at(2, valid, "x1"), at(3, refused, "l1", "of K"), at(4, invalid, "x2", "one")}, []string{"upload failed u1 x1 l1 of K"}},
		"named, then misnamed":          {[]event{at(1, named, "u1"), at(2, valid, "x1"), at(3, misnamed, "u2", "bad")}, []string{"xsd done u1 x1"}},
		"misnamed, then named and good": {[]event{at(1, misnamed, "u1", "bad"), at(2, named, "u2"), at(3, valid, "x2")}, []string{"xml_name failed u1 bad"}},
	} {
		t.Run(what, func(t *testing.T) {
			for _, backwards := range []bool{false, true} {
				reset(t, pool)
				tr := newTracker(t, pool)
				var next int64
				for i, e := range unzippedFile(name, 1) {
					next = apply(t, tr, next, event{time.Unix(int64(i+1), 0), e})
				}
				story := slices.Clone(tc.log)
				if backwards {
					slices.Reverse(story)
				}
				for _, e := range story {
					next = apply(t, tr, next, e)
				}
				got, err := column(pool, `SELECT concat_ws(' ', d.phase, d.status, d.unzip_version, d.xsd_version, d.upload_version,
					(SELECT string_agg(l.message, ', ' ORDER BY l.ordinal) FROM tracker.xml_log l WHERE l.xml_id = d.id)) FROM tracker.document d`)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(tc.want, got); d != "" {
					t.Errorf("backwards %v (-want +got):\n%s", backwards, d)
				}
			}
		})
	}
}
