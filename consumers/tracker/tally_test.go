//go:build !race

package tracker

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// recounted is what the view standing is to say, counted in the rows.
const recounted = `
	SELECT 'file' AS what, z.centre_id AS of_id, f.phase_id, f.status_id, CASE WHEN f.status = 'failed' THEN a.exception_id END AS exception_id, f.ended, count(*) AS n
	FROM tracker.file f JOIN tracker.zip_action a ON a.id = f.id JOIN tracker.zip_file z ON z.id = a.zip_id GROUP BY 1, 2, 3, 4, 5, 6
	UNION ALL
	SELECT 'document', z.centre_id, d.phase_id, d.status_id, NULL, false, count(*)
	FROM tracker.document d JOIN tracker.zip_action a ON a.id = d.file_id JOIN tracker.zip_file z ON z.id = a.zip_id GROUP BY 1, 2, 3, 4
	UNION ALL
	SELECT 'hosting', file_source_id, 0, 0, NULL, false, count(*) FROM tracker.file_source_has_zip WHERE state = 'present' GROUP BY 1, 2`

// counts are what the tracker has counted, and what there is.
func counts(t testing.TB, pool *pgxpool.Pool) (counted, is []string) {
	t.Helper()
	counted, err := column(pool, "SELECT x::text FROM tracker.standing x ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	if is, err = column(pool, "SELECT x::text FROM ("+recounted+") x ORDER BY 1"); err != nil {
		t.Fatal(err)
	}
	return counted, is
}

// What is counted is what there is, whoever writes: members with partitions of their
// own, and a program that knows of no slots.
func TestCountsAreThoseOfTheRows(t *testing.T) {
	pool := database(t)
	tr := newTracker(t, pool)
	for round := range 3 {
		for partition := range int32(4) {
			r := sink.Range{Topic: schemas.StatusChangedTopic, Partition: partition, From: int64(round)}
			for i, e := range logs(1+int(partition)*3, 4+int(partition)*3) {
				if i%3 != round {
					continue
				}
				r.Records = append(r.Records, record(t, tr, e, int64(round)))
			}
			r.To = r.From + 1
			if err := tr.Apply(t.Context(), []sink.Range{r}); err != nil {
				t.Fatal(err)
			}
		}
	}
	slots, err := column(pool, "SELECT DISTINCT slot::text FROM tracker.tally ORDER BY 1")
	if d := cmp.Diff([]string{"0", "1", "2", "3"}, slots); err != nil || d != "" {
		t.Errorf("slots: %v\n%s", err, d)
	}
	counted, is := counts(t, pool)
	if d := cmp.Diff(is, counted); d != "" || len(is) < 4 {
		t.Errorf("counted (-is +counted):\n%s", d)
	}
	for _, sql := range []string{
		"UPDATE tracker.zip_action SET phase_id = 2, status_id = 1, exception_id = NULL WHERE attempts > 0",
		"UPDATE tracker.zip_download SET documents_open = 3, accepted = NULL WHERE attempt = 1",
		"UPDATE tracker.xml_file SET phase_id = 11 WHERE ordinal = 0",
		"UPDATE tracker.zip_file SET centre_id = (SELECT id FROM tracker.centre ORDER BY short_name DESC LIMIT 1)",
		"UPDATE tracker.file_source_has_zip SET state = CASE state WHEN 'present' THEN 'gone' ELSE 'present' END",
		"UPDATE tracker.zip_action SET download_id = NULL",
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		counted, is := counts(t, pool)
		if d := cmp.Diff(is, counted); d != "" {
			t.Errorf("after %s (-is +counted):\n%s", sql, d)
		}
	}
}

// Members that move the same counts at the same time don't wait for each other.
func TestCountersHoldUpNobody(t *testing.T) {
	pool := database(t)
	apply(t, newTracker(t, pool), 0, events(unzippedFile("H.2012-10-02.1.impc.zip", 1))...) // centre and source are there
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	st, err := newStore(t.Context(), tx, &sharedTarget{}, 7, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := newFold()
	for _, e := range events(unzippedFile("H.2012-10-02.2.impc.zip", 1)) {
		if err := f.add(&e.StatusChanged, e.at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.write(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	cfg := pool.Config()
	cfg.ConnConfig.RuntimeParams["lock_timeout"] = "1min" // what waits for the transaction waits for ever
	other, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	apply(t, newTracker(t, other), 2, events(unzippedFile("H.2012-10-02.3.impc.zip", 1))...)
}

func events(all []schemas.StatusChanged) []event {
	out := make([]event, len(all))
	for i, e := range all {
		out[i] = event{time.Unix(int64(i+1), 0), e}
	}
	return out
}
