package shadow

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// Bounds of what is held in memory at once.
const (
	itemsAtOnce     = 256
	documentsAtOnce = 5000 // but always those of a whole archive
)

// Skipped counts the items of a shadow that were not compared.
type Skipped struct {
	Unfinished int64 `json:"unfinished" doc:"files that wait, or are under way"`
	Refused    int64 `json:"refused" doc:"files of which no attempt was made"`
	// Mixed counts documents that were judged by other versions than those the
	// shadow was asked for with: some member runs another profile.
	Mixed int64 `json:"mixed" doc:"documents that were judged by another profile than the shadow was asked for with"`
}

// Add adds what others were left out.
func (s *Skipped) Add(o Skipped) {
	s.Unfinished += o.Unfinished
	s.Refused += o.Refused
	s.Mixed += o.Mixed
}

// Compare compares the documents of a shadow run, in the order of its items and
// of their documents' names, and calls each with every one. Files that have not
// ended in the shadow are left out.
func (c *Comparer) Compare(ctx context.Context, run *control.ReplayRun, each func(*Document) error) (s Skipped, err error) {
	for after := int64(0); ; {
		var n int
		if after, n, err = c.some(ctx, run, after, itemsAtOnce, &s, each); err != nil || n == 0 {
			return s, err
		}
	}
}

// some compares the next items, at most so many, and says which was the last and how
// many they were: none at the end.
func (c *Comparer) some(ctx context.Context, run *control.ReplayRun, after int64, most int, s *Skipped, each func(*Document) error) (last int64, n int, err error) {
	asked, err := versionsOf(run)
	if err != nil {
		return after, 0, err
	}
	items, err := c.items(ctx, run.ID, after, most)
	if err != nil || len(items) == 0 {
		return after, 0, err
	}
	last, n = items[len(items)-1].Ordinal, len(items)
	for len(items) > 0 {
		n, documents := 1, items[0].documents()
		for n < len(items) && documents+items[n].documents() <= documentsAtOnce {
			documents += items[n].documents()
			n++
		}
		if err := c.compare(ctx, run.Phase, items[:n], asked, s, each); err != nil {
			return after, 0, err
		}
		items = items[n:]
	}
	return last, n, nil
}

// side is an attempt of a version: the shadow's, or the live one.
type side struct {
	Run, Download, Unzip string
	State, Result        string // of its acquisition; empty: there is none
	Phase, Exception     string
	Attempt, Documents   int32
}

func (s *side) complete() bool { return s.State == control.Ended && s.Result == control.Complete }

// verdict is that of all documents of an archive that failed as a whole, or of
// one that it lacks.
func (s *side) verdict() Verdict {
	if s.Result == "" || s.complete() {
		return Verdict{Attempt: s.Attempt}
	}
	return Verdict{Attempt: s.Attempt, Result: schemas.FailedEnd, Phase: s.Phase, Exception: s.Exception}
}

// item is a version of a file that the shadow has processed.
type item struct {
	Ordinal     int64
	Document         // what all its documents have in common
	Was, Became side // live, and in the shadow
}

func (i *item) documents() int { return int(i.Was.Documents + i.Became.Documents) }

// itemsSQL joins to each item the shadow's attempt and the newest live one of
// the same version of which all documents were judged; if there is none, the
// newest that failed.
const itemsSQL = `SELECT i.ordinal, coalesce(i.file::text, '') AS file, i.archive, coalesce(f.name, '') AS file_name, coalesce(f.action, '') AS action,
		coalesce(f.centre, '') AS centre, coalesce(f.file_date::text, '') AS date,
		jsonb_build_object('run', s.run, 'download', s.download, 'unzip', s.unzip, 'state', s.state, 'result', CASE WHEN i.state = 'refused' THEN 'refused' ELSE s.result END,
			'phase', s.phase, 'exception', s.exception, 'attempt', s.attempt, 'documents', s.documents) AS became,
		jsonb_build_object('run', l.run, 'download', l.download, 'unzip', l.unzip, 'state', l.state, 'result', l.result,
			'phase', l.phase, 'exception', l.exception, 'attempt', l.attempt, 'documents', l.documents) AS was
	FROM control.replay_item i LEFT JOIN control.file f ON f.id = i.file LEFT JOIN control.acquisition s ON s.id = i.acquisition
	LEFT JOIN LATERAL (SELECT a.* FROM control.acquisition a WHERE a.file = i.file AND a.sha256 = i.archive AND a.state = 'ended' AND a.result IN ('complete','failed')
		AND NOT control.is_shadow(a.run) ORDER BY a.result, a.id DESC LIMIT 1) l ON true
	WHERE i.run = $1 AND i.ordinal > $2 ORDER BY i.ordinal LIMIT $3`

