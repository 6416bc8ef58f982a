package restore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"tributary/internal/pg"
	"tributary/recovery/deadletter"
	"tributary/schemas"
)

// decision is what the log tells of decisions about a dead letter.
type decision struct {
	replay, drop *schemas.StatusChanged // the last of each; a replay ends a drop before it
	replayed     time.Time
	dropped      time.Time
	replays      int                // how often it was replayed
	letter       *deadletter.Letter // as it lies in its topic; nil if it is gone
}

// letter takes an event about a decision. Those about one letter come in their
// order, since the file is their key.
func (s *state) letter(at time.Time, e *schemas.StatusChanged) {
	place := e.Attributes["dead_letter"]
	d := s.letters[place]
	if d == nil {
		d = &decision{}
		s.letters[place] = d
	}
	if e.Note == "dead_letter_dropped" {
		d.drop, d.dropped = e, at
		return
	}
	d.replay, d.replayed, d.drop = e, at, nil
	d.replays++
}

// givenUp finds documents that insert gave up, and somebody decided about.
func (s *state) givenUp(e *schemas.DocumentOrdered) {
	if e.What != schemas.PositionDocument || len(s.letters) == 0 {
		return
	}
	if d := s.letters[deadletter.ID(deadletter.Insert, 0, e.Position)]; d != nil {
		d.letter = deadletter.AtPosition(e)
	}
}

// readLetters finds the letters that somebody decided about in their topics.
func (r *Restorer) readLetters(ctx context.Context, s *state) error {
	elsewhere := false
	for place := range s.letters {
		stage, _, _, err := deadletter.ParseID(place)
		elsewhere = elsewhere || err == nil && stage != deadletter.Insert
	}
	if !elsewhere {
		return nil
	}
	reader := &deadletter.Reader{Connect: r.Connect, Codec: r.Codec, Prefix: r.Prefix}
	return reader.Scan(ctx, &deadletter.Filter{}, func(l *deadletter.Letter) error {
		if d := s.letters[l.ID]; d != nil {
			l.Trim()
			d.letter = l
		}
		return nil
	})
}

// letters writes what was decided about dead letters, so that none is offered
// again.
func (w *writer) letters(ctx context.Context) error {
	decided := make([]*decision, 0, len(w.s.letters))
	for _, place := range slices.Sorted(maps.Keys(w.s.letters)) {
		if d := w.s.letters[place]; d.letter != nil {
			decided = append(decided, d)
		} else {
			w.report.LettersLost++
		}
	}
	// A letter that a crash has written twice has two places, and one row: the
	// newest decision counts.
	latest := func(d *decision) time.Time { return later(d.replayed, d.dropped) }
	slices.SortStableFunc(decided, func(x, y *decision) int { return latest(y).Compare(latest(x)) })
	seen := map[string]bool{}
	var out pg.Rows
	for _, d := range decided {
		l := d.letter
		if seen[l.Key] {
			continue
		}
		seen[l.Key] = true
		var acquisition, replayedAt, droppedAt any
		var deaths int
		var replayed, dropped [2]string // by whom, and why
		if id := w.replayOf(d); id > 0 {
			acquisition, deaths = id, d.replays-1
			replayedAt, replayed = d.replayed, decidedBy(d.replay)
		} else if d.drop == nil {
			w.report.LettersLost++ // its attempt was not told of any more
			continue
		}
		if d.drop != nil {
			droppedAt, dropped = d.dropped, decidedBy(d.drop)
		}
		out.Add("id", l.Key, "place", l.ID, "stage", l.Stage, "class", pg.Text(l.Class), "cause", pg.Text(l.Error), "lineage", l.Lineage(),
			"file", pointer(l.File), "document", pointer(l.Document), "acquisition", acquisition, "deaths", deaths,
			"replayed_at", replayedAt, "replayed_by", replayed[0], "replay_reason", replayed[1],
			"dropped_at", droppedAt, "dropped_by", dropped[0], "drop_reason", dropped[1])
	}
	w.report.Letters = len(out.Values)
	return w.copyAll(ctx, table{"dead_letter", out})
}

// decidedBy is who decided on a letter, and why.
func decidedBy(e *schemas.StatusChanged) [2]string {
	return [2]string{pg.Text(e.Attributes["by"]), pg.Text(e.Attributes["reason"])}
}

// replayOf is the acquisition that replays a letter; 0 if there is none.
func (w *writer) replayOf(d *decision) int64 {
	if d.replay == nil || w.s.files[d.replay.File] == nil {
		return 0
	}
	t := w.s.files[d.replay.File].attempts[attemptKey{cmp.Or(d.replay.Run, schemas.LiveRun), d.replay.Attempt}]
	if t == nil {
		return 0
	}
	return t.acquisition
}

func later(x, y time.Time) time.Time {
	if x.After(y) {
		return x
	}
	return y
}
