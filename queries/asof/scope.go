package asof

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"tributary/queries/report"
	"tributary/schemas"
)

// Scope says of which files the past is asked. Empty fields let everything
// through; what is let through may be more than what is asked for, since the
// question itself is asked again of the tables. The zero Scope is everything,
// sessions and batches too.
type Scope struct {
	Name    string // the file's name, with * for any characters
	Centre  string // that produced it, without regard to case
	Source  string // that hosts it
	Session string // UUID of a session that brought it
	Polls   bool   // the polls of all sources, and their sessions, too

	Exception string // files of which, or of whose documents, something was told with it
	Failed    string // files of which, or of whose documents, something has failed in this phase
	Findings  bool   // what batch ends told of findings, in the table found
	Replays   bool   // replays, and of files what was told of the replays' attempts only, shadows' too
}

// ScopeOf is what a list of files or documents needs.
func ScopeOf(f report.Filter) Scope {
	s := Scope{Name: f.Name, Centre: f.Centre, Source: f.Source}
	if uuid.Validate(f.Session) == nil { // what session has a number is known once all is read
		s.Session = f.Session
	}
	return s
}

// part is a condition on the history's rows, and its arguments.
type part struct {
	where string
	args  []any
}

func (p part) and(where string, args ...any) part {
	return part{p.where + " AND " + where, append(append([]any{}, p.args...), args...)}
}

// parts are the conditions whose rows together are the events that the scope
// needs, with times not after a moment.
func (s Scope) parts(until time.Time) []part {
	times := part{"time <= " + microseconds, []any{until.UnixMicro()}}
	if s == (Scope{}) {
		return []part{times}
	}
	files := times.and("file_name != ''")
	if strings.Contains(s.Name, "*") {
		pattern := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`, "*", "%").Replace(s.Name)
		files = files.and("file_name LIKE ?", pattern)
	} else if s.Name != "" {
		files = files.and("file_name = ?", s.Name)
	}
	// Which files: by what was said of them up to the moment.
	add := func(where string, args ...any) {
		sub := times.and(where, args...)
		files = files.and("file_name IN (SELECT file_name FROM event WHERE "+sub.where+")", sub.args...)
	}
	if s.Centre != "" {
		add("entity IN (?, ?, ?) AND lowerUTF8(centre) = ?", schemas.EntityFile, schemas.EntityDownload, schemas.EntityDocument, strings.ToLower(s.Centre))
	}
	if s.Source != "" {
		add("entity IN (?, ?) AND source = ?", schemas.EntityHosting, schemas.EntityDownload, s.Source)
	}
	if s.Session != "" {
		add("session = toUUIDOrNull(?)", s.Session)
	}
	if s.Exception != "" {
		add("exception = ?", s.Exception)
	}
	if s.Failed != "" {
		add("phase = ? AND status = ?", s.Failed, string(schemas.Failed))
	}
	others := []any{schemas.EntityCentre, schemas.EntitySource}
	if s.Replays {
		sub := times.and("entity = ?", schemas.EntityReplay)
		files = files.and("run IN (SELECT run FROM event WHERE "+sub.where+")", sub.args...)
		others = append(others, schemas.EntityReplay)
	}
	if s.Polls {
		others = append(others, schemas.EntitySession, schemas.EntityTask)
	}
	return []part{times.and("entity IN (?"+strings.Repeat(", ?", len(others)-1)+")", others...), files}
}

// changed narrows parts of a scope to the files of which something was said
// after one moment and up to another: no other file has changed.
func changed(parts []part, after, until time.Time) []part {
	out := make([]part, len(parts))
	for i, p := range parts {
		out[i] = p.and("(file_name = '' OR file_name IN (SELECT file_name FROM event WHERE time > "+microseconds+" AND time <= "+microseconds+"))",
			after.UnixMicro(), until.UnixMicro())
	}
	return out
}

// microseconds is a moment given as such, since a time as an argument has only
// seconds.
const microseconds = "fromUnixTimestamp64Micro(toInt64(?), 'UTC')"
