package restore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// writer writes what was gathered, in one transaction.
type writer struct {
	r      *Restorer
	s      *state
	tx     pgx.Tx
	now    time.Time
	report *Report

	files, hostings, looks, acquisitions, attempts rows
	opened                                         map[string]rows // batches of sessions that go on
	items                                          map[itemKey]item
	told                                           []schemas.Message // beside positions
	id                                             int64             // of the last acquisition
}

type rows [][]any

func (w *writer) write(ctx context.Context) error {
	if w.r.Force {
		if err := w.empty(ctx); err != nil {
			return err
		}
	}
	var closing []schemas.Message
	for _, b := range slices.SortedFunc(maps.Values(w.s.batches), func(x, y *batch) int { return cmp.Compare(x.id, y.id) }) {
		if b.end == 0 {
			w.report.Closed++
			for _, o := range w.s.closing(b) {
				closing = append(closing, position(o, w.now))
			}
		}
	}
	w.opened = map[string]rows{}
	versions := w.s.versionsOrdered()
	for _, id := range slices.Sorted(maps.Keys(w.s.files)) {
		if f := w.s.files[id]; f.name != nil {
			if err := w.file(f, versions); err != nil {
				return err
			}
		}
	}
	for _, step := range []func(context.Context) error{w.world, w.sessions, w.order, w.processes, w.replays, w.letters, w.numbers} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	w.report.Versions, w.report.Position = len(versions), w.s.last
	return control.AppendPositions(ctx, w.tx, pg.Outbox{Schema: control.Schema, Codec: w.r.Codec}, w.goesOn(), append(closing, w.told...)...)
}

// empty forgets all that control knows.
func (w *writer) empty(ctx context.Context) error {
	_, err := w.tx.Exec(ctx, `DO $$ DECLARE names text; BEGIN
		SELECT string_agg(format('control.%I', relname), ', ') INTO names FROM pg_class
			WHERE relnamespace = 'control'::regnamespace AND relkind = 'r' AND relname NOT IN ('schema_version', 'lease', 'counter', 'position');
		EXECUTE 'TRUNCATE ' || names || ' RESTART IDENTITY';
	END $$`)
	if err != nil {
		return fmt.Errorf("forget what control knew: %w", err)
	}
	return nil
}

// file gathers the rows of a file.
func (w *writer) file(f *file, versions map[versionKey]*ordered) error {
	n := f.name
	all, attempts, tries := w.s.acquisitions(f, versions, w.now, w.r.Retry)
	sha, current, acceptances := shown(all, attempts)
	number := int32(0)
	for key := range f.attempts {
		number = max(number, key.attempt)
	}
	var date, inc any
	if n.Exception == "" {
		date, inc = n.FileDate, n.FileInc
	}
	w.files = append(w.files, []any{f.id, n.FileName, n.Action, pointer(n.Centre), date, inc, n.Exception, n.Message, sha, current, number, acceptances})
	for _, source := range slices.Sorted(maps.Keys(f.hostings)) {
		h := f.hostings[source]
		state := h.Attributes["state"]
		settled := true
		if l := f.looks[lookKey{source, h.Look}]; l != nil && l.status != nil {
			h = l.status
			settled = f.class(lookKey{source, h.Look}, l) != "unsettled"
		}
		w.hostings = append(w.hostings, []any{source, f.id, n.Action, n.FileName, h.Look, h.FileSize, h.ModTime, w.moment(h.ListedAt), settled, state, 0})
	}
	for _, k := range slices.SortedFunc(maps.Keys(f.looks), func(x, y lookKey) int { return cmp.Or(cmp.Compare(x.source, y.source), cmp.Compare(x.look, y.look)) }) {
		l := f.looks[k]
		if l.status == nil {
			continue
		}
		class := f.class(k, l)
		var announced *time.Time
		var event []byte
		var headers any
		if class == "announced" {
			w.report.Announced++
			text, err := json.Marshal(l.event.Headers)
			if err != nil {
				return fmt.Errorf("announcement of %s: %w", n.FileName, err)
			}
			announced, event, headers = &w.now, l.event.Value, string(text)
		}
		w.looks = append(w.looks, []any{k.source, f.id, k.look, pointer(l.status.Session), n.Centre, w.centre(k.source), l.status.FileSize, l.status.ModTime,
			w.moment(l.status.ListedAt), class, announced, event, headers})
	}
	for _, t := range attempts {
		w.attempts = append(w.attempts, []any{t.Run, f.id, t.Attempt, w.id + t.Acquisition, t.Source, t.Look, t.Job, t.Download, t.Unzip})
	}
	for i, a := range all {
		w.acquisition(f, a)
		if a.Run != schemas.LiveRun {
			w.item(f, a, tries[i][len(tries[i])-1])
		}
		for _, t := range tries[i] {
			t.acquisition = w.id
		}
	}
	return nil
}

