//go:build !race

package tracker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/schemas/exception"
	trackersql "tributary/sql/tracker"
)

// The versions of the tables that were in use.
const (
	firstInUse = 3
	lastInUse  = 25
)

// A filled database of every version in use is brought to the newest, and the
// tracker goes on: in the end its rows and counts are those that the log gives. Rows
// of versions up to 7 don't tell which judgement was first, so they come again. It is
// one database that is set back from the newest to each version: only what a version
// keeps goes with it, and the rows that come of it are those it is set back from.
func TestMigrationsOfAFilledDatabase(t *testing.T) {
	s := newSystem(t)
	s.produce(unversioned(logs(1, 8))...) // no tables before the newest knew of versions, nor did who wrote the log
	s.track()
	want := dump(t, s.pool)
	for version := lastInUse - 1; version >= firstInUse; version-- {
		if !t.Run(fmt.Sprint("from ", version), func(t *testing.T) {
			s.setBack(version)
			if err := s.opened(); err != nil {
				t.Fatal(err)
			}
			s.track()
			if d := cmp.Diff(want, dump(t, s.pool)); d != "" {
				t.Errorf("the rows differ:\n%s", d)
			}
			if counted, is := counts(t, s.pool); cmp.Diff(is, counted) != "" {
				t.Errorf("counted (-is +counted):\n%s", cmp.Diff(is, counted))
			}
		}) {
			return // the next would be set back from rows that are wrong
		}
	}
	s.goesOn()
}

// opened is what a member does with the tables before it runs.
func (s *system) opened() error {
	return errors.Join(trackersql.Migrate(s.t.Context(), s.pool), trackersql.Describe(s.t.Context(), s.pool, exception.Texts()))
}

// goesOn expects that a migrated tracker takes what comes, that its rows are then
// those that the log gives, and that it can be rebuilt.
func (s *system) goesOn() {
	s.t.Helper()
	s.produce(logs(8, 10)...)
	s.track()
	if v := s.verify(5); v.Differ != 0 {
		s.t.Errorf("after the tracker went on: %+v", v.Differences)
	}
	if _, err := s.builder.Rebuild(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	if v := s.verify(5); v.Differ != 0 {
		s.t.Errorf("after a rebuild: %+v", v.Differences)
	}
}

// unversioned are events as they were told before phases had versions, sources
// rested, trackers knew why a source's showing of a file was refused, downloads told
// how far they are and how their bytes came, people decided about documents, and it was kept who ordered what.
func unversioned(events []event) []event {
	events = slices.DeleteFunc(events, func(e event) bool { return e.Entity == schemas.EntityQuality })
	for i := range events {
		e := &events[i]
		e.VersionOf, e.Passed = "", slices.Clone(e.Passed)
		e.Attributes = maps.Clone(e.Attributes)
		for _, name := range []string{"message", "received", "rate", "by", "listed.title", "listed.id", "resumed_from", "request_head", "response_head"} {
			delete(e.Attributes, name)
		}
		for p := range e.Passed {
			e.Passed[p].VersionOf = ""
		}
		if e.Entity == schemas.EntitySource {
			e.Message = ""
			e.Attributes = maps.Clone(e.Attributes)
			for _, name := range []string{"suspended_at", "suspended_why", "overruns", "definition"} {
				delete(e.Attributes, name)
			}
		}
	}
	return events
}

// setBack makes the tables those of an earlier version, with their rows.
func (s *system) setBack(version int) {
	s.t.Helper()
	all, err := trackersql.Statements("earlier")
	if err != nil {
		s.t.Fatal(err)
	}
	if len(all) != lastInUse {
		s.t.Fatalf("there are %d migrations: raise lastInUse", len(all))
	}
	err = pg.InTx(s.t.Context(), s.pool, func(tx pgx.Tx) error {
		exec := func(sql string) error {
			_, err := tx.Exec(s.t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
			return err
		}
		if err := exec("SET LOCAL session_replication_role = replica; CREATE SCHEMA earlier; " + strings.Join(all[:version], "\n") +
			"; CREATE TABLE earlier.schema_version (LIKE tracker.schema_version INCLUDING ALL)"); err != nil {
			return err
		}
		rows, err := tx.Query(s.t.Context(), `SELECT c.relname, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
			FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
			WHERE c.relnamespace = 'earlier'::regnamespace AND c.relkind = 'r' GROUP BY 1`)
		if err != nil {
			return err
		}
		tables, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Name, Columns string }])
		if err != nil {
			return err
		}
		for _, t := range tables {
			if err := exec(fmt.Sprintf("TRUNCATE earlier.%s CASCADE", t.Name)); err != nil {
				return err
			}
		}
		for _, t := range tables {
			where := ""
			if t.Name == "schema_version" {
				where = fmt.Sprint(" WHERE version_id <= ", version)
			}
			if err := exec(fmt.Sprintf("INSERT INTO earlier.%[1]s (%[2]s) OVERRIDING SYSTEM VALUE SELECT %[2]s FROM tracker.%[1]s%[3]s", t.Name, t.Columns, where)); err != nil {
				return err
			}
		}
		return exec("SELECT setval(pg_get_serial_sequence('earlier.schema_version', 'id'), 100); DROP SCHEMA tracker CASCADE; ALTER SCHEMA earlier RENAME TO tracker")
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
