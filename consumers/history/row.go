package history

import (
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/schemas"
)

// rowWriter takes the columns of a row, one call for each: the column's name and
// what it holds. A word is a text of which there are few different ones.
type rowWriter interface {
	text(column string, v string)
	word(column string, v string)
	number8(column string, v uint8)
	number32(column string, v int32)
	number64(column string, v int64)
	identity(column string, v uuid.UUID)
	optionalID(column string, v string)
	moment(column string, v time.Time)
	optionalMoment(column string, v *time.Time)
	list(column string, v any) // a slice or a map, as the driver takes it
}

// writeRow tells all that the event says, each part in a column of its own.
func writeRow(w rowWriter, topic string, rec *kgo.Record, m *schemas.Message, e *schemas.StatusChanged, unreadable string) {
	w.word("topic", topic)
	w.number32("partition", rec.Partition)
	w.number64("offset", rec.Offset)
	w.identity("event_id", identity(m.ID))
	w.moment("time", m.Time)
	w.word("stage", m.Stage)
	w.text("subject", m.Subject)
	w.text("traceparent", m.Traceparent)
	w.optionalID("run", e.Run)
	w.optionalID("session", e.Session)
	w.word("centre", e.Centre)
	w.word("source", e.Source)
	w.word("server", e.Server)
	w.word("entity", e.Entity)
	w.optionalID("file", e.File)
	w.text("file_name", e.FileName)
	w.word("action", e.Action)
	w.text("file_date", e.FileDate)
	w.number64("file_inc", e.FileInc)
	w.number32("attempt", e.Attempt)
	w.number32("look", e.Look)
	w.text("outcome", e.Outcome)
	w.text("accepted", e.Accepted)
	w.number32("repeats", e.Repeats)
	w.optionalID("document", e.Document)
	w.text("entry", e.Entry)
	w.number32("ordinal", e.Ordinal)
	w.text("archive", e.Archive)
	w.number64("entry_offset", e.Offset)
	w.number64("packed", e.Packed)
	w.number64("size", e.Size)
	w.number32("method", e.Method)
	w.number64("crc32", e.CRC32)
	w.word("kind", e.Kind)
	w.word("doc_centre", e.DocCentre)
	w.text("doc_date", e.DocDate)
	w.number64("doc_inc", e.DocInc)
	w.number32("check_number", e.Check)
	writePassed(w, e.Passed)
	w.word("phase", e.Phase)
	w.number8("phase_id", uint8(schemas.Phase(e.Phase).ID()))
	w.word("status", e.Status)
	w.number8("status_id", uint8(schemas.Status(e.Status).ID()))
	w.word("exception", e.Exception)
	w.text("message", e.Message)
	w.word("note", e.Note)
	writeErrors(w, e.Errors)
	w.number32("errors_total", e.ErrorsTotal)
	w.text("sha256", e.SHA256)
	w.text("md5", e.MD5)
	w.number64("file_size", e.FileSize)
	w.number64("bytes", e.Bytes)
	w.number64("rows", e.Rows)
	w.number64("position", e.Position)
	w.number64("number", e.Number)
	w.number64("revision", e.Revision)
	w.optionalMoment("mod_time", e.ModTime)
	w.optionalMoment("listed_at", e.ListedAt)
	w.optionalMoment("requested_at", e.RequestedAt)
	w.optionalMoment("started_at", e.StartedAt)
	w.optionalMoment("finished_at", e.FinishedAt)
	w.list("attributes", e.Attributes)
	w.text("unreadable", unreadable)
	w.word("version_of", e.VersionOf)
	var shadow uint8
	if schemas.IsShadow(e.Run) {
		shadow = 1
	}
	w.number8("shadow", shadow)
}

func writePassed(w rowWriter, passed []schemas.PassedPhase) {
	var phases, versions []string
	var ids []uint8
	var begun, ended []*time.Time
	for _, p := range passed {
		phases, ids = append(phases, p.Phase), append(ids, uint8(schemas.Phase(p.Phase).ID()))
		begun, ended, versions = append(begun, moment(p.StartedAt)), append(ended, moment(p.FinishedAt)), append(versions, p.VersionOf)
	}
	w.list("passed.phase", phases)
	w.list("passed.phase_id", ids)
	w.list("passed.started_at", begun)
	w.list("passed.finished_at", ended)
	w.list("passed.version_of", versions)
}

func writeErrors(w rowWriter, found []schemas.ErrorDetail) {
	var lines, columns []int32
	var exceptions, messages []string
	for _, x := range found {
		lines, columns = append(lines, x.Line), append(columns, x.Column)
		exceptions, messages = append(exceptions, x.Exception), append(messages, x.Message)
	}
	w.list("errors.line", lines)
	w.list("errors.column", columns)
	w.list("errors.exception", exceptions)
	w.list("errors.message", messages)
}

// identity is the event's id, or what follows from it where it is no UUID.
func identity(s string) uuid.UUID {
	if u, err := uuid.Parse(s); err == nil {
		return u
	}
	return schemas.UUID("event_id", s)
}

// moment is a time, null where there is none.
func moment(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	b := bounded(*t)
	return &b
}

// The first second of 1900, and of the last day of 2261.
const (
	leastSecond = -2208988800
	mostSecond  = 9214560000
)

// bounded is the time, or the nearest that ClickHouse can hold: a server may
// claim any year for its files.
func bounded(t time.Time) time.Time {
	switch s := t.Unix(); {
	case s < leastSecond:
		t = time.Unix(leastSecond, 0)
	case s >= mostSecond:
		t = time.Unix(mostSecond, 0)
	}
	return t.UTC().Truncate(time.Microsecond)
}
