package asof

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"tributary/schemas"
)

// blockRows bounds what the engine hands over at a time: rows are wide.
const blockRows = 4096

// reading asks for reading only, in little memory and without a limit of time
// but the caller's.
func (r *Reader) reading(ctx context.Context) context.Context {
	settings := clickhouse.Settings{"readonly": 2, "max_block_size": blockRows, "max_threads": 2, "max_execution_time": 0}
	if r.MaxMemory > 0 {
		settings["max_memory_usage"] = r.MaxMemory
	}
	return clickhouse.Context(ctx, clickhouse.WithSettings(settings))
}

// stored is one row of the history.
type stored struct {
	Event

	topic      string
	partition  int32
	offset     int64
	unreadable string // why it is no event; empty: it is one
}

// columns are read in the order of row.targets.
const columns = `topic, partition, offset, time, unreadable, run, session, centre, source, server, entity, file, file_name, action, file_date, file_inc,
	attempt, look, outcome, accepted, repeats, document, entry, ordinal, archive, entry_offset, packed, size, method, crc32, kind, doc_centre, doc_date, doc_inc,
	check_number, passed.phase, passed.started_at, passed.finished_at, passed.version_of, phase, status, exception, message, note,
	errors.line, errors.column, errors.exception, errors.message, errors_total, sha256, md5, file_size, bytes, rows, position, number, revision,
	mod_time, listed_at, requested_at, started_at, finished_at, attributes, version_of`

// row is what is scanned: the event, and what has another form in the table.
type row struct {
	stored

	run, session, file, document *uuid.UUID
	passed, passedBy             []string
	passedFrom, passedTo         []*time.Time
	lines, columns               []int32
	exceptions, messages         []string
}

func (r *row) targets() []any {
	e := &r.StatusChanged
	return []any{&r.topic, &r.partition, &r.offset, &r.At, &r.unreadable, &r.run, &r.session, &e.Centre, &e.Source, &e.Server, &e.Entity,
		&r.file, &e.FileName, &e.Action, &e.FileDate, &e.FileInc,
		&e.Attempt, &e.Look, &e.Outcome, &e.Accepted, &e.Repeats, &r.document, &e.Entry, &e.Ordinal, &e.Archive, &e.Offset, &e.Packed, &e.Size, &e.Method, &e.CRC32,
		&e.Kind, &e.DocCentre, &e.DocDate, &e.DocInc,
		&e.Check, &r.passed, &r.passedFrom, &r.passedTo, &r.passedBy, &e.Phase, &e.Status, &e.Exception, &e.Message, &e.Note,
		&r.lines, &r.columns, &r.exceptions, &r.messages, &e.ErrorsTotal, &e.SHA256, &e.MD5, &e.FileSize, &e.Bytes, &e.Rows, &e.Position, &e.Number, &e.Revision,
		&e.ModTime, &e.ListedAt, &e.RequestedAt, &e.StartedAt, &e.FinishedAt, &e.Attributes, &e.VersionOf}
}

// event puts together what the table keeps apart.
func (r *row) event() stored {
	e := &r.StatusChanged
	e.Run, e.Session, e.File, e.Document = text(r.run), text(r.session), text(r.file), text(r.document)
	for i, phase := range r.passed {
		e.Passed = append(e.Passed, schemas.PassedPhase{Phase: phase, StartedAt: r.passedFrom[i], FinishedAt: r.passedTo[i], VersionOf: r.passedBy[i]})
	}
	for i, line := range r.lines {
		e.Errors = append(e.Errors, schemas.ErrorDetail{Line: line, Column: r.columns[i], Exception: r.exceptions[i], Message: r.messages[i]})
	}
	if !r.At.After(noTime) {
		r.At = time.Time{}
	}
	return r.stored
}

// noTime is what the history keeps where an event has no time: ClickHouse's
// least.
var noTime = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a time can't be a constant

func text(id *uuid.UUID) string {
	if id == nil {
		return ""
	}
	return id.String()
}

// count says how many rows there are.
func (p *past) count(ctx context.Context, parts []part) (int64, error) {
	var all int64
	for _, part := range parts {
		var n uint64
		if err := p.History.QueryRow(p.reading(ctx), "SELECT count() FROM event WHERE "+part.where, part.args...).Scan(&n); err != nil {
			return 0, fmt.Errorf("count the events: %w", err)
		}
		all += int64(n)
	}
	return all, nil
}

// read calls each with every row of a part, by its place in the log: the events
// of a file are in one partition, and lie there near each other. A record may
// come twice, which changes nothing.
func (p *past) read(ctx context.Context, part part, each func(stored) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // what is left is not read to its end
	rows, err := p.History.Query(p.reading(ctx), "SELECT "+columns+" FROM event WHERE "+part.where+" ORDER BY topic, partition, offset", part.args...)
	if err != nil {
		return fmt.Errorf("read the history: %w", err)
	}
	defer rows.Close()
	return scan(rows, each)
}

func scan(rows driver.Rows, each func(stored) error) error {
	for rows.Next() {
		r := &row{}
		if err := rows.Scan(r.targets()...); err != nil {
			return fmt.Errorf("read the history: %w", err)
		}
		if err := each(r.event()); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the history: %w", err)
	}
	return nil
}
