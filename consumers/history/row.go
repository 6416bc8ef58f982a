package history

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
)

// columnList names the columns in the order of values.
func columnList() string {
	return `topic, partition, offset, event_id, time, stage, subject, traceparent, run, session, centre, source, server, entity,
	file, file_name, action, file_date, file_inc, attempt, look, outcome, accepted, repeats,
	document, entry, ordinal, archive, entry_offset, packed, size, method, crc32, kind, doc_centre, doc_date, doc_inc,
	check_number, passed.phase, passed.phase_id, passed.started_at, passed.finished_at, phase, phase_id, status, status_id, exception, message, note,
	errors.line, errors.column, errors.exception, errors.message, errors_total,
	sha256, md5, file_size, bytes, rows, position, number, revision, mod_time, listed_at, requested_at, started_at, finished_at, attributes, unreadable`
}

func (h *History) decode(rec *kgo.Record) (schemas.Message, *schemas.StatusChanged, error) {
	m, err := h.codec.Decode(kafka.FromKgo(rec))
	if err != nil {
		return m, nil, err
	}
	e, ok := m.Body.(*schemas.StatusChanged)
	if !ok {
		return m, nil, fmt.Errorf("a record of %s is no event of the log", m.Topic)
	}
	return m, e, nil
}

// values are a row: all that the event tells, each part in a column of its own.
func values(topic string, rec *kgo.Record, m schemas.Message, e *schemas.StatusChanged, unreadable string) []any {
	attributes := e.Attributes
	if attributes == nil {
		attributes = map[string]string{}
	}
	n := len(e.Errors)
	lines, columns, exceptions, messages := make([]int32, n), make([]int32, n), make([]string, n), make([]string, n)
	for i, x := range e.Errors {
		lines[i], columns[i], exceptions[i], messages[i] = x.Line, x.Column, x.Exception, x.Message
	}
	passed := make([]string, len(e.Passed))
	ids, begun, ended := make([]uint8, len(e.Passed)), make([]*time.Time, len(e.Passed)), make([]*time.Time, len(e.Passed))
	for i, p := range e.Passed {
		passed[i], ids[i], begun[i], ended[i] = p.Phase, uint8(schemas.Phase(p.Phase).ID()), moment(p.StartedAt), moment(p.FinishedAt)
	}
	return []any{topic, rec.Partition, rec.Offset, identity(m.ID), bounded(m.Time), m.Stage, m.Subject, m.Traceparent, id(e.Run), id(e.Session),
		e.Centre, e.Source, e.Server, e.Entity,
		id(e.File), e.FileName, e.Action, e.FileDate, e.FileInc, e.Attempt, e.Look, e.Outcome, e.Accepted, e.Repeats,
		id(e.Document), e.Entry, e.Ordinal, e.Archive, e.Offset, e.Packed, e.Size, e.Method, e.CRC32, e.Kind, e.DocCentre, e.DocDate, e.DocInc,
		e.Check, passed, ids, begun, ended, e.Phase, uint8(schemas.Phase(e.Phase).ID()), e.Status, uint8(schemas.Status(e.Status).ID()), e.Exception, e.Message, e.Note,
		lines, columns, exceptions, messages, e.ErrorsTotal,
		e.SHA256, e.MD5, e.FileSize, e.Bytes, e.Rows, e.Position, e.Number, e.Revision,
		moment(e.ModTime), moment(e.ListedAt), moment(e.RequestedAt), moment(e.StartedAt), moment(e.FinishedAt), attributes, unreadable}
}

// identity is the event's id, or what follows from it where it is no UUID.
func identity(s string) uuid.UUID {
	if u, err := uuid.Parse(s); err == nil {
		return u
	}
	return uuid.MustParse(schemas.ID("event_id", s))
}

// id is an id of the event, null where it has none.
func id(s string) *uuid.UUID {
	if s == "" {
		return nil
	}
	u := identity(s)
	return &u
}

// moment is a time, null where there is none.
func moment(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	b := bounded(*t)
	return &b
}

// bounded is the time, or the nearest that ClickHouse can hold: a server may
// claim any year for its files.
func bounded(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Microsecond)
	least, most := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2261, 12, 31, 0, 0, 0, 0, time.UTC)
	if t.Before(least) {
		return least
	}
	if t.After(most) {
		return most
	}
	return t
}
