package plan

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"tributary/schemas"
	"tributary/sql/control"
)

// Announcer judges what other programs announce, as poll judges what listings show.
type Announcer interface {
	Judge(ctx context.Context, tx pgx.Tx, all []control.Announcement) ([]control.Judgement, error)
	Committed(all []control.Judgement)
}

// discovery is an announcement as it was read, with the id of its event.
type discovery struct {
	schemas.FileDiscovered

	id string
}

// fromPoll tells whether it has the id that a poll gives it: such a one was written in
// the transaction that recorded its look.
func (d discovery) fromPoll() bool {
	if !valid(d.File) {
		return false
	}
	kind := schemas.FileDiscoveredTopic
	if d.Change == "gone" {
		kind = "gone"
	}
	return d.id == schemas.EventID("poll", schemas.LiveRun, d.Source+"/"+d.File, kind, strconv.Itoa(int(d.Look)))
}

// foreign tells whether another program announces what no poll of ours has
// recorded. What a poll has recorded of a file that is known is taken up, or was.
func (w *World) foreign(d discovery) bool {
	f := w.files[d.File]
	if f == nil {
		return true
	}
	return !d.fromPoll() && !slices.ContainsFunc(f.looks, func(k *control.Look) bool { return k.Source == d.Source && k.Look == d.Look && k.Size == d.Size })
}

// announced has what other programs announce judged and recorded. It returns what
// polls announced, and of the others what is taken up.
func (p *Planner) announced(ctx context.Context, tx pgx.Tx, w *World, all []discovery) (judged []control.Judgement, kept []discovery, err error) {
	if p.deps.Announced == nil {
		return nil, all, nil
	}
	var foreign []control.Announcement
	for _, d := range all {
		if !w.foreign(d) {
			kept = append(kept, d)
		} else {
			foreign = append(foreign, control.Announcement{ID: d.id, Source: d.Source, File: d.File, Name: d.FileName, Action: d.Action, Change: d.Change, Size: d.Size, ModTime: d.ModTime})
		}
	}
	if len(foreign) == 0 {
		return nil, kept, nil
	}
	if judged, err = p.deps.Announced.Judge(ctx, tx, foreign); err != nil {
		return nil, nil, fmt.Errorf("what other programs announce: %w", err)
	}
	for i, v := range judged {
		if a := foreign[i]; v.TakenUp {
			kept = append(kept, discovery{FileDiscovered: schemas.FileDiscovered{
				Scope:   schemas.Scope{Run: schemas.LiveRun, Source: a.Source},
				FileRef: schemas.FileRef{File: schemas.FileID(a.Action, a.Name), FileName: a.Name, Action: a.Action},
				Change:  "new", Look: v.Look, Size: a.Size, ModTime: a.ModTime,
			}})
		}
	}
	return judged, kept, nil
}

// announcedCommitted counts what was judged, and says in the log what was refused,
// once in a while.
func (p *Planner) announcedCommitted(judged []control.Judgement) {
	if len(judged) == 0 {
		return
	}
	p.deps.Announced.Committed(judged)
	for _, v := range judged {
		result := v.Refused
		switch {
		case v.TakenUp:
			result = "taken_up"
		case v.Repeated:
			result = "repeated"
		default:
			p.passedOver("what another program announced is not taken up", "exception", v.Refused)
		}
		p.metrics.announced(result)
	}
}