func (w *writer) acquisition(f *file, a *control.Acquisition) {
	w.id++
	if a.State != control.Ended {
		w.report.Outstanding++
		if s := w.s.sessions[text(a.Session)]; s != nil && s.closed == nil && s.end == 0 && a.Run == schemas.LiveRun {
			id := schemas.ID("batch", s.id, a.Domain)
			a.Batch = &id
			if w.s.batches[id] == nil {
				w.opened[id] = rows{{id, s.id, a.Domain, s.opened, nil, nil, nil, schemas.LiveRun}}
			}
		}
	}
	w.acquisitions = append(w.acquisitions, []any{w.id, a.Run, f.id, a.Session, a.Domain, a.Batch, a.Source, a.Look, a.Size, a.State, a.NotBefore, a.Attempt, "{}",
		a.Download, a.Unzip, a.SHA256, a.Documents, a.RankOwn, a.RankTime, a.RankOrdinal, a.Result, a.Phase, a.Exception, a.Message, a.EndedAt, a.RetryAt})
}

func (w *writer) centre(source string) string {
	if s := w.s.sources[source]; s != nil {
		return s.Centre
	}
	return ""
}

func (w *writer) moment(t *time.Time) time.Time {
	if t == nil {
		return w.now
	}
	return *t
}

// hosts is what a source may show, as it was announced; nil: everything, as before
// that was told.
func hosts(told string) []string {
	if told == "" || told == config.AllCentres {
		return nil
	}
	return strings.Fields(told)
}

// world writes centres, sources, files and where they lie.
func (w *writer) world(ctx context.Context) error {
	var centres, sources rows
	for _, name := range slices.Sorted(maps.Keys(w.s.centres)) {
		c := w.s.centres[name]
		m := c.Attributes
		centres = append(centres, []any{name, m["full_name"], m["email"], m["phone"], m["address"], m["imits_name"], m["active"] != "false", c.Revision})
	}
	// Address and limits are the configuration's: schedule fills them in before
	// it opens a session.
	for _, id := range slices.Sorted(maps.Keys(w.s.sources)) {
		s := w.s.sources[id]
		m := s.Attributes
		sources = append(sources, []any{id, s.Centre, s.Server, m["protocol"], "", m["accesskey"], 1, time.Hour, cmp.Or(m["state"], "available"), s.Revision,
			instant(m["suspended_at"]), m["suspended_why"], count(m["overruns"]), hosts(m["hosts"])})
	}
	w.report.Sources, w.report.Files, w.report.Looks = len(sources), len(w.files), len(w.looks)
	return w.copyAll(ctx,
		table{"centre", "short_name full_name email phone address imits_name active revision", centres},
		table{"source", "id centre server protocol url accesskey max_sessions poll_interval state revision suspended_at suspended_why overruns hosts", sources},
		table{"file", "id name action centre file_date file_inc exception message current_sha256 current_attempt attempts acceptances", w.files},
		table{"hosting", "source file action name look size mtime listed_at settled state misses", w.hostings},
		table{"look", "source file look session domain centre size mtime listed_at class announced_at event headers", w.looks})
}

// instant is a moment as events write it in their attributes; nil where there is
// none.
func instant(text string) *time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil
	}
	return &t
}

