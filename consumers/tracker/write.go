package tracker

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"tributary/internal/pg"
	"tributary/internal/remote/connectors"
)

// write adds a fold to the rows. Tables come in one fixed order.
func (f *fold) write(ctx context.Context, s *store) error {
	if err := f.writeExceptions(ctx, s); err != nil {
		return err
	}
	for _, step := range []func(context.Context, *store) error{
		f.writeCentres, f.writeSources, f.writeRevisions, f.writeSessions, f.writeTasks, f.writeBatches, f.writeReplays, f.writeOrdered, f.writeNames,
		f.writeFiles,
	} {
		if err := step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// writeExceptions registers the exceptions named. Only who names one earlier
// than all before has to wait for others.
func (f *fold) writeExceptions(ctx context.Context, s *store) error {
	if len(f.exceptions) == 0 {
		return nil
	}
	keys := ids(f.exceptions)
	names, first, meanings := make([]string, len(keys)), make([]time.Time, len(keys)), make([]*string, len(keys))
	for i, id := range keys {
		names[i], first[i] = f.exceptions[id].name, f.exceptions[id].first
		if text, ok := s.meanings[names[i]]; ok {
			meanings[i] = &text
		}
	}
	if err := pg.Exec(ctx, s.tx, "register exceptions", s.sql(`INSERT INTO tracker.an_exception (id, short_name, last_update, description)
		SELECT * FROM unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::text[]) ON CONFLICT DO NOTHING`), keys, names, first, meanings); err != nil {
		return err
	}
	// An older member leaves the description out.
	return pg.Exec(ctx, s.tx, "register exceptions", s.sql(`WITH n AS (
			SELECT x.id, n.first, n.meaning FROM unnest($1::uuid[], $2::timestamptz[], $3::text[]) AS n (id, first, meaning) JOIN tracker.an_exception AS x USING (id)
			WHERE x.last_update > n.first OR x.last_update IS NULL OR x.description IS NULL AND n.meaning IS NOT NULL ORDER BY x.id FOR NO KEY UPDATE OF x)
		UPDATE tracker.an_exception AS x SET last_update = least(x.last_update, n.first), description = coalesce(x.description, n.meaning) FROM n WHERE x.id = n.id
			AND (x.last_update > n.first OR x.last_update IS NULL OR x.description IS NULL AND n.meaning IS NOT NULL)`), keys, first, meanings)
}

// writeCentres writes the centres announced, and makes a row for every other
// centre spoken of.
func (f *fold) writeCentres(ctx context.Context, s *store) error {
	return f.announce(ctx, s, "centre", f.centres, func(to *pg.Rows, id uuid.UUID, c *announced, text string) {
		a := c.Attributes
		to.Add("id", [16]byte(id), "short_name", c.Name, "full_name", orNull(a["full_name"]), "email", orNull(a["email"]), "phone", orNull(a["phone"]),
			"address", orNull(a["address"]), "imits_name", orNull(a["imits_name"]), "is_active", a["active"] != "false",
			"created", timeOrNull(c.Created), "last_update", timeOrNull(c.At), "revision", c.Revision, "merge", text)
	})
}

func (f *fold) writeSources(ctx context.Context, s *store) error {
	return f.announce(ctx, s, "file_source", f.sources, func(to *pg.Rows, id uuid.UUID, c *announced, text string) {
		a := c.Attributes
		to.Add("id", [16]byte(id), "short_name", c.Name, "centre_id", nameOrNull("centre", c.Centre), "protocol_id", protocol(a["protocol"]),
			"hostname", orNull(a["hostname"]), "username", orNull(a["username"]), "accesskey", orNull(a["accesskey"]),
			"base_path", orNull(a["base_path"]), "state_id", resourceState(a["state"]), "suspended_at", momentOrNull(a["suspended_at"]),
			"suspended_why", orNull(a["suspended_why"]), "overruns", countOrNull(a["overruns"]), "created", timeOrNull(c.Created),
			"last_update", timeOrNull(c.At), "revision", c.Revision, "merge", text)
	})
}

// countOrNull is a number as events write it in their attributes; null for 0 and
// for what is none.
func countOrNull(text string) any {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return nil
	}
	return n
}

func (f *fold) announce(ctx context.Context, s *store, name string, all map[uuid.UUID]*announced, row func(*pg.Rows, uuid.UUID, *announced, string)) error {
	if len(all) == 0 {
		return nil
	}
	keys := ids(all)
	names := make([]string, len(keys))
	spoken := map[uuid.UUID]*announced{}
	for i, id := range keys {
		names[i] = all[id].Name
		if !all[id].At.IsZero() {
			spoken[id] = all[id]
		}
	}
	// The rows are made first, so that they can be locked and referred to.
	if _, err := s.tx.Exec(ctx, s.sql(fmt.Sprintf(`INSERT INTO tracker.%s (id, short_name, merge)
		SELECT id, name, '{}' FROM unnest($1::uuid[], $2::text[]) AS n(id, name) ON CONFLICT DO NOTHING`, name)), keys, names); err != nil {
		return fmt.Errorf("make rows of %s.%s: %w", s.schema, name, err)
	}
	s.target.added(keys...)
	return writeStates(ctx, s, name, spoken, row)
}

// writeStates merges states with what their rows remember and writes them.
func writeStates[T any, P adder[T]](ctx context.Context, s *store, name string, states map[uuid.UUID]P, row func(*pg.Rows, uuid.UUID, P, string)) error {
	if err := merge(ctx, s, name, states); err != nil {
		return err
	}
	keys := ids(states)
	return s.write(ctx, name, keys, func(i int, to *pg.Rows) error {
		text, err := remembered(states[keys[i]])
		if err != nil {
			return err
		}
		row(to, keys[i], states[keys[i]], text)
		return nil
	})
}

// protocol is the number of a scheme's, which is in the connector's row; null for one
// that this build doesn't know.
func protocol(scheme string) any {
	if n := connectors.All().Protocol(scheme); n > 0 {
		return n
	}
	return nil
}

func resourceState(name string) any {
	return ordinal(name, "available", "maintenance", "removed", "suspended")
}

// ordinal is a name's id in a table of seeded names; null for an unknown one.
func ordinal(name string, names ...string) any {
	for i, n := range names {
		if n == name {
			return i + 1
		}
	}
	return nil
}

func (f *fold) writeSessions(ctx context.Context, s *store) error {
	return writeStates(ctx, s, "crawling_session", f.sessions, func(to *pg.Rows, id uuid.UUID, x *session, text string) {
		to.Add("id", [16]byte(id), "number", orNull(x.Number), "start_time", timeOrNull(x.Started), "finish_time", timeOrNull(x.Finished),
			"status", x.closed(), "note", orNull(x.Note), "created", x.First, "last_update", x.Last, "merge", text)
	})
}

func (f *fold) writeTasks(ctx context.Context, s *store) error {
	return writeStates(ctx, s, "poll_task", f.tasks, func(to *pg.Rows, id uuid.UUID, x *task, text string) {
		counts := x.Counts
		if counts == nil {
			counts = map[string]string{}
		}
		is := show(x.Step)
		to.Add("id", [16]byte(id), "session_id", idOrNull("session", x.Session), "file_source_id", nameOrNull("source", x.Source), "phase_id", is.Phase,
			"status_id", is.Status, "exception_id", uuidOrNull(is.Exception), "message", orNull(is.Message), "start_time", timeOrNull(x.Started),
			"finish_time", timeOrNull(x.Finished), "counts", counts, "created", x.First, "last_update", x.Last, "merge", text)
	})
}

func (f *fold) writeBatches(ctx context.Context, s *store) error {
	return writeStates(ctx, s, "batch", f.batches, func(to *pg.Rows, id uuid.UUID, x *batch, text string) {
		to.Add("id", [16]byte(id), "centre_id", nameOrNull("centre", x.Centre), "number", x.Number, "session_id", idOrNull("session", x.Session),
			"status_id", max(x.Status, pending), "documents", x.Documents, "start_time", timeOrNull(x.Started), "finish_time", timeOrNull(x.Finished),
			"position", orNull(x.Position), "checked_version", orNull(x.Checked), "created", x.First, "last_update", x.Last, "merge", text)
	})
}

func (f *fold) writeNames(ctx context.Context, s *store) error {
	return writeStates(ctx, s, "zip_file", f.names, func(to *pg.Rows, id uuid.UUID, n *named, text string) {
		var inc any
		if n.Dated {
			inc = n.Inc
		}
		to.Add("id", [16]byte(id), "file_name", n.Name, "centre_id", nameOrNull("centre", n.Centre), "created", dateOrNull(n.Date), "inc", inc,
			"size_bytes", orNull(n.Size), "content_md5", orNull(n.MD5), "content_sha256", orNull(n.SHA256), "received", timeOrNull(n.Received),
			"last_update", n.Last, "merge", text)
	})
}
