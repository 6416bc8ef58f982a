package restore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// replay is what the log tells of a replay as a whole.
type replay struct {
	first, last *schemas.StatusChanged // that it was asked for, and what became of it last
	at, changed time.Time
}

func (s *state) replay(at time.Time, e *schemas.StatusChanged) {
	x := s.replays[e.Run]
	if x == nil {
		x = &replay{}
		s.replays[e.Run] = x
	}
	s.number = max(s.number, e.Number)
	if e.Note == schemas.ReplayRequested {
		x.first, x.at = e, at
	}
	if x.last == nil || x.last.Revision <= e.Revision {
		x.last, x.changed = e, at
	}
}

// OpenReplay is a replay that was not done when control was lost.
type OpenReplay struct {
	Number  int64  `json:"replay"`
	State   string `json:"state"`
	Again   int64  `json:"again"`   // files that were under way: they wait to be requested again
	Unknown int64  `json:"unknown"` // files, or centres, that nothing tells of, since they were not requested, or were refused
}

// itemKey is what a replay processes once: a version of a file, or, fetched
// again, the file; from data, a centre.
type itemKey struct{ run, file, archive, domain string }

type item struct {
	itemKey
	acquisition int64
	operation   string // from data
	waiting     bool   // it was under way
}

// item notes an acquisition of a replay, which has just got its id.
func (w *writer) item(f *file, a *control.Acquisition, t *attempt) {
	p := w.s.replays[a.Run]
	if p == nil || p.first == nil {
		return
	}
	key := itemKey{run: a.Run, file: f.id, archive: a.SHA256}
	if p.first.Attributes["from"] == schemas.FromDownload {
		key.archive = "" // what a fetch brings is not what was chosen
	}
	if w.items == nil {
		w.items = map[itemKey]item{}
	}
	// Attempts come in their order: the newest counts.
	cut := a.Message == lostReplay
	w.items[key] = item{itemKey: key, acquisition: w.id, waiting: cut}
	if cut {
		w.told = append(w.told, w.cancelled(f, a, t))
	}
}

// lostReplay is the message of attempts of replays that were under way.
const lostReplay = "control was lost while the replay was under way"

// cancelled tells that an attempt of a replay is not awaited any more. It counts
// as not tried, so that its file goes on showing the one before.
func (w *writer) cancelled(f *file, a *control.Acquisition, t *attempt) schemas.Message {
	outcome := schemas.NotTried
	if t.accepted != nil {
		outcome = t.accepted.Accepted
	}
	body := *t.said
	body.Phase, body.Status, body.Exception, body.Message, body.Note = string(schemas.Download), string(schemas.Cancelled), schemas.NotTried, lostReplay, schemas.NotTried
	body.Outcome, body.Accepted, body.Archive, body.SHA256, body.Rows, body.RequestedAt, body.Repeats = outcome, outcome, "", "", 0, nil, 0
	return schemas.Message{ID: schemas.EventID(planStage, a.Run, f.id, "lost", strconv.Itoa(int(t.attempt))), Topic: schemas.StatusChangedTopic, Key: f.id,
		Stage: planStage, Subject: f.name.Action + "/" + f.name.FileName, Time: w.now, Body: &body}
}

// planStage is the stage that tells of replays and attempts.
const planStage = "plan"

