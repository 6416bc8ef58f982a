package tracker

import (
	"cmp"
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tributary/internal/pg"
	"tributary/schemas"
)

// ordered is what somebody has ordered, as one event tells it.
type ordered struct {
	at                                      time.Time
	by, kind, subject, what, reason, detail string
}

// deadLetter is the kind of orders about dead letters, and how their notes begin.
const deadLetter = "dead_letter"

// order keeps what an event tells of an order. Most events have no author.
func (f *fold) order(e *schemas.StatusChanged, now time.Time) {
	o := ordered{at: now, by: e.Attributes["by"], reason: e.Attributes["reason"], kind: e.Entity}
	if o.by != "" {
		o.what = whatOf(e, o)
	} else if o.what, o.by, o.reason = signed(e); o.by == "" {
		return
	}
	switch e.Entity {
	case schemas.EntitySource:
		if e.Note == schemas.NoteOverrun {
			return
		}
		o.subject, o.detail = e.Source, e.Attributes["changed"]
	case schemas.EntityCentre:
		o.subject, o.detail = e.Centre, e.Attributes["changed"]
	case schemas.EntityLink:
		o.kind, o.subject, o.detail = schemas.EntityCentre, e.Centre, e.Attributes["link"]
	case schemas.EntityReplay:
		if e.Status == string(schemas.Done) { // nobody does that: it has the author of what came before
			return
		}
		o.subject, o.detail = strconv.FormatInt(e.Number, 10), chosen(e)
	case schemas.EntityMember:
		o.subject, o.detail = e.Attributes["member"], e.Attributes["roles"]
	case schemas.EntityOperation:
		o.kind, o.subject, o.detail = "reference", e.Entry, e.FileName
		if e.Action != "" {
			o.kind, o.subject, o.detail = schemas.EntityFile, e.Action+"/"+e.FileName, "version "+e.Archive
		}
	case schemas.EntityQuality:
		o.kind, o.subject = schemas.EntityDocument, e.Action+"/"+e.FileName+"/"+e.Entry
	default:
		o.subject = e.Action + "/" + e.FileName
		if e.Attributes[deadLetter] != "" {
			o.kind, o.detail = deadLetter, e.Attributes["stage"]
			if entry := e.Attributes["document"]; entry != "" {
				o.subject += "/" + entry
			}
		}
	}
	// The id follows from all of it: told again it is the same.
	f.ordered[key("ordered", o.at.Format(time.RFC3339Nano), o.by, o.kind, o.subject, o.what, o.reason, o.detail)] = o
}

// whatOf is what was ordered: what the message says before it names who did it, and why.
func whatOf(e *schemas.StatusChanged, o ordered) string {
	who := " by " + o.by
	if o.reason != "" {
		who += ": " + o.reason
	}
	if what, ok := strings.CutSuffix(e.Message, who); ok {
		return what
	}
	return cmp.Or(strings.TrimPrefix(e.Note, deadLetter+"_"), e.Message)
}

// authored are messages about sources and centres of programs that named authors there
// only. Other messages have none, whatever their words.
var authored = regexp.MustCompile(`(?s)^(added|changed|removed|declared|resumed|put into maintenance|to be polled at once, as said|to act (?:no more )?on done_with: .*?) by ([^:]+?)(?:: (.*))?$`)

// signed is what an older program tells of an order about a source or a centre.
func signed(e *schemas.StatusChanged) (what, by, reason string) {
	if e.Entity != schemas.EntitySource && e.Entity != schemas.EntityCentre {
		return "", "", ""
	}
	m := authored.FindStringSubmatch(e.Message)
	if m == nil {
		return "", "", ""
	}
	return m[1], m[2], m[3]
}

// chosen is what a replay was to choose, in words.
func chosen(e *schemas.StatusChanged) string {
	if e.Note != schemas.ReplayRequested {
		return ""
	}
	parts := []string{"from " + e.Attributes["from"]}
	for _, name := range []string{"where", "since", "until", "offsets", "shadow", "promotes", "rate", "items"} {
		if v := e.Attributes[name]; v != "" {
			parts = append(parts, name+" "+v)
		}
	}
	return strings.Join(parts, ", ")
}

// writeOrdered writes them as they were told: no event adds to another's.
func (f *fold) writeOrdered(ctx context.Context, s *store) error {
	if len(f.ordered) == 0 {
		return nil
	}
	rows := pg.Rows{Values: make([][]any, 0, len(f.ordered))}
	for _, id := range ids(f.ordered) {
		o := f.ordered[id]
		rows.Add("id", id, "ordered_at", o.at, "ordered_by", o.by, "kind", o.kind, "subject", o.subject, "what", o.what, "reason", orNull(o.reason), "detail", orNull(o.detail))
	}
	s.oldRows("ordered", rows.Values) // told again they are the same, and nobody looks
	return s.upsert(ctx, "ordered", rows)
}
