package recipes

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"tributary/schemas"
	"tributary/schemas/schemastest"
)

// tale is the history that the recipes' examples are of.
func tale(t *testing.T) driver.Conn {
	t.Helper()
	codec := schemastest.Codec(t)
	s := &story{t: t, codec: codec}
	s.session(1, "10:00:00", "10:30:00")
	s.session(2, "12:00:00", "12:40:00")
	s.session(3, "14:00:00", "")
	s.poll(1, "H", "harwell", "10:00:01", "10:00:11", "", 2, 2, 0)
	s.poll(1, "Ics", "ics", "10:00:01", "10:00:13", "", 2, 2, 0)
	s.poll(1, "Ics", "mirror", "10:00:02", "10:00:15", "", 2, 2, 0)
	s.poll(2, "H", "harwell", "12:00:01", "12:00:11", "", 3, 1, 1)
	s.poll(2, "Ics", "ics", "12:00:01", "12:00:13", "", 3, 1, 0)
	s.poll(2, "Ics", "mirror", "12:00:01", "12:00:31", "connection_failed", 0, 0, 0)
	tellGood(s)
	tellFailing(s)
	tellWaiting(s)
	conn, _ := s.stored()
	return conn
}

// tellGood tells of a file with a document that its schema refuses, which is
// uploaded again corrected, and then once more with the same bytes.
func tellGood(s *story) {
	const name, a1, a2 = "H.2026-11-01.01.impc.zip", "a1.xml", "a2.xml"
	s.of(1, "H", "harwell", "add", name, 1000000)
	s.named("10:00:10", "")
	s.hosted("10:00:10", 1)
	s.from("mirror")
	s.hosted("10:00:14", 1)
	s.passed("10:00:20", "10:00:14", 1)
	s.from("harwell")
	s.requested("10:00:20", 1, 1)
	s.fetched(1, 1, "10:00:21", "10:00:31", "v1", "")
	s.document("unzip", a1, 1, "v1", "xml_name", "done", "10:00:32", "10:00:33", 0, 0)
	s.document("unzip", a2, 1, "v1", "xml_name", "done", "10:00:32", "10:00:33", 0, 0)
	s.unzipped(1, 1, "10:00:32", "10:00:34", "v1", "", 2)
	s.accepted("10:00:35", 1, 1, "v1", 2)
	s.document("validate", a1, 1, "v1", "xsd", "done", "10:00:35", "10:00:36", 4000, 0)
	s.document("validate", a2, 1, "v1", "xsd", "failed", "10:00:36", "10:00:37", 5000, 0, "xsd_invalid", "xsd_invalid")
	s.document("insert", a1, 1, "v1", "upload", "done", "10:10:00", "10:10:10", 4000, 50)
	s.checked(a1, 1, 1, "v1", "10:19:00", "10:20:00", "10:20:00")

	s.of(2, "H", "harwell", "add", name, 1200000)
	s.hosted("12:00:10", 2)
	s.requested("12:00:20", 2, 2)
	s.fetched(2, 2, "12:00:22", "12:00:30", "v2", "")
	s.document("unzip", a1, 2, "v2", "xml_name", "done", "12:00:31", "12:00:32", 0, 0)
	s.document("unzip", a2, 2, "v2", "xml_name", "done", "12:00:31", "12:00:32", 0, 0)
	s.unzipped(2, 2, "12:00:31", "12:00:33", "v2", "", 2)
	s.accepted("12:00:34", 2, 2, "v2", 2)
	s.document("validate", a1, 2, "v2", "xsd", "done", "12:00:34", "12:00:35", 4000, 0)
	s.document("validate", a2, 2, "v2", "xsd", "done", "12:00:35", "12:00:36", 5000, 0)
	s.document("insert", a1, 2, "v2", "upload", "done", "12:09:50", "12:10:00", 4000, 50)
	s.document("insert", a2, 2, "v2", "upload", "done", "12:10:00", "12:10:05", 5000, 30)
	s.checked(a1, 2, 1, "v2", "12:19:00", "12:20:00", "12:20:00")
	s.checked(a2, 2, 1, "v2", "12:19:00", "12:20:00", "12:20:00")

	// What was fetched once more is unpacked and validated before control has
	// said that it is known; then it is left.
	s.hosted("12:25:00", 3)
	s.requested("12:25:05", 3, 3)
	s.resumed = 400000
	s.fetched(3, 3, "12:25:06", "12:25:10", "v2", "")
	s.document("unzip", a1, 3, "v2", "xml_name", "done", "12:25:11", "12:25:12", 0, 0)
	s.document("unzip", a2, 3, "v2", "xml_name", "done", "12:25:11", "12:25:12", 0, 0)
	s.unzipped(3, 3, "12:25:11", "12:25:13", "v2", "", 2)
	s.document("validate", a1, 3, "v2", "xsd", "done", "12:25:13", "12:25:14", 4000, 0)
	s.document("validate", a2, 3, "v2", "xsd", "done", "12:25:13", "12:25:14", 5000, 0)
	e := s.download(3, 3)
	e.Phase, e.Status, e.Note, e.Outcome, e.Accepted, e.SHA256, e.Repeats = "zip_md5", "done", "duplicate", "v2", "v2", "v2", 2
	s.tell("plan", "12:25:15", e)
}

