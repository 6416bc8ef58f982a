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
	var out rows
	for _, d := range decided {
		l := d.letter
		if seen[l.Key] {
			continue
		}
		seen[l.Key] = true
		row := []any{l.Key, l.ID, l.Stage, pg.Text(l.Class), pg.Text(l.Error), l.Lineage(), pointer(l.File), pointer(l.Document),
			nil, 0, nil, "", "", nil, "", ""}
		if acquisition := w.replayOf(d); acquisition > 0 {
			row[8], row[9] = acquisition, d.replays-1
			row[10], row[11], row[12] = d.replayed, pg.Text(d.replay.Attributes["by"]), pg.Text(d.replay.Attributes["reason"])
		} else if d.drop == nil {
			w.report.LettersLost++ // its attempt was not told of any more
			continue
		}
		if d.drop != nil {
			row[13], row[14], row[15] = d.dropped, pg.Text(d.drop.Attributes["by"]), pg.Text(d.drop.Attributes["reason"])
		}
		out = append(out, row)
	}
	w.report.Letters = len(out)
	return w.copyAll(ctx, table{"dead_letter", `id place stage class cause lineage file document acquisition deaths replayed_at replayed_by replay_reason
		dropped_at dropped_by drop_reason`, out})
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
