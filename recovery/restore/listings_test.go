package restore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tributary/schemas"
)

// Which listings are kept is known again, with when each was shown last, so that they
// are deleted once they are old; what differs from one that nobody tells of is not.
func TestWhichListingsAreKeptIsRestored(t *testing.T) {
	s := newScene(t)
	s.fetched()
	name := func(n int) string { return strings.Repeat(fmt.Sprint(n), 64) }
	begun := s.Now().Truncate(time.Second)
	for i, told := range []map[string]string{
		{"listing": name(1)}, {"listing": name(2), "listing_base": name(1)}, {"listing": name(1)}, {"listing": name(3), "listing_base": name(4)},
		{"listing": "../../etc"}, {"listing_not_kept": "blob store is full"}, {"listed": "0"},
	} {
		at := begun.Add(time.Duration(i) * time.Minute)
		session := schemas.ID("session", fmt.Sprint("l", i))
		scope := schemas.Scope{Run: schemas.LiveRun, Session: session, Centre: "H", Source: "h"}
		s.tell(schemas.StatusChangedTopic, "schedule", &schemas.StatusChanged{Scope: scope, Entity: schemas.EntitySession, Number: int64(20 + i), StartedAt: &at, Status: string(schemas.Running)})
		s.tell(schemas.StatusChangedTopic, "poll", &schemas.StatusChanged{Scope: scope, Entity: schemas.EntityTask, Server: "s:22", Attempt: 1, Phase: string(schemas.ZipName), Status: string(schemas.Done),
			Note: "complete", StartedAt: &at, FinishedAt: &at, Attributes: told})
	}
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.same("listings", fmt.Sprintf("SELECT left(sha256, 2) || ' ' || source || ' ' || coalesce(left(base, 2), 'whole') || ' ' || extract(epoch FROM listed_at - to_timestamp(%d))::int FROM control.listing ORDER BY 1", begun.Unix()),
		"11 h whole 120", "22 h 11 60")
}
