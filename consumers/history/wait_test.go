package history

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

// told is an event as the views of waits see it; clock is its time of one day.
type told struct {
	clock, stage, centre, source, entity, file, document, phase, status, outcome, accepted, listed string
}

// TestQueueAge asks how old the queues were through a day whose answer was
// worked out by hand.
func TestQueueAge(t *testing.T) {
	h, conn := fresh(t)
	if _, err := h.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	insert := func(offset int, e told) {
		t.Helper()
		ids := map[string]int{"zip_name": 1, "download": 2, "zip_md5": 3, "unzip": 4, "xml_name": 5, "xsd": 6, "upload": 7, "pending": 1, "done": 3}
		optional := func(s, form string) string {
			if s == "" {
				return "NULL"
			}
			return fmt.Sprintf(form, s)
		}
		const id = "'00000000-0000-0000-0000-00000000000%s'"
		exec(t, conn, fmt.Sprintf(`INSERT INTO event (topic, partition, offset, event_id, time, stage, centre, source, entity, run, file, attempt, look, document, phase, phase_id, status, status_id, outcome, accepted, listed_at)
			VALUES ('status.changed', 0, %d, generateUUIDv4(), '2026-11-02 %s:00', '%s', '%s', '%s', '%s', '%s', %s, 1, 1, %s, '%s', %d, '%s', %d, '%s', '%s', %s)`,
			offset, e.clock, e.stage, e.centre, e.source, e.entity, schemas.LiveRun, optional(e.file, id), optional(e.document, id), e.phase, ids[e.phase], e.status, ids[e.status],
			e.outcome, e.accepted, optional(e.listed, "'2026-11-02 %s:00'")))
	}
	for offset, e := range []told{
		{clock: "10:10", stage: "poll", centre: "H", source: "s", entity: "hosting", file: "1", listed: "10:10"},
		{clock: "10:30", stage: "plan", centre: "H", source: "s", entity: "download", file: "1", phase: "download", status: "pending"},
		{clock: "11:30", stage: "poll", centre: "J", source: "t", entity: "hosting", file: "2", listed: "11:30"},
		{clock: "12:15", stage: "download", centre: "H", source: "s", entity: "download", file: "1", phase: "zip_md5", status: "done"},
		{clock: "12:45", stage: "unzip", centre: "H", source: "s", entity: "download", file: "1", phase: "unzip", status: "done", accepted: "o"},
		{clock: "12:45", stage: "unzip", centre: "H", source: "s", entity: "document", file: "1", document: "3", phase: "xml_name", status: "done", outcome: "o"},
		{clock: "12:45", stage: "unzip", centre: "H", source: "s", entity: "document", file: "1", document: "4", phase: "xml_name", status: "done", outcome: "o"},
		{clock: "13:30", stage: "validate", centre: "H", source: "s", entity: "document", file: "1", document: "3", phase: "xsd", status: "done", outcome: "o"},
		{clock: "13:40", stage: "schedule", entity: "session"},
	} {
		insert(offset, e)
	}
	// File 1 was requested within the hour in which it was listed, and unzipped
	// within that in which it was received: neither wait is seen.
	want := []string{
		"10 download H/s: 1, 1800", // at 11:00, of 10:30
		"11 download H/s: 1, 5400",
		"11 zip_name J/t: 1, 1800", // nobody ever asked for file 2
		"12 xsd H/s: 2, 900",       // both documents, of 12:45
		"12 zip_name J/t: 1, 5400",
		"13 upload H/s: 1, 600", // at 13:40, the end of the log
		"13 xsd H/s: 1, 3300",
		"13 zip_name J/t: 1, 7800",
	}
	const asked = `SELECT arrayStringConcat(groupArray(line), '\n') FROM (SELECT concat(toString(toHour(hour)), ' ', phase, ' ', centre, '/', source, ': ', toString(waiting), ', ', toString(oldest)) AS line
		FROM queue_age WHERE toDate(hour) = '2026-11-02' ORDER BY hour, phase, centre)`
	if diff := cmp.Diff(want, strings.Split(scan[string](t, conn, asked), "\n")); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
	if got := scan[string](t, conn, "SELECT concat(toString(count()), ', ', toString(countIf(ended IS NULL)), ', ', toString(countIf(ended = began + INTERVAL 30 MINUTE))) FROM wait"); got != "7, 3, 1" {
		t.Errorf("waits, those that go on, those of half an hour: %s", got)
	}
	exec(t, conn, "TRUNCATE TABLE event")
	if n := scan[uint64](t, conn, "SELECT count() FROM queue_age"); n != 0 {
		t.Errorf("%d queues in no log", n)
	}
}