// replays writes replays and what is known of their items.
func (w *writer) replays(ctx context.Context) error {
	byRun := map[string][]item{}
	for _, i := range w.items {
		byRun[i.run] = append(byRun[i.run], i)
	}
	for _, o := range w.s.operations {
		if o.What == schemas.PositionCheck && w.s.replays[o.Run] != nil {
			byRun[o.Run] = append(byRun[o.Run], item{itemKey: itemKey{run: o.Run, domain: o.Domain}, operation: o.Batch})
		}
	}
	var replays, items pg.Rows
	for _, id := range slices.SortedFunc(maps.Keys(w.s.replays), func(x, y string) int { return cmp.Compare(w.s.replays[x].last.Number, w.s.replays[y].last.Number) }) {
		p := w.s.replays[id]
		if p.first == nil {
			continue // it was told of, and never asked for
		}
		known := byRun[id]
		slices.SortStableFunc(known, func(x, y item) int { return cmp.Compare(x.acquisition, y.acquisition) })
		open := OpenReplay{Number: p.first.Number, Unknown: max(p.first.Rows-int64(len(known)), 0)}
		for n, i := range known {
			state, acquisition := "requested", &i.acquisition
			if i.waiting {
				state = "waiting"
				open.Again++
			}
			if i.waiting || i.operation != "" {
				acquisition = nil
			}
			items.Add("run", id, "ordinal", int64(n+1), "file", pointer(i.file), "archive", i.archive, "domain", i.domain, "state", state,
				"acquisition", acquisition, "operation", pointer(i.operation))
		}
		m := p.first.Attributes
		state, by, at, changes := p.state(open.Unknown), p.last.Attributes["by"], p.changed, max(p.last.Revision-1, 0)
		if state == control.ReplayStopped && p.last.Status != string(schemas.Pending) {
			by, at, changes = "control restore", w.now, changes+1
			w.told = append(w.told, p.stopped(id, &open, by, changes, at))
		}
		if open.State = state; state != control.ReplayDone {
			w.report.Open = append(w.report.Open, open)
		}
		replays.Add("id", id, "number", p.first.Number, "phase", m["from"], "predicate", m["where"], "since", moment(m["since"]), "until", moment(m["until"]),
			"offsets", m["offsets"], "rate", number(m["rate"]), "requested_by", m["by"], "reason", m["reason"], "requested_at", p.at, "state", state,
			"changed_by", by, "changed_at", at, "changes", changes, "paced_at", w.now, "shadow", m["shadow"], "promotes", pointer(m["promotes"]),
			"versions", pointer(m["versions"]), "lost", p.lost(&open))
	}
	w.report.Replays = len(replays.Values)
	return w.copyAll(ctx,
		table{"replay", replays},
		table{"replay_item", items})
}

// state is that in which a replay comes back. It goes on by itself only where
// all of its items are known and none needs the verdicts that control kept, and
// that sequence must read again first. A shadow's results are not brought back.
func (p *replay) state(unknown int64) string {
	from := p.first.Attributes["from"]
	switch {
	case p.last.Status == string(schemas.Done):
		return control.ReplayDone
	case p.last.Status == string(schemas.Running) && unknown == 0 && p.first.Attributes["shadow"] == "" && from != schemas.FromXSD && from != schemas.FromUpload:
		return control.ReplayRunning
	}
	return control.ReplayStopped
}

// lost is how many items are never requested any more. Of one that was done,
// those that nothing tells of were refused.
func (p *replay) lost(open *OpenReplay) int64 {
	if p.last.Status == string(schemas.Done) {
		return 0
	}
	return open.Unknown
}

// stopped tells that a replay does not go on by itself, and why.
func (p *replay) stopped(id string, open *OpenReplay, by string, changes int64, at time.Time) schemas.Message {
	reason := fmt.Sprintf("control was lost: of %d that were under way it was told, and they are requested again when it is resumed; of %d it is not known which they were", open.Again, open.Unknown)
	return schemas.Message{ID: schemas.EventID(planStage, id, "replay", "stopped", strconv.FormatInt(changes, 10)), Topic: schemas.StatusChangedTopic, Key: id,
		Stage: planStage, Subject: "replay " + strconv.FormatInt(p.first.Number, 10), Time: at, Body: &schemas.StatusChanged{
			Scope: schemas.Scope{Run: id}, Entity: schemas.EntityReplay, Status: string(schemas.Pending), Note: "stopped", Number: p.first.Number,
			Revision: changes + 1, Attributes: map[string]string{"from": p.first.Attributes["from"], "by": by, "reason": reason},
		}}
}

// moment is a time as events write it; nil where the text is none.
func moment(s string) *time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return nil
	}
	return &t
}
