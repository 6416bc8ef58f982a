package main

import (
	"bytes"
	"context"
	"fmt"

	"tributary/producers/sources"
	"tributary/queries/lineage"
	"tributary/queries/report"
	"tributary/queries/standing"
	"tributary/queries/why"
	"tributary/recovery/deadletter"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/topics"
	"tributary/web/api"
	"tributary/web/compared"
	"tributary/web/pages"
)

// lineageTold is how many keys of a document, or claims on a key, the API tells.
const lineageTold = 100

// besideTracker is what the API reads beside the tracker: the same that the commands
// read who tell it.
func (a *app) besideTracker(site *pages.Site, shadows *compared.Reader) (api.Beside, error) {
	known, err := meanings(a.profile)
	if err != nil {
		return api.Beside{}, err
	}
	b := api.Beside{
		Status: a.stores.beside, Replays: a.listReplays, Warehouse: a.stores.Warehouse, Asker: site.Asker(), Explained: site.Explainer().Document, Advice: site.Advice,
		Meaning: func(check string) string { return known[check] },
		Lineage: &lineage.Reader{Warehouse: a.stores.Warehouse, Tracker: a.stores.Tracker, Mapping: a.mapping, Limit: lineageTold},
		Priority: func(ctx context.Context, action, name string) (*report.Priority, error) {
			return priorityOf(ctx, a.stores.Control, action, name)
		},
		Standing: a.stores.standing,
		Why:      a.stores.why,
		Replay:   a.stores.toldReplay,
		Shadows:  shadows,
	}
	if a.stores.Kafka == nil {
		return b, nil
	}
	ledger, err := a.stores.ledger()
	if err != nil {
		return api.Beside{}, err
	}
	b.Follow = func(ctx context.Context, from topics.Place, emit func(*topics.Event, topics.Place) error) error {
		return topics.Stream(ctx, a.stores.Kafka, a.codec, topics.StreamOptions{Prefix: a.cfg.Kafka.TopicPrefix, Topic: schemas.StatusChangedTopic, From: from}, emit)
	}
	b.Letters = func(ctx context.Context, f *deadletter.Filter, limit int, all bool, each func(deadletter.Row) error) error {
		return ledger.List(ctx, f, limit, all, func(l *deadletter.Standing) error { return each(l.Row()) })
	}
	b.Letter = func(ctx context.Context, id string) (deadletter.Story, error) {
		l, err := ledger.Get(ctx, id)
		if err != nil {
			return deadletter.Story{}, err
		}
		return ledger.Tell(l), nil
	}
	return b, nil
}

// why answers why a file is where it is, as tributary why does.
func (s *stores) why(ctx context.Context, source, path string) ([]why.Answer, int, error) {
	asker, err := s.asker(ctx)
	if err != nil {
		return nil, 0, err
	}
	return asker.Ask(ctx, source, path)
}

// standing is how a source stands, as tributary sources show tells it.
func (s *stores) standing(ctx context.Context, source string) (api.Standing, error) {
	all, err := control.Standings(ctx, s.Control, source)
	if err != nil {
		return api.Standing{}, err
	}
	if len(all) == 0 || all[0].State == control.SourceRemoved {
		return api.Standing{}, fmt.Errorf("%s: %w", source, sources.ErrUnknown)
	}
	is, err := standing.Of(ctx, s.Control, all[0], now())
	if err != nil {
		return api.Standing{}, err
	}
	var shown bytes.Buffer
	if err := report.NewEncoder(&shown).Encode(is.Fields()); err != nil {
		return api.Standing{}, fmt.Errorf("source %s: %w", source, err)
	}
	text, err := is.Text(ctx, s.Tracker)
	return api.Standing{Standing: shown.Bytes(), Text: text}, err
}
