package replay

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/profile"
	"tributary/schemas"
)

// Stale means what a phase judged or loaded by another version of schemas,
// mapping, checks or rules than those of now, or by nobody knows which. What
// failed in an earlier phase is not stale in a later one, which it never reached.
type Stale struct {
	Phase    string // one of profile.VersionedPhases
	Versions profile.Versions
}

// StaleGroup is what is stale for one reason.
type StaleGroup struct {
	Kind      string `json:"kind,omitempty"`    // of the documents; empty: not known, as of archives that were refused
	Version   string `json:"version,omitempty"` // by which they were judged; empty: nobody knows
	Now       string `json:"now"`               // the version of now
	Files     int64  `json:"files"`
	Documents int64  `json:"documents"`
}

// StalePhase is what is stale in a phase.
type StalePhase struct {
	Phase  string       `json:"phase"`
	Files  int64        `json:"files"`
	Other  int64        `json:"other_files"` // that are not stale in the phase with which the replay begins
	Groups []StaleGroup `json:"groups"`
}

// relation is what is stale, as SQL: rows of file_id, kind, version and
// documents. Its parameter of the given number is the second result: the
// versions of now by kind, or under the empty name where kinds don't matter.
func (s Stale) relation(number int) (string, []byte) {
	versions := map[string]string{"": s.Versions.Of(s.Phase, "")}
	now, known, extra := fmt.Sprintf("($%d::jsonb ->> '')", number), "true", ""
	phase := schemas.Phase(s.Phase)
	switch phase {
	case schemas.XSD, schemas.Upload:
		versions = s.Versions.XSD
		if phase == schemas.Upload {
			versions = s.Versions.Upload
		}
		// A kind that the profile no longer has can't be judged anew.
		now, known = fmt.Sprintf("($%d::jsonb ->> d.kind)", number), fmt.Sprintf("jsonb_exists($%d::jsonb, d.kind)", number)
	case schemas.Unzip:
		phase = schemas.XMLName // of a document: its name was judged with its archive
		extra = fmt.Sprintf(" UNION ALL SELECT a.id, '', a.unzip_version, 0 FROM tracker.file a WHERE a.phase_id = %d AND a.status_id = %d AND a.unzip_version IS DISTINCT FROM %s",
			schemas.Unzip.ID(), schemas.Failed.ID(), now)
	}
	text, err := json.Marshal(versions)
	if err != nil {
		text = []byte("{}") // no map of texts fails to be written
	}
	column := s.Phase + "_version"
	return fmt.Sprintf(`SELECT d.file_id, coalesce(d.kind, '') AS kind, d.%[1]s AS version, 1 AS documents FROM tracker.document d
		WHERE d.%[1]s IS DISTINCT FROM %[2]s AND %[3]s AND (d.phase_id > %[4]d OR d.phase_id = %[4]d AND d.status_id IN (%[5]d, %[6]d))%[7]s`,
		column, now, known, phase.ID(), schemas.Done.ID(), schemas.Failed.ID(), extra), text
}

// FindStale says what is stale of the files that are chosen, phase by phase,
// from a phase on, or, with an empty one, from the first in which anything is. A
// phase in which nothing is stale is not in the answer; an empty answer says
// that a replay would change nothing.
func FindStale(ctx context.Context, tracker *pgxpool.Pool, c Choice, from string, versions profile.Versions) (out []StalePhase, err error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	err = read(ctx, tracker, func(ctx context.Context, tx pgx.Tx) error {
		for _, phase := range profile.VersionedPhases() {
			if schemas.Phase(phase).ID() < schemas.Phase(from).ID() {
				continue
			}
			first := from
			if first == "" && len(out) > 0 {
				first = out[0].Phase
			}
			found, err := findPhase(ctx, tx, c, Stale{phase, versions}, Stale{first, versions})
			if err != nil {
				return err
			}
			if len(found.Groups) > 0 {
				out = append(out, found)
			}
		}
		return nil
	})
	return out, err
}

// findPhase says what is stale in one phase, and how much of it a replay that
// begins with the first leaves so.
func findPhase(ctx context.Context, tx pgx.Tx, c Choice, s, first Stale) (StalePhase, error) {
	out := StalePhase{Phase: s.Phase}
	where, args := c.where()
	relation, text := s.relation(len(args) + 1)
	args = append(args, text)
	other := "false"
	if first.Phase != "" && first.Phase != s.Phase {
		began, text := first.relation(len(args) + 1)
		args = append(args, text)
		other = "f.id NOT IN (SELECT b.file_id FROM (" + began + ") b)"
	}
	rows, err := tx.Query(ctx, `WITH s AS MATERIALIZED (
			SELECT f.id, s.kind, s.version, s.documents, `+other+` AS other FROM (`+relation+`) s JOIN tracker.file f ON f.id = s.file_id WHERE `+where+`)
		SELECT kind, coalesce(version, ''), count(DISTINCT id), sum(documents), (SELECT count(DISTINCT id) FROM s), (SELECT count(DISTINCT id) FILTER (WHERE other) FROM s)
		FROM s GROUP BY kind, version ORDER BY kind, version NULLS FIRST`, append([]any{pgx.QueryExecModeDescribeExec}, args...)...)
	if err != nil {
		return out, err
	}
	var g StaleGroup
	_, err = pgx.ForEachRow(rows, []any{&g.Kind, &g.Version, &g.Files, &g.Documents, &out.Files, &out.Other}, func() error {
		g.Now = s.Versions.Of(s.Phase, g.Kind)
		out.Groups = append(out.Groups, g)
		return nil
	})
	return out, err
}