// count is a number as events write it in their attributes; 0 where there is none.
func count(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// sessions writes sessions and how their polls ended. The polls of those that
// are open were lost: the next session lists again.
func (w *writer) sessions(ctx context.Context) error {
	var sessions, polls rows
	for _, id := range slices.Sorted(maps.Keys(w.s.sessions)) {
		s := w.s.sessions[id]
		ended := w.now
		if s.closed != nil {
			ended = *s.closed
		}
		var end any
		if s.end > 0 {
			end = s.end
		}
		sessions = append(sessions, []any{id, s.number, false, s.opened, ended, end, s.closed})
	}
	for key, p := range w.s.polls {
		if w.s.sessions[key.session] == nil || w.s.sources[key.source] == nil {
			continue
		}
		polls = append(polls, []any{schemas.ID("poll", p.Session, p.Source), p.Session, p.Source, p.Server, w.centre(p.Source), p.Note, p.Attempt, p.StartedAt, p.FinishedAt, p.Exception, p.Message})
	}
	w.report.Sessions = len(sessions)
	return w.copyAll(ctx,
		table{"session", "id number once opened_at polls_ended_at end_position closed_at", sessions},
		table{"poll", "id session source server centre state attempts started_at ended_at exception message", polls})
}

// order writes batches and operations.
func (w *writer) order(ctx context.Context) error {
	var batches, domains, operations rows
	for _, id := range slices.Sorted(maps.Keys(w.s.batches)) {
		b := w.s.batches[id]
		batches = append(batches, []any{id, pointer(b.session), b.domain, b.at, b.number, b.at, b.end, b.run})
	}
	for _, id := range slices.Sorted(maps.Keys(w.opened)) {
		batches = append(batches, w.opened[id]...)
	}
	for _, name := range slices.Sorted(maps.Keys(w.s.domains)) {
		domains = append(domains, []any{name, w.s.domains[name] + 1})
	}
	for i, o := range w.s.operations {
		file, archive, blob := o.FileName, o.Archive, ""
		if o.What == schemas.PositionReference {
			archive, blob = "", o.Archive
		}
		operations = append(operations, []any{o.Batch, o.Run, int64(i + 1), o.What, o.Domain, file, o.Action, archive, o.Entry, blob, "", "restored from document.ordered", o.at, o.Position, o.last})
	}
	return w.copyAll(ctx,
		table{"batch", "id session domain opened_at number released_at last_position run", batches},
		table{"domain", "name next_number", domains},
		table{"operation", "id run number what domain file action archive name blob requested_by reason requested_at position last_position", operations})
}

// processes writes what fetches files, and what it has accepted.
func (w *writer) processes(ctx context.Context) error {
	return w.copyAll(ctx,
		table{"acquisition", `id run file session domain batch source look size state not_before attempt tried download unzip sha256 documents
			rank_own rank_time rank_ordinal result phase exception message ended_at retry_at`, w.acquisitions},
		table{"attempt", "run file attempt acquisition source look job download unzip", w.attempts})
}

// numbers writes what is given next.
func (w *writer) numbers(ctx context.Context) error {
	var session int64
	for _, s := range w.s.sessions {
		session = max(session, s.number)
	}
	steps := []struct {
		sql  string
		args []any
	}{
		{"INSERT INTO control.counter AS c VALUES ('session', $1), ('revision', $2), ('replay', $3) ON CONFLICT (name) DO UPDATE SET value = greatest(c.value, excluded.value)",
			[]any{session, w.s.revision, w.s.number}},
		{"SELECT setval(pg_get_serial_sequence('control.acquisition', 'id'), $1, false)", []any{w.id + 1}},
		{"SELECT setval(pg_get_serial_sequence('control.operation', 'number'), $1, false)", []any{int64(len(w.s.operations)) + 1}},
	}
	for _, step := range steps {
		if _, err := w.tx.Exec(ctx, step.sql, step.args...); err != nil {
			return fmt.Errorf("store what is given next: %w", err)
		}
	}
	return control.SetPosition(ctx, w.tx, w.goesOn())
}

// goesOn is where the order goes on behind what was published.
func (w *writer) goesOn() control.Position {
	next, previous := w.s.head.GoesOn()
	return control.Position{Next: next, Previous: previous}
}

// table is rows for a table of control; columns are separated by white space.
type table struct {
	name, columns string
	rows          rows
}

func (w *writer) copyAll(ctx context.Context, tables ...table) error {
	for _, t := range tables {
		if _, err := w.tx.CopyFrom(ctx, pgx.Identifier{control.Schema, t.name}, strings.Fields(t.columns), pgx.CopyFromRows(t.rows)); err != nil {
			return fmt.Errorf("store the rows of %s: %w", t.name, err)
		}
	}
	return nil
}
