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

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/producers/sourcestate"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// writer writes what was gathered, in one transaction.
type writer struct {
	r      *Restorer
	s      *state
	tx     pgx.Tx
	now    time.Time
	report *Report

	files, hostings, looks, acquisitions, attempts pg.Rows
	documents                                      pg.Rows           // of versions that go on, that have positions
	opened                                         map[string]opened // batches of sessions that go on
	items                                          map[itemKey]item
	told                                           []schemas.Message // beside positions
	id                                             int64             // of the last acquisition
}

// opened is a batch of a session that goes on.
type opened struct {
	session, domain string
	at              time.Time
}

func (w *writer) write(ctx context.Context) error {
	if w.r.Force {
		if err := w.empty(ctx); err != nil {
			return err
		}
	}
	var closing []schemas.Message
	for _, b := range slices.SortedFunc(maps.Values(w.s.batches), func(x, y *batch) int { return cmp.Compare(x.id, y.id) }) {
		if b.end > 0 {
			continue
		}
		if w.s.goesOn(b) {
			w.report.Reopened++
		} else {
			w.report.Closed++
		}
		for _, o := range w.s.closing(b) {
			closing = append(closing, position(o, w.now))
		}
	}
	w.opened = map[string]opened{}
	versions := w.s.versionsOrdered()
	w.before(versions)
	for _, id := range slices.Sorted(maps.Keys(w.s.files)) {
		if f := w.s.files[id]; f.name != nil {
			if err := w.file(f, versions); err != nil {
				return err
			}
		}
	}
	for _, step := range []func(context.Context) error{w.world, w.sessions, w.order, w.processes, w.replays, w.letters, w.quality, w.numbers} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	w.report.Versions, w.report.Position = len(versions), w.s.last
	return control.AppendPositions(ctx, w.tx, outbox.Outbox{Schema: control.Schema, Codec: w.r.Codec}, w.goesOn(), append(closing, w.told...)...)
}