// tellFailing tells of a file that is had from the second source at the third
// attempt, whose data is found wrong and later, when more has come, right; of
// a damaged one; and of one with a name that nobody should have.
func tellFailing(s *story) {
	const b1 = "b1.xml"
	s.of(1, "Ics", "ics", "add", "Ics.2026-11-01.01.impc.zip", 500000)
	s.named("10:00:12", "")
	s.hosted("10:00:12", 1)
	s.from("mirror")
	s.hosted("10:00:14", 1)
	s.from("ics")
	s.requested("10:00:20", 1, 1)
	s.fetched(1, 1, "10:00:21", "10:00:25", "", "transfer_truncated")
	s.judged("10:00:26", 1, 1, "download", "failed", "transfer_truncated", "", "transfer_truncated")
	s.announced("10:00:26", 2, 1)
	s.requested("10:01:00", 2, 1)
	s.fetched(2, 1, "10:01:01", "10:01:05", "", "connection_lost")
	s.judged("10:01:06", 2, 1, "download", "failed", "connection_lost", "", "connection_lost")
	s.from("mirror")
	s.announced("10:01:06", 3, 1)
	s.requested("10:02:00", 3, 1)
	s.fetched(3, 1, "10:02:01", "10:02:11", "w1", "")
	s.document("unzip", b1, 3, "w1", "xml_name", "done", "10:02:12", "10:02:13", 0, 0)
	s.unzipped(3, 1, "10:02:12", "10:02:14", "w1", "", 1)
	s.accepted("10:02:15", 3, 1, "w1", 1)
	s.document("validate", b1, 3, "w1", "xsd", "done", "10:02:15", "10:02:16", 6000, 0)
	s.document("insert", b1, 3, "w1", "upload", "done", "10:14:55", "10:15:00", 6000, 20)
	s.checked(b1, 3, 1, "w1", "10:24:00", "10:24:30", "10:25:00", "specimen_unknown", "unit_differs")
	s.checked(b1, 3, 2, "w1", "12:29:00", "12:29:30", "12:30:00")

	// A replay of what is stored.
	s.scope.Run, s.scope.Session = schemas.ID("run"), ""
	s.replayed("13:00:00", 4, 1, "w1", 0)
	s.taken(b1, 4, "w1", "xml_name", "done", "13:00:00", "")
	s.accepted("13:00:01", 4, 1, "w1", 1)
	s.document("validate", b1, 4, "w1", "xsd", "done", "13:00:04", "13:00:05", 6000, 0)
	s.document("insert", b1, 4, "w1", "upload", "done", "13:04:59", "13:05:00", 6000, 20)
	s.checked(b1, 4, 1, "w1", "13:05:00", "13:06:00", "13:06:00")

	s.of(1, "Ics", "ics", "edit", "Ics.2026-11-01.02.impc.zip", 200000)
	s.named("10:00:12", "")
	s.hosted("10:00:12", 1)
	s.requested("10:00:20", 1, 1)
	s.fetched(1, 1, "10:00:22", "10:00:24", "x1", "")
	s.unzipped(1, 1, "10:00:25", "10:00:26", "x1", "zip_crc_mismatch", 0)
	s.judged("10:00:27", 1, 1, "unzip", "failed", "corrupted_at_producer", "", "x1/zip_crc_mismatch")

	s.of(1, "", "harwell", "add", hostile, 7)
	s.named("10:00:10", "zip_name_pattern")
	s.hosted("10:00:10", 1)
}

// tellWaiting tells of a file whose request was lost once and waits again, and
// of one that was listed only.
func tellWaiting(s *story) {
	s.of(2, "Ics", "ics", "edit", "Ics.2026-11-02.01.impc.zip", 300000)
	s.named("12:00:12", "")
	s.hosted("12:00:12", 1)
	s.requested("12:04:00", 1, 1)
	s.judged("12:04:30", 1, 1, "download", "cancelled", "connection_lost", "not_tried", "not_tried")
	s.requested("12:05:00", 2, 1)

	s.of(2, "H", "harwell", "delete", "H.2026-11-02.01.impc.zip", 100)
	s.named("12:00:10", "")
	s.hosted("12:00:10", 1)
}