func (c *Comparer) items(ctx context.Context, run string, after int64, most int) ([]item, error) {
	return pg.List(ctx, c.Control, "read what the shadow has processed", pgx.RowToStructByNameLax[item], itemsSQL, run, after, most)
}

// compare compares the documents of some items.
func (c *Comparer) compare(ctx context.Context, phase string, items []item, asked versions, s *Skipped, each func(*Document) error) error {
	verdicts, err := c.verdicts(ctx, items)
	if err != nil {
		return err
	}
	var all []*Document
	for n := range items {
		i := &items[n]
		switch {
		case i.Became.Result == "refused":
			s.Refused++
			continue
		case i.Became.State != control.Ended:
			s.Unfinished++
			continue
		}
		for _, d := range i.pair(verdicts) {
			if d.now != nil && asked.others(phase, d.now) {
				s.Mixed++
			}
			all = append(all, d)
		}
	}
	if err := c.rows(ctx, all); err != nil {
		return err
	}
	for _, d := range all {
		if err := each(d); err != nil {
			return err
		}
	}
	return nil
}

// attempt names an attempt's accepted outcome.
type attempt struct {
	run, file       string
	number          int32
	download, unzip string
}

func (i *item) attempt(s *side) attempt {
	return attempt{s.Run, i.File, s.Attempt, s.Download, s.Unzip}
}

// verdicts reads the documents of the complete attempts of items.
func (c *Comparer) verdicts(ctx context.Context, items []item) (map[attempt]map[string]*schemas.DocumentValidated, error) {
	var runs, files, downloads, unzips []string
	var numbers []int32
	for n := range items {
		for _, s := range []*side{&items[n].Became, &items[n].Was} {
			if s.complete() {
				runs, files, numbers = append(runs, s.Run), append(files, items[n].File), append(numbers, s.Attempt)
				downloads, unzips = append(downloads, s.Download), append(unzips, s.Unzip)
			}
		}
	}
	out := map[attempt]map[string]*schemas.DocumentValidated{}
	var of attempt
	var entry string
	var body []byte
	for err := range pg.Each(ctx, c.Control, "read verdicts", []any{&of.run, &of.file, &of.number, &of.download, &of.unzip, &entry, &body}, `SELECT d.run::text, d.file::text, d.attempt, d.download, d.unzip, d.entry, d.body
		FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[], $3::int[], $4::text[], $5::text[])) k (run, file, attempt, download, unzip)
		JOIN control.document d ON d.run = k.run::uuid AND d.file = k.file::uuid AND d.attempt = k.attempt AND d.download = k.download AND d.unzip = k.unzip`,
		runs, files, numbers, downloads, unzips) {
		if err != nil {
			return nil, err
		}
		_, decoded, err := c.Codec.DecodeBody(body)
		if err != nil {
			return nil, fmt.Errorf("read verdicts: document %s: %w", entry, err)
		}
		v, ok := decoded.(*schemas.DocumentValidated)
		if !ok {
			return nil, fmt.Errorf("read verdicts: document %s is a %T", entry, decoded)
		}
		if out[of] == nil {
			out[of] = map[string]*schemas.DocumentValidated{}
		}
		out[of][entry] = v
	}
	return out, nil
}

// pair pairs the documents of both attempts of an item, by their names. An
// archive that failed as a whole on both sides counts as one without a name.
func (i *item) pair(verdicts map[attempt]map[string]*schemas.DocumentValidated) (out []*Document) {
	live, now := verdicts[i.attempt(&i.Was)], verdicts[i.attempt(&i.Became)]
	names := map[string]bool{}
	for _, side := range []map[string]*schemas.DocumentValidated{live, now} {
		for name := range side {
			names[name] = true
		}
	}
	if len(names) == 0 {
		names[""] = true
	}
	for name := range names {
		d := i.Document
		d.ordinal, d.Entry, d.live, d.now = i.Ordinal, name, live[name], now[name]
		d.Live, d.Shadow = verdictOf(d.live, &i.Was), verdictOf(d.now, &i.Became)
		if v := cmp.Or(d.now, d.live); v != nil {
			d.Kind = v.Kind
		}
		d.Change = d.classify()
		out = append(out, &d)
	}
	slices.SortFunc(out, func(a, b *Document) int { return cmp.Compare(a.Entry, b.Entry) })
	return out
}

func verdictOf(v *schemas.DocumentValidated, s *side) Verdict {
	if v == nil {
		return s.verdict()
	}
	return Verdict{Attempt: s.Attempt, Result: v.Result, Phase: v.Phase, Exception: v.Exception, Errors: v.ErrorsTotal}
}
