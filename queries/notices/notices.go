// Package notices tells again what rules of notifications tell: the notices of the last
// days, read from the history by the rules that the role notify has. So a feed needs no
// queue and no room, and what it lists has the ids that webhooks are given.
package notices

import (
	"context"
	"slices"
	"strings"
	"time"

	"tributary/consumers/notify"
	"tributary/internal/config"
	"tributary/internal/notice"
	"tributary/queries/asof"
	"tributary/schemas"
)

const (
	// Days is how far back notices are told.
	Days = 7
	// Most is how many are told at most.
	Most = 100
	// maxEvents bounds what is read for them: many events may lead to one notice.
	maxEvents = 2000
)

// History is the events that were told last, as asof.Reader has them.
type History interface {
	Latest(ctx context.Context, after time.Time, limit int, where string, args ...any) ([]asof.Told, error)
}

// Latest are the notices that a rule tells, the newest first. A rule's when must be one
// of config.NotifyKinds; to whom it tells doesn't matter.
func Latest(ctx context.Context, history History, now time.Time, rule config.NotifyRule) ([]notice.Notice, error) {
	where, args := condition(rule)
	events, err := history.Latest(ctx, now.AddDate(0, 0, -Days), maxEvents, where, args...)
	if err != nil {
		return nil, err
	}
	var out []notice.Notice
	known := map[string]bool{}
	for _, e := range slices.Backward(events) { // a notice is told by the first event that leads to it
		for _, n := range notify.Wanted(rule, schemas.Message{ID: e.ID, Topic: schemas.StatusChangedTopic, Time: e.At, Body: &e.StatusChanged}) {
			if !known[n.ID] {
				known[n.ID], out = true, append(out, n.Tidy())
			}
		}
	}
	slices.Reverse(out)
	return out[:min(len(out), Most)], nil
}

// condition lets through all events that a rule may tell of, and few others.
func condition(rule config.NotifyRule) (where string, args []any) {
	add := func(condition string, given ...any) {
		if where != "" {
			where += " AND "
		}
		where, args = where+condition, append(args, given...)
	}
	const aboutFiles = "entity IN ('file', 'download', 'document')"
	switch rule.When {
	case config.PhaseReached:
		add(aboutFiles+" AND status = 'done' AND (phase = ? OR has(passed.phase, ?) OR phase = 'zip_md5')", rule.Phase, rule.Phase)
	case config.FileFailed:
		add(aboutFiles + " AND status = 'failed'")
	case config.FindingOpened:
		add("entity = 'document' AND status = 'failed' AND phase = 'data'")
	case config.BatchClosed:
		add("entity = 'batch' AND status = 'done'")
	default:
		add("entity = 'source'")
	}
	for column, limit := range map[string][]string{"centre": rule.Centres, "source": rule.Sources, "exception": rule.Exceptions} {
		if len(limit) > 0 {
			lower := make([]string, len(limit))
			for i, l := range limit {
				lower[i] = strings.ToLower(l)
			}
			add("has(?, lower("+column+"))", lower)
		}
	}
	return where, args
}
