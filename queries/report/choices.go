package report

import (
	"context"

	"tributary/internal/pg"
)

// FileCounts counts the files at each phase and status, in the order of these.
func FileCounts(ctx context.Context, q pg.Querier) ([]Count, error) {
	return counted(ctx, q, "file", "")
}

// counted are the counts of files or documents that the tracker keeps; with the short
// name of a centre, of what that produced.
func counted(ctx context.Context, q pg.Querier, what, centre string) ([]Count, error) {
	return list[Count](ctx, q, "how many "+what+"s stand where", `SELECT p.short_name, s.short_name, n FROM
		(SELECT phase_id, status_id, sum(n)::bigint AS n FROM tracker.standing WHERE what = $1 AND ($2 = '' OR of_id = (SELECT id FROM tracker.centre WHERE short_name = $2)) GROUP BY 1, 2 HAVING sum(n) > 0) a
		JOIN tracker.phase p ON p.id = phase_id JOIN tracker.a_status s ON s.id = status_id ORDER BY phase_id, status_id`, what, centre)
}

// FailedCount is how many files stand failed with an exception.
type FailedCount struct {
	Exception string
	Files     int64
	OfCentre  int64 // those of them that the centre has produced which was asked about
}

// FailedCounts counts the files that stand failed by exception, the most frequent first,
// and those of a centre, by its short name, among them.
func FailedCounts(ctx context.Context, q pg.Querier, centre string) ([]FailedCount, error) {
	return list[FailedCount](ctx, q, "with what files have failed", `SELECT x.short_name, sum(n)::bigint, coalesce(sum(n) FILTER (WHERE lower(c.short_name) = lower($1)), 0)::bigint
		FROM tracker.standing f JOIN tracker.an_exception x ON x.id = f.exception_id LEFT JOIN tracker.centre c ON c.id = f.of_id
		WHERE f.what = 'file' AND f.status_id = {status failed} GROUP BY 1 ORDER BY 2 DESC, x.short_name COLLATE "C"`, centre)
}

// Choices are names that lists can be narrowed to.
type Choices struct {
	Centres, Sources, Exceptions []string
}

// maxChoices bounds how many of each there are.
const maxChoices = 500

// ReadChoices reads the names of centres, sources and exceptions that have been seen,
// sorted, and not more than can be chosen from.
func ReadChoices(ctx context.Context, q pg.Querier) (Choices, error) {
	var c Choices
	err := pg.Row(ctx, q, "read what lists can be narrowed to", []any{&c.Centres, &c.Sources, &c.Exceptions}, `SELECT ARRAY(SELECT short_name FROM tracker.centre ORDER BY short_name COLLATE "C" LIMIT $1), ARRAY(SELECT short_name FROM tracker.file_source ORDER BY short_name COLLATE "C" LIMIT $1),
		ARRAY(SELECT short_name FROM tracker.an_exception ORDER BY short_name COLLATE "C" LIMIT $1)`, maxChoices)
	return c, err
}
