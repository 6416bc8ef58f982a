//go:build !race

package tracker

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// tampered is, for each table, how a row is changed by hand.
func tampered() map[string][2]string {
	return map[string][2]string{
		"centre": {"full_name", "'x'"}, "file_source": {"hostname", "'x'"}, "source_revision": {"message", "'x'"}, "crawling_session": {"note", "'x'"}, "poll_task": {"counts", `'{"listed": "7"}'`},
		"batch": {"documents", "documents + 1"}, "replay": {"items", "items + 1"}, "ordered": {"reason", "'x'"}, "quality": {"reason", "'y'"}, "zip_file": {"size_bytes", "7777"}, "zip_action": {"status_id", "CASE status_id WHEN 5 THEN 3 ELSE 5 END"},
		"file_source_has_zip": {"num_retries", "num_retries + 1"}, "zip_version": {"received", "received + interval '1 microsecond'"},
		"zip_download": {"documents_open", "documents_open + 1"}, "xml_file": {"merge", "merge || ' '"},
		"zip_log": {"message", "'x'"}, "xml_log": {"line", "coalesce(line, 0) + 1"}, "an_exception": {"description", "'x'"}, "unreadable": {"reason", "'x'"},
		"phase": {"description", "'x'"}, "a_status": {"rgba", "'00000000'"}, "processing_type": {"description", "'x'"},
		"source_protocol": {"description", "'x'"}, "resource_state": {"last_update", "now()"}, "standing": {"n", "n + 1"},
	}
}

// A row that was changed or removed by hand is found in every table, and named
// with its column; so is one that was added. A rebuild puts all right.
func TestRowsChangedByHandAreFound(t *testing.T) {
	s := newSystem(t)
	s.produce(logs(1, 12)...)
	s.track()
	good := s.verify(10)
	if good.Differ != 0 || good.Records != s.ends() || len(good.Tables) != len(tampered()) {
		t.Fatalf("before anything was changed: %+v", good)
	}
	for _, c := range good.Tables {
		if !c.Equal || c.Rows == 0 || c.Rows != c.Rebuilt {
			t.Errorf("before anything was changed: %+v", c)
		}
	}
	// What is changed by hand is not counted.
	byHand := func(verb, table, change string) {
		order := ""
		if table == "standing" {
			table, order = "tally", " ORDER BY n DESC" // what is not shown as 0
		}
		s.exec("BEGIN; SET LOCAL session_replication_role = replica; " + verb + " tracker." + table + change + " WHERE ctid = (SELECT ctid FROM tracker." + table + order + " LIMIT 1); COMMIT")
	}
	for table, change := range tampered() {
		byHand("UPDATE", table, " SET "+change[0]+" = "+change[1])
	}
	check := func(v Verification, kind string) {
		t.Helper()
		if v.Differ != int64(len(tampered())) || len(v.Differences) != len(tampered()) {
			t.Errorf("%d differences, %d of them listed", v.Differ, len(v.Differences))
		}
		for i, d := range v.Differences {
			if d.Kind != kind || d.Key == "" || d.Table != v.Tables[i].Table {
				t.Errorf("%s: found %+v", v.Tables[i].Table, d)
			}
			if kind == Differs && (len(d.Columns) != 1 || d.Columns[0].Column != tampered()[d.Table][0]) {
				t.Errorf("%s: the columns are %+v", d.Table, d.Columns)
			}
			if kind == Missing && (len(d.Columns) == 0 || d.Columns[0].Log == nil || d.Columns[0].Tracker != nil) {
				t.Errorf("%s: the columns are %+v", d.Table, d.Columns)
			}
		}
		for i, c := range v.Tables {
			if c.Equal || c.Hash == good.Tables[i].Hash {
				t.Errorf("the table %s is said to be equal", c.Table)
			}
		}
	}
	check(s.verify(100), Differs)
	if v := s.verify(3); v.Differ != int64(len(tampered())) || len(v.Differences) != 3 {
		t.Errorf("with a limit of 3: %d of %d listed", len(v.Differences), v.Differ)
	}
	if _, err := s.builder.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := s.verify(3); v.Differ != 0 {
		t.Errorf("after a rebuild: %+v", v.Differences)
	}

	for table := range tampered() {
		// Only this row, without what goes with it.
		byHand("DELETE FROM", table, "")
	}
	check(s.verify(100), Missing)
	if _, err := s.builder.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.exec("INSERT INTO tracker.centre (id, short_name, merge) VALUES (gen_random_uuid(), 'Nowhere', '{}')")
	s.exec("ALTER TABLE tracker.batch ADD COLUMN mine text")
	s.exec("CREATE TABLE tracker.notes (x text)")
	v := s.verify(10)
	kinds := map[string]string{}
	for _, d := range v.Differences {
		kinds[d.Table] = d.Kind
	}
	if v.Differ != 3 || kinds["centre"] != Extra || kinds["batch"] != Columns || kinds["notes"] != Extra {
		t.Errorf("what was added: %+v", v.Differences)
	}
	if left := s.leftovers(); left != "" {
		t.Errorf("schemas are left: %s", left)
	}
}

// A log that cannot tell what the rows should be is named as such.
func TestVerifyOfALogThatIsNotWhole(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*system)
		want  error
		says  string
	}{
		"its beginning is gone": {func(s *system) {
			before := kadm.Offsets{}
			before.AddOffset(s.topic, 0, 2, -1)
			if _, err := kadm.NewClient(s.client).DeleteRecords(s.t.Context(), before); err != nil {
				s.t.Fatal(err)
			}
		}, ErrLogCut, "begins at offset 2"},
		"it ends before": {func(s *system) {
			s.exec("UPDATE tracker.consumed SET next_offset = next_offset + 1000 WHERE partition = 1")
		}, ErrLogCut, "but the log ends at"},
		"it is another topic": {func(s *system) {
			if _, err := kadm.NewClient(s.client).DeleteTopic(s.t.Context(), s.topic); err != nil {
				s.t.Fatal(err)
			}
			s.makeTopic()
		}, ErrTopicAnew, "deleted and made anew"},
		"there is no tracker": {func(s *system) { s.exec("DROP SCHEMA tracker CASCADE") }, nil, "tributary tracker rebuild"},
		"there are older tables": {func(s *system) {
			s.exec("DELETE FROM tracker.schema_version WHERE version_id = (SELECT max(version_id) FROM tracker.schema_version)")
		},
			nil, "the tracker's tables are of version"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSystem(t)
			s.produce(logs(1, 3)...)
			s.track()
			tc.spoil(s)
			_, err := s.builder.Verify(t.Context(), 1)
			if err == nil || (tc.want != nil && !errors.Is(err, tc.want)) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v; want that it says %q", err, tc.says)
			}
			if left := s.leftovers(); left != "" {
				t.Errorf("schemas are left: %s", left)
			}
		})
	}
}
