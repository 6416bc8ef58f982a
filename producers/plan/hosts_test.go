//go:build !race

package plan_test

import (
	"testing"

	"tributary/producers/plan/plantest"
	"tributary/schemas"
)

// deny leaves a source its own centre's files only.
func deny(p *plantest.Plane, source, centre string) {
	p.Exec("UPDATE control.source SET hosts = ARRAY[$2] WHERE id = $1", source, centre)
}

// Nothing is fetched from a source that may not show the file, whoever recorded
// that it does: it is passed over for one that may.
func TestNothingIsFetchedFromWhereItMayNotBe(t *testing.T) {
	p := plantest.New(t)
	deny(p, plantest.Other, "Ics")
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Other, "a.zip", 1, 10), p.Look(plantest.Other, "b.zip", 1, 10))
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, "b.zip", 1, 10))
	p.EndPolls()
	if err := p.Revisit(t.Context(), p.Clock); err != nil {
		t.Fatal(err)
	}
	j := p.Requested()
	if len(j) != 1 || j[0].Source != plantest.Own || len(j[0].Files) != 1 || j[0].Files[0].FileName != "b.zip" {
		t.Fatalf("jobs: %+v", j)
	}
	if got := p.Text("SELECT state, result, exception FROM control.acquisition a WHERE source = $1 AND file = $2", plantest.Other, schemas.FileID("add", "a.zip")); got != "(ended,failed,centre_not_hosted_here)" {
		t.Errorf("the file that only the other source shows is %s", got)
	}
	p.Exec("UPDATE control.source SET hosts = ARRAY['Ics', 'H/edit'] WHERE id = $1", plantest.Other)
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Other, "c.zip", 1, 10))
	if j := p.Requested(); len(j) != 0 {
		t.Errorf("another action's permission is enough: %+v", j)
	}
	for _, granted := range []string{"ARRAY['Ics', 'H/add']", "ARRAY['Ics', 'H']", "NULL"} {
		p.Exec("UPDATE control.source SET max_sessions = 9, hosts = " + granted + " WHERE id = '" + plantest.Other + "'")
		name := granted + ".zip"
		p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Other, name, 1, 10))
		if j := p.Requested(); len(j) != 1 || j[0].Files[0].FileName != name {
			t.Errorf("with hosts %s the file is not fetched: %+v", granted, j)
		}
	}
}

// A refused hosting is no other copy: an archive that is damaged at its own
// centre's source is not looked for there.
func TestARefusedHostingIsNoOtherCopy(t *testing.T) {
	p := plantest.New(t)
	deny(p, plantest.Other, "Ics")
	p.Look(plantest.Other, "a.zip", 1, 10)
	p.Exec("UPDATE control.look SET class = 'rejected'")
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, "a.zip", 1, 10))
	p.EndPolls()
	j := p.Requested()[0]
	done := plantest.FetchedOf(j, j.Files[0], "sha-1")
	p.Read(schemas.DownloadFinishedTopic, done)
	bad := plantest.UnzippedOf(done, 0)
	bad.Result, bad.Outcome, bad.Exception = schemas.FailedEnd, "zip_truncated", "zip_truncated"
	p.Read(schemas.UnzipFinishedTopic, bad)
	if j := p.Requested(); len(j) != 0 {
		t.Errorf("it is fetched from where it may not be: %+v", j)
	}
	if got := p.Text("SELECT state, exception FROM control.acquisition"); got != "(ended,corrupted_at_producer)" {
		t.Errorf("acquisition is %s", got)
	}
}

// Another program can't announce what a poll has refused, nor that it is gone
// elsewhere so that it would be fetched here.
func TestAnAnnouncementAllowsNothing(t *testing.T) {
	p := plantest.New(t)
	deny(p, plantest.Other, "Ics")
	d := p.Look(plantest.Other, "a.zip", 1, 10)
	p.Exec("UPDATE control.look SET class = 'rejected'")
	gone := *d
	gone.Source, gone.Change = plantest.Own, "gone"
	p.Read(schemas.FileDiscoveredTopic, d, &gone)
	p.EndPolls()
	if j := p.Requested(); len(j) != 0 || p.Text("SELECT count(*) FROM control.acquisition") != "(0)" {
		t.Errorf("jobs: %+v, %s acquisitions", j, p.Text("SELECT count(*) FROM control.acquisition"))
	}
}
