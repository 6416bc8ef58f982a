package plan

import (
	"testing"

	"tributary/schemas"
)

// deny leaves a source its own centre's files only.
func (p *plane) deny(source, centre string) {
	p.exec("UPDATE control.source SET hosts = ARRAY[$2] WHERE id = $1", source, centre)
}

// Nothing is fetched from a source that may not show the file, whoever recorded
// that it does: it is passed over for one that may.
func TestNothingIsFetchedFromWhereItMayNotBe(t *testing.T) {
	p := newPlane(t)
	p.deny(other, "Ics")
	p.read(schemas.FileDiscoveredTopic, p.look(other, "a.zip", 1, 10), p.look(other, "b.zip", 1, 10))
	p.read(schemas.FileDiscoveredTopic, p.look(own, "b.zip", 1, 10))
	p.endPolls()
	if err := p.revisit(t.Context(), p.now); err != nil {
		t.Fatal(err)
	}
	j := p.dispatch()
	if len(j) != 1 || j[0].Source != own || len(j[0].Files) != 1 || j[0].Files[0].FileName != "b.zip" {
		t.Fatalf("jobs: %+v", j)
	}
	if got := p.text("SELECT state, result, exception FROM control.acquisition a WHERE source = $1 AND file = $2", other, schemas.FileID("add", "a.zip")); got != "(ended,failed,centre_not_hosted_here)" {
		t.Errorf("the file that only the other source shows is %s", got)
	}
	p.exec("UPDATE control.source SET hosts = ARRAY['Ics', 'H/edit'] WHERE id = $1", other)
	p.read(schemas.FileDiscoveredTopic, p.look(other, "c.zip", 1, 10))
	if j := p.dispatch(); len(j) != 0 {
		t.Errorf("another action's permission is enough: %+v", j)
	}
	for _, granted := range []string{"ARRAY['Ics', 'H/add']", "ARRAY['Ics', 'H']", "NULL"} {
		p.exec("UPDATE control.source SET max_sessions = 9, hosts = " + granted + " WHERE id = '" + other + "'")
		name := granted + ".zip"
		p.read(schemas.FileDiscoveredTopic, p.look(other, name, 1, 10))
		if j := p.dispatch(); len(j) != 1 || j[0].Files[0].FileName != name {
			t.Errorf("with hosts %s the file is not fetched: %+v", granted, j)
		}
	}
}

// A refused hosting is no other copy: an archive that is damaged at its own
// centre's source is not looked for there.
func TestARefusedHostingIsNoOtherCopy(t *testing.T) {
	p := newPlane(t)
	p.deny(other, "Ics")
	p.look(other, "a.zip", 1, 10)
	p.exec("UPDATE control.look SET class = 'rejected'")
	p.read(schemas.FileDiscoveredTopic, p.look(own, "a.zip", 1, 10))
	p.endPolls()
	j := p.dispatch()[0]
	done := fetchedOf(j, j.Files[0], "sha-1")
	p.read(schemas.DownloadFinishedTopic, done)
	bad := unzippedOf(done, 0)
	bad.Result, bad.Outcome, bad.Exception = schemas.FailedEnd, "zip_truncated", "zip_truncated"
	p.read(schemas.UnzipFinishedTopic, bad)
	if j := p.dispatch(); len(j) != 0 {
		t.Errorf("it is fetched from where it may not be: %+v", j)
	}
	if got := p.text("SELECT state, exception FROM control.acquisition"); got != "(ended,corrupted_at_producer)" {
		t.Errorf("acquisition is %s", got)
	}
}

// Another program can't announce what a poll has refused, nor that it is gone
// elsewhere so that it would be fetched here.
func TestAnAnnouncementAllowsNothing(t *testing.T) {
	p := newPlane(t)
	p.deny(other, "Ics")
	d := p.look(other, "a.zip", 1, 10)
	p.exec("UPDATE control.look SET class = 'rejected'")
	gone := *d
	gone.Source, gone.Change = own, "gone"
	p.read(schemas.FileDiscoveredTopic, d, &gone)
	p.endPolls()
	if j := p.dispatch(); len(j) != 0 || p.text("SELECT count(*) FROM control.acquisition") != "(0)" {
		t.Errorf("jobs: %+v, %s acquisitions", j, p.text("SELECT count(*) FROM control.acquisition"))
	}
}
