package shadow

import (
	"cmp"
	"context"
	"fmt"
	"slices"

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
	items, err := control.ShadowItems(ctx, c.Control, run.ID, after, most)
	if err != nil || len(items) == 0 {
		return after, 0, err
	}
	last, n = items[len(items)-1].Ordinal, len(items)
	for len(items) > 0 {
		n, total := 1, documents(&items[0])
		for n < len(items) && total+documents(&items[n]) <= documentsAtOnce {
			total += documents(&items[n])
			n++
		}
		if err := c.compare(ctx, run.Phase, items[:n], asked, s, each); err != nil {
			return after, 0, err
		}
		items = items[n:]
	}
	return last, n, nil
}

// verdict is that of all documents of an archive that failed as a whole, or of
// one that it lacks.
func verdict(s *control.ShadowAttempt) Verdict {
	if s.Result == "" || s.Complete() {
		return Verdict{Attempt: s.Attempt}
	}
	return Verdict{Attempt: s.Attempt, Result: schemas.FailedEnd, Phase: s.Phase, Exception: s.Exception}
}

func documents(i *control.ShadowItem) int { return int(i.Was.Documents + i.Became.Documents) }

// compare compares the documents of some items.
func (c *Comparer) compare(ctx context.Context, phase string, items []control.ShadowItem, asked versions, s *Skipped, each func(*Document) error) error {
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
		for _, d := range pair(i, verdicts) {
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

func outcome(i *control.ShadowItem, s *control.ShadowAttempt) control.Outcome {
	return control.Outcome{Run: s.Run, File: i.File, Attempt: s.Attempt, Download: s.Download, Unzip: s.Unzip}
}

// verdicts reads the documents of the complete attempts of items.
func (c *Comparer) verdicts(ctx context.Context, items []control.ShadowItem) (map[control.Outcome]map[string]*schemas.DocumentValidated, error) {
	var of []control.Outcome
	for n := range items {
		for _, s := range []*control.ShadowAttempt{&items[n].Became, &items[n].Was} {
			if s.Complete() {
				of = append(of, outcome(&items[n], s))
			}
		}
	}
	out := map[control.Outcome]map[string]*schemas.DocumentValidated{}
	err := control.EachVerdict(ctx, c.Control, of, func(of control.Outcome, entry string, body []byte) error {
		_, decoded, err := c.Codec.DecodeBody(body)
		if err != nil {
			return fmt.Errorf("read verdicts: document %s: %w", entry, err)
		}
		v, ok := decoded.(*schemas.DocumentValidated)
		if !ok {
			return fmt.Errorf("read verdicts: document %s is a %T", entry, decoded)
		}
		if out[of] == nil {
			out[of] = map[string]*schemas.DocumentValidated{}
		}
		out[of][entry] = v
		return nil
	})
	return out, err
}

// pair pairs the documents of both attempts of an item, by their names. An
// archive that failed as a whole on both sides counts as one without a name.
func pair(i *control.ShadowItem, verdicts map[control.Outcome]map[string]*schemas.DocumentValidated) (out []*Document) {
	live, now := verdicts[outcome(i, &i.Was)], verdicts[outcome(i, &i.Became)]
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
		d := Document{File: i.File, Archive: i.Archive, FileName: i.FileName, Action: i.Action, Centre: i.Centre, Date: i.Date,
			Entry: name, ordinal: i.Ordinal, live: live[name], now: now[name]}
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

func verdictOf(v *schemas.DocumentValidated, s *control.ShadowAttempt) Verdict {
	if v == nil {
		return verdict(s)
	}
	return Verdict{Attempt: s.Attempt, Result: v.Result, Phase: v.Phase, Exception: v.Exception, Errors: v.ErrorsTotal}
}
