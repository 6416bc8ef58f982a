package control

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// ShadowAttempt is an attempt of a version: the shadow's, or the live one.
type ShadowAttempt struct {
	Run, Download, Unzip string
	State, Result        string // of its acquisition; empty: there is none
	Phase, Exception     string
	Attempt, Documents   int32
}

// Complete tells whether all its documents were judged.
func (a *ShadowAttempt) Complete() bool { return a.State == Ended && a.Result == Complete }

// ShadowItem is a version of a file that a shadow has processed, or is to.
type ShadowItem struct {
	Ordinal                                       int64
	File, Archive, FileName, Action, Centre, Date string // Date is the file's
	Was, Became                                   ShadowAttempt
}

// ShadowItems returns the next items of a shadow after an ordinal, at most so many, with
// the shadow's attempt of each and the newest live one of the same version of which all
// documents were judged; if there is none, the newest that failed.
func ShadowItems(ctx context.Context, q pg.Querier, run string, after int64, most int) ([]ShadowItem, error) {
	return pg.List(ctx, q, "read what the shadow has processed", pgx.RowToStructByName[ShadowItem], `SELECT i.ordinal, coalesce(i.file::text, '') AS file, i.archive, coalesce(f.name, '') AS file_name, coalesce(f.action, '') AS action,
		coalesce(f.centre, '') AS centre, coalesce(f.file_date::text, '') AS date,
		jsonb_build_object('run', s.run, 'download', s.download, 'unzip', s.unzip, 'state', s.state, 'result', CASE WHEN i.state = 'refused' THEN 'refused' ELSE s.result END,
			'phase', s.phase, 'exception', s.exception, 'attempt', s.attempt, 'documents', s.documents) AS became,
		jsonb_build_object('run', l.run, 'download', l.download, 'unzip', l.unzip, 'state', l.state, 'result', l.result,
			'phase', l.phase, 'exception', l.exception, 'attempt', l.attempt, 'documents', l.documents) AS was
	FROM control.replay_item i LEFT JOIN control.file f ON f.id = i.file LEFT JOIN control.acquisition s ON s.id = i.acquisition
	LEFT JOIN LATERAL (SELECT a.* FROM control.acquisition a WHERE a.file = i.file AND a.sha256 = i.archive AND a.state = 'ended' AND a.result IN ('complete','failed')
		AND NOT control.is_shadow(a.run) ORDER BY a.result, a.id DESC LIMIT 1) l ON true
	WHERE i.run = $1 AND i.ordinal > $2 ORDER BY i.ordinal LIMIT $3`, run, after, most)
}

// Outcome names one outcome of one attempt.
type Outcome struct {
	Run, File       string
	Attempt         int32
	Download, Unzip string
}

// EachVerdict gives the verdict of every document of some outcomes, as the event came that
// told it, with the document's name.
func EachVerdict(ctx context.Context, q pg.Querier, outcomes []Outcome, each func(of Outcome, entry string, body []byte) error) error {
	var runs, files, downloads, unzips []string
	var attempts []int32
	for _, o := range outcomes {
		runs, files, attempts = append(runs, o.Run), append(files, o.File), append(attempts, o.Attempt)
		downloads, unzips = append(downloads, o.Download), append(unzips, o.Unzip)
	}
	var of Outcome
	var entry string
	var body []byte
	for err := range pg.Each(ctx, q, "read verdicts", []any{&of.Run, &of.File, &of.Attempt, &of.Download, &of.Unzip, &entry, &body}, `SELECT d.run::text, d.file::text, d.attempt, d.download, d.unzip, d.entry, d.body
		FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[], $3::int[], $4::text[], $5::text[])) k (run, file, attempt, download, unzip)
		JOIN control.document d ON d.run = k.run::uuid AND d.file = k.file::uuid AND d.attempt = k.attempt AND d.download = k.download AND d.unzip = k.unzip`,
		runs, files, attempts, downloads, unzips) {
		if err != nil {
			return err
		}
		if err := each(of, entry, body); err != nil {
			return err
		}
	}
	return nil
}
