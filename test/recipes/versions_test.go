package recipes

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/queries/report"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/history/recipes"
)

// A file is sent again without one document, with one corrected and one
// broken, and then once more unchanged: of that third one nothing counts. What
// a check finds twice failed once. A replay of the first version takes verdicts
// over, which does not make them new.
func TestVersions(t *testing.T) {
	codec := schemastest.Codec(t)
	s := &story{t: t, codec: codec}
	s.of(1, "H", "harwell", "add", "H.2026-11-01.01.impc.zip", 100)
	s.named("10:00:00", "")
	version := func(minute string, n int32, bytes string, documents map[string]string) {
		s.hosted("10:"+minute+":00", n)
		s.requested("10:"+minute+":01", n, n)
		s.fetched(n, n, "10:"+minute+":02", "10:"+minute+":03", bytes, "")
		for _, name := range []string{"a.xml", "b.xml", "c.xml"} {
			exception, ok := documents[name]
			if !ok {
				continue
			}
			s.document("unzip", name, n, bytes, "xml_name", "done", "10:"+minute+":04", "10:"+minute+":05", 0, 0)
			if exception != "" {
				s.document("validate", name, n, bytes, "xsd", "failed", "10:"+minute+":06", "10:"+minute+":07", 0, 0, exception)
				continue
			}
			s.document("validate", name, n, bytes, "xsd", "done", "10:"+minute+":06", "10:"+minute+":07", 0, 0)
		}
		s.unzipped(n, n, "10:"+minute+":04", "10:"+minute+":05", bytes, "", int64(len(documents)))
	}
	version("01", 1, "v1", map[string]string{"a.xml": "", "b.xml": "xsd_invalid", "c.xml": ""})
	s.accepted("10:01:08", 1, 1, "v1", 3)
	s.checked("a.xml", 1, 1, "v1", "10:01:10", "10:01:11", "10:01:12", "unit_differs")
	s.checked("a.xml", 1, 2, "v1", "10:01:20", "10:01:21", "10:01:22", "unit_differs")
	s.checked("a.xml", 1, 3, "v1", "10:01:30", "10:01:31", "10:01:32")
	version("02", 2, "v2", map[string]string{"a.xml": "xml_not_well_formed", "b.xml": ""})
	s.accepted("10:02:08", 2, 2, "v2", 2)
	version("03", 3, "v2", map[string]string{"a.xml": "xml_not_well_formed", "b.xml": ""})
	e := s.download(3, 3)
	e.Phase, e.Status, e.Note, e.Outcome, e.Accepted, e.SHA256, e.Repeats = "zip_md5", "done", "duplicate", "v2", "v2", "v2", 2
	s.tell("plan", "10:03:09", e)
	s.scope.Run, s.scope.Session = schemas.ID("run"), ""
	s.replayed("10:04:00", 4, 1, "v1", 2)
	for _, name := range []string{"a.xml", "b.xml", "c.xml"} {
		s.taken(name, 4, "v1", "xml_name", "done", "10:04:01", "")
	}
	s.taken("a.xml", 4, "v1", "xsd", "done", "10:04:01", "")
	s.taken("b.xml", 4, "v1", "xsd", "failed", "10:04:01", "xsd_invalid")
	s.taken("c.xml", 4, "v1", "xsd", "done", "10:04:01", "")
	s.accepted("10:04:02", 4, 1, "v1", 3)
	s.judged("10:04:03", 5, 1, "unzip", "failed", "no_bytes", "replayed", "v1")
	conn, _ := s.stored()
	all, err := recipes.All()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"resubmissions": "H,1,0,0,1,1,1,1,1,1",
		"rejected":      "1,H,2,1,0.5,0,1,0,0,1",
		"failures": `2026-11-02,H,data,unit_differs,1,1,2026-11-02T10:01:22Z
2026-11-02,H,unzip,no_bytes,1,1,2026-11-02T10:04:03Z
2026-11-02,H,xsd,xml_not_well_formed,1,1,2026-11-02T10:02:07Z
2026-11-02,H,xsd,xsd_invalid,1,1,2026-11-02T10:01:07Z`,
		"retries":    "harwell,3,1,0,0,0,0,0,",
		"throughput": "2026-11-02T10:00:00Z,harwell,3,300,7,7,0,0,5",
		"speed": `2026-11-02T10:03:03Z,harwell,add/H.2026-11-01.01.impc.zip,3,100,1,100
2026-11-02T10:02:03Z,harwell,add/H.2026-11-01.01.impc.zip,2,100,1,100
2026-11-02T10:01:03Z,harwell,add/H.2026-11-01.01.impc.zip,1,100,1,100`,
	}
	for _, r := range all {
		if want[r.Name] == "" {
			continue
		}
		_, got, _ := strings.Cut(strings.TrimSpace(answer(t, conn, r, "", report.CSV)), "\n")
		if diff := gocmp.Diff(want[r.Name], got); diff != "" {
			t.Errorf("report %s (-want +answer):\n%s", r.Name, diff)
		}
	}
}
