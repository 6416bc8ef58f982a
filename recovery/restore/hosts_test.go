package restore

import (
	"testing"

	"tributary/schemas"
)

// What a source may show is known again, before schedule tells it anew, and what
// was refused stays refused.
func TestWhatASourceMayShowIsRestored(t *testing.T) {
	s := newScene(t)
	file, _ := s.fetched()
	source := func(id, centre string, told map[string]string) {
		s.tell(schemas.StatusChangedTopic, "schedule", &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: centre, Source: id}, Entity: schemas.EntitySource, Revision: 5, Server: "s:22", Attributes: told})
	}
	source("ics", "Ics", map[string]string{"state": "available", "hosts": "Ics J H/add"})
	source("mirror", "J", map[string]string{"state": "available", "hosts": "all"})
	now := s.Now()
	s.tell(schemas.StatusChangedTopic, "poll", &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", "1"), Centre: "H", Source: "jax"},
		FileRef: schemas.FileRef{File: file, FileName: zipName, Action: schemas.Add}, Entity: schemas.EntityHosting, Look: 1, FileSize: 666, ListedAt: &now, Revision: 1,
		Note: "centre_not_hosted_here", Attributes: map[string]string{"state": "gone", "exception": "centre_not_hosted_here"}})
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.same("what sources may show", "SELECT id || ' ' || coalesce(array_to_string(hosts, ' '), 'everything') FROM control.source WHERE id <> 'odd' ORDER BY id",
		"h everything", "ics Ics J H/add", "mirror everything", "rests everything")
	s.same("hostings", "SELECT source || ' ' || state FROM control.hosting ORDER BY source", "h present", "jax gone")
}