// empty forgets all that control knows.
func (w *writer) empty(ctx context.Context) error {
	return pg.Exec(ctx, w.tx, "forget what control knew", `DO $$ DECLARE names text; BEGIN
		SELECT string_agg(format('control.%I', relname), ', ') INTO names FROM pg_class
			WHERE relnamespace = 'control'::regnamespace AND relkind = 'r' AND relname NOT IN ('schema_version', 'lease', 'counter', 'position');
		EXECUTE 'TRUNCATE ' || names || ' RESTART IDENTITY';
	END $$`)
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
	w.files.Add("id", f.id, "name", n.FileName, "action", n.Action, "centre", pointer(n.Centre), "file_date", date, "file_inc", inc,
		"exception", n.Exception, "message", n.Message, "current_sha256", sha, "current_attempt", current, "attempts", number,
		"acceptances", acceptances, "held_at", f.held.HeldAt, "held_by", pg.Text(f.held.HeldBy), "held_why", pg.Text(f.held.HeldWhy),
		"priority", f.urgency.Priority, "priority_by", pg.Text(f.urgency.PriorityBy), "priority_why", pg.Text(f.urgency.PriorityWhy))
	for _, source := range slices.Sorted(maps.Keys(f.hostings)) {
		h := f.hostings[source]
		state := h.Attributes["state"]
		settled := true
		if l := f.looks[lookKey{source, h.Look}]; l != nil && l.status != nil {
			h = l.status
			settled = f.class(lookKey{source, h.Look}, l) != "unsettled"
		}
		w.hostings.Add("source", source, "file", f.id, "action", n.Action, "name", n.FileName, "look", h.Look, "size", h.FileSize, "mtime", h.ModTime,
			"listed_at", w.moment(h.ListedAt), "settled", settled, "state", state, "misses", 0)
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
		w.looks.Add("source", k.source, "file", f.id, "look", k.look, "session", pointer(l.status.Session), "domain", n.Centre, "centre", w.centre(k.source),
			"size", l.status.FileSize, "mtime", l.status.ModTime, "listed_at", w.moment(l.status.ListedAt), "class", class, "announced_at", announced,
			"event", event, "headers", headers)
	}
	for _, t := range attempts {
		w.attempts.Add("run", t.Run, "file", f.id, "attempt", t.Attempt, "acquisition", w.id+t.Acquisition, "source", t.Source, "look", t.Look, "job", t.Job,
			"download", t.Download, "unzip", t.Unzip)
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
		a.Priority = f.urgency.Priority
		w.report.Outstanding++
		if s := w.s.sessions[pg.Value(a.Session)]; s != nil && s.open() && a.Run == schemas.LiveRun {
			id := schemas.ID("batch", s.id, a.Domain)
			a.Batch = &id
			if w.s.batches[id] == nil {
				w.opened[id] = opened{s.id, a.Domain, s.opened}
			}
		}
	}
	w.acquisitions.Add("id", w.id, "run", a.Run, "file", f.id, "session", a.Session, "domain", a.Domain, "batch", a.Batch, "source", a.Source, "look", a.Look,
		"size", a.Size, "state", a.State, "not_before", a.NotBefore, "attempt", a.Attempt, "tried", "{}", "download", a.Download, "unzip", a.Unzip,
		"sha256", a.SHA256, "documents", a.Documents, "rank_own", a.RankOwn, "rank_time", a.RankTime, "rank_ordinal", a.RankOrdinal, "ordered", a.Result == control.Complete,
		"result", a.Result, "phase", a.Phase, "exception", a.Exception, "message", a.Message, "ended_at", a.EndedAt, "retry_at", a.RetryAt, "priority", a.Priority)
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

// definition is a source's as it was announced; undefined where that is no
// definition, or none that this program knows.
func definition(told string) string {
	if src, err := config.ParseDefinition(told); err == nil && src.ID != "" {
		if text, err := src.Definition(); err == nil {
			return text
		}
	}
	return control.Undefined
}

// definedBy is who defines a centre, as it was announced; before that was told it was
// a configuration.
func definedBy(told string) string {
	if told == centres.ByProfile || told == centres.ByPerson {
		return told
	}
	return centres.ByConfiguration
}

// world writes centres, sources, files and where they lie.
func (w *writer) world(ctx context.Context) error {
	var institutes, sources pg.Rows
	for _, name := range slices.Sorted(maps.Keys(w.s.centres)) {
		c := w.s.centres[name]
		m := c.Attributes
		if m["removed"] == "true" {
			continue
		}
		institutes.Add("short_name", name, "full_name", m["full_name"], "email", m["email"], "phone", m["phone"], "address", m["address"],
			"imits_name", m["imits_name"], "active", m["active"] != "false", "revision", c.Revision, "defined_by", definedBy(m["defined_by"]))
	}
	// Address and limits follow from the definition and the configuration's defaults:
	// schedule fills them in before it opens a session.
	for _, id := range slices.Sorted(maps.Keys(w.s.sources)) {
		s := w.s.sources[id]
		m := s.Attributes
		address := m["hostname"]
		if address == s.Server {
			address = ""
		}
		defined := definition(m["definition"])
		opens, closes, err := sourcestate.Window(defined, w.now)
		if err != nil {
			opens, closes = &w.now, &w.now // it is closed, and schedule takes it out
		}
		sources.Add("id", id, "centre", s.Centre, "server", s.Server, "address", address, "protocol", m["protocol"], "url", "", "accesskey", m["accesskey"], "max_sessions", 1,
			"poll_interval", time.Hour, "state", cmp.Or(m["state"], "available"), "revision", s.Revision, "suspended_at", moment(m["suspended_at"]),
			"suspended_why", m["suspended_why"], "overruns", count(m["overruns"]), "hosts", hosts(m["hosts"]),
			"declared_state", cmp.Or(m["declared_state"], sourcestate.Declared(m["state"])),
			"maintained_until", moment(m["maintained_until"]), "opens", opens, "closes", closes,
			"definition", defined, "declared", m["declared"] != "false")
	}
	w.report.Sources, w.report.Files, w.report.Looks = len(sources.Values), len(w.files.Values), len(w.looks.Values)
	return w.copyAll(ctx,
		table{"centre", institutes},
		table{"source", sources},
		table{"file", w.files},
		table{"hosting", w.hostings},
		table{"look", w.looks})
}

// count is a number as events write it in their attributes; 0 where there is none.
func count(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// table is rows for a table of control.
type table struct {
	name string
	rows pg.Rows
}

func (w *writer) copyAll(ctx context.Context, tables ...table) error {
	for _, t := range tables {
		if err := t.rows.Copy(ctx, w.tx, control.Schema, t.name); err != nil {
			return fmt.Errorf("store the rows of %s: %w", t.name, err)
		}
	}
	return nil
}
