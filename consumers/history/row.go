package history

import (
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/schemas"
)

// columnList names the columns in the order of values.
func columnList() string {
	return `topic, partition, offset, event_id, time, stage, subject, traceparent, run, session, centre, source, server, entity,
	file, file_name, action, file_date, file_inc, attempt, look, outcome, accepted, repeats,
	document, entry, ordinal, archive, entry_offset, packed, size, method, crc32, kind, doc_centre, doc_date, doc_inc,
	check_number, passed.phase, passed.phase_id, passed.started_at, passed.finished_at, passed.version_of, phase, phase_id, status, status_id, exception, message, note,
	errors.line, errors.column, errors.exception, errors.message, errors_total,
	sha256, md5, file_size, bytes, rows, position, number, revision, mod_time, listed_at, requested_at, started_at, finished_at, attributes, unreadable, version_of, shadow`
}

// rowWriter takes the columns of a row, one call for each, in the order of
// columnList. A word is a text of which there are few different ones.
type rowWriter interface {
	text(string)
	word(string)
	number8(uint8)
	number32(int32)
	number64(int64)
	identity(uuid.UUID)
	optionalID(string)
	moment(time.Time)
	optionalMoment(*time.Time)
	list(any) // a slice or a map, as the driver takes it
}

// writeRow tells all that the event says, each part in a column of its own.
func writeRow(w rowWriter, topic string, rec *kgo.Record, m *schemas.Message, e *schemas.StatusChanged, unreadable string) {
	w.word(topic)
	w.number32(rec.Partition)
	w.number64(rec.Offset)
	w.identity(identity(m.ID))
	w.moment(m.Time)
	w.word(m.Stage)
	w.text(m.Subject)
	w.text(m.Traceparent)
	w.optionalID(e.Run)
	w.optionalID(e.Session)
	w.word(e.Centre)
	w.word(e.Source)
	w.word(e.Server)
	w.word(e.Entity)
	w.optionalID(e.File)
	w.text(e.FileName)
	w.word(e.Action)
	w.text(e.FileDate)
	w.number64(e.FileInc)
	w.number32(e.Attempt)
	w.number32(e.Look)
	w.text(e.Outcome)
	w.text(e.Accepted)
	w.number32(e.Repeats)
	w.optionalID(e.Document)
	w.text(e.Entry)
	w.number32(e.Ordinal)
	w.text(e.Archive)
	w.number64(e.Offset)
	w.number64(e.Packed)
	w.number64(e.Size)
	w.number32(e.Method)
	w.number64(e.CRC32)
	w.word(e.Kind)
	w.word(e.DocCentre)
	w.text(e.DocDate)
	w.number64(e.DocInc)
	w.number32(e.Check)
	writePassed(w, e.Passed)
	w.word(e.Phase)
	w.number8(uint8(schemas.Phase(e.Phase).ID()))
	w.word(e.Status)
	w.number8(uint8(schemas.Status(e.Status).ID()))
	w.word(e.Exception)
	w.text(e.Message)
	w.word(e.Note)
	writeErrors(w, e.Errors)
	w.number32(e.ErrorsTotal)
	w.text(e.SHA256)
	w.text(e.MD5)
	w.number64(e.FileSize)
	w.number64(e.Bytes)
	w.number64(e.Rows)
	w.number64(e.Position)
	w.number64(e.Number)
	w.number64(e.Revision)
	w.optionalMoment(e.ModTime)
	w.optionalMoment(e.ListedAt)
	w.optionalMoment(e.RequestedAt)
	w.optionalMoment(e.StartedAt)
	w.optionalMoment(e.FinishedAt)
	w.list(e.Attributes)
	w.text(unreadable)
	w.word(e.VersionOf)
	var shadow uint8
	if schemas.IsShadow(e.Run) {
		shadow = 1
	}
	w.number8(shadow)
}

func writePassed(w rowWriter, passed []schemas.PassedPhase) {
	var phases, versions []string
	var ids []uint8
	var begun, ended []*time.Time
	for _, p := range passed {
		phases, ids = append(phases, p.Phase), append(ids, uint8(schemas.Phase(p.Phase).ID()))
		begun, ended, versions = append(begun, moment(p.StartedAt)), append(ended, moment(p.FinishedAt)), append(versions, p.VersionOf)
	}
	w.list(phases)
	w.list(ids)
	w.list(begun)
	w.list(ended)
	w.list(versions)
}

func writeErrors(w rowWriter, found []schemas.ErrorDetail) {
	var lines, columns []int32
	var exceptions, messages []string
	for _, x := range found {
		lines, columns = append(lines, x.Line), append(columns, x.Column)
		exceptions, messages = append(exceptions, x.Exception), append(messages, x.Message)
	}
	w.list(lines)
	w.list(columns)
	w.list(exceptions)
	w.list(messages)
}

// identity is the event's id, or what follows from it where it is no UUID.
func identity(s string) uuid.UUID {
	if u, err := uuid.Parse(s); err == nil {
		return u
	}
	return uuid.MustParse(schemas.ID("event_id", s))
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
