package restore

import (
	"testing"

	"tributary/schemas"
)

// Centres are back as they were told last, with those who define them; a removed one
// is not.
func TestCentresAreRestored(t *testing.T) {
	s := newScene(t)
	s.fetched()
	for _, c := range []struct {
		name     string
		revision int64
		told     map[string]string
	}{
		{"Uni", 6, map[string]string{"email": "new@example.org", "active": "false", "defined_by": "person"}},
		{"Uni", 5, map[string]string{"email": "old@example.org", "active": "true", "defined_by": "configuration"}},
		{"Gone", 5, map[string]string{"active": "true", "defined_by": "person"}},
		{"Gone", 7, map[string]string{"active": "false", "defined_by": "person", "removed": "true"}},
		{"Ics", 5, map[string]string{"full_name": "Clinique", "active": "true", "defined_by": "profile"}},
		{"Odd", 5, map[string]string{"defined_by": "nobody"}},
	} {
		s.tell(schemas.StatusChangedTopic, "schedule", &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: c.name}, Entity: schemas.EntityCentre, Revision: c.revision, Attributes: c.told})
	}
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.same("centres", "SELECT concat_ws(' ', short_name, full_name, email, active, defined_by, revision) FROM control.centre ORDER BY short_name",
		"H   t configuration 3", "Ics Clinique  t profile 5", "Odd   t configuration 5", "Uni  new@example.org f person 6")
	s.same("the counter", "SELECT value::text FROM control.counter WHERE name = 'revision'", "7")
}
