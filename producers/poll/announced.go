package poll

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/internal/profile"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// Announcer judges files that other programs announce by file.discovered, by the
// rules by which a poll judges what a listing shows. What is sound is recorded as a
// look of its source; what is not is refused by name, and told. Its methods are
// called by one goroutine at a time.
type Announcer struct {
	Profile *profile.Profile
	Centres profile.Centres
	Outbox  outbox.Outbox
	Now     func() time.Time

	told    map[string]bool // refusals that this member has told, by the ids of their events
	renewed bool            // the centres are as they were when the announcements under way began to be judged, or newer
}

// maxTold is how many different refusals a member tells by events of their own.
// All are counted; so who announces nonsense without end can't fill the log with it.
const maxTold = 1000

// The exceptions of what is announced and not taken up. What is wrong with a name
// has the same as in a listing.
const (
	sourceUnknown     = "announced_source_unknown"
	sourceGone        = "announced_source_removed"
	actionUnknown     = "announced_action_unknown"
	goneAnnounced     = "announced_gone"
	changeUnknown     = "announced_change_unknown"
	fileMismatch      = "announced_file_mismatch"
	announcedNotSound = "announced_entry_invalid"
	announcedFiltered = "announced_filtered"
)

// Judge judges announcements within the caller's transaction, in which it records
// what they say. Committed must be called once that is committed.
func (n *Announcer) Judge(ctx context.Context, tx pgx.Tx, all []control.Announcement) ([]control.Judgement, error) {
	n.renewed = false
	sources := make([]string, 0, len(all))
	for _, a := range all {
		sources = append(sources, a.Source)
	}
	slices.Sort(sources)
	places, err := control.Places(ctx, tx, slices.Compact(sources))
	if err != nil {
		return nil, err
	}
	at := make(map[string]announcedAt, len(places))
	for id, p := range places {
		// One that can't be read is a newer program's, or not stored yet.
		src, err := config.ParseDefinition(p.Definition)
		at[id] = announcedAt{Place: p, source: src, known: err == nil && src.ID == id}
	}
	out := make([]control.Judgement, len(all))
	takes := map[string]control.Taken{}
	for i, a := range all {
		if out[i], err = n.judge(ctx, tx, a, at[a.Source], takes); err != nil {
			return nil, err
		}
	}
	return out, n.count(ctx, tx, at, takes)
}

// count counts what is taken up of each source for the limits of a day. No
// announcement is refused because of them: somebody wants that very file.
func (n *Announcer) count(ctx context.Context, tx pgx.Tx, at map[string]announcedAt, takes map[string]control.Taken) error {
	for _, source := range slices.Sorted(maps.Keys(takes)) {
		day, _ := at[source].source.Day(n.Now())
		if err := control.CountDay(ctx, tx, source, day, takes[source]); err != nil {
			return err
		}
	}
	return nil
}

// announcedAt is the source of an announcement.
type announcedAt struct {
	control.Place
	source config.Source
	known  bool // how it is defined
}

// Committed notes which refusals have been told.
func (n *Announcer) Committed(all []control.Judgement) {
	for _, v := range all {
		if v.Event == "" {
			continue
		}
		if n.told == nil {
			n.told = map[string]bool{}
		}
		if len(n.told) < maxTold {
			n.told[v.Event] = true
		}
	}
}

func (n *Announcer) judge(ctx context.Context, tx pgx.Tx, a control.Announcement, at announcedAt, takes map[string]control.Taken) (v control.Judgement, err error) {
	exception, message := exceptionOf(a, at.Place)
	if exception == "" {
		if exception, message, err = n.exceptionAt(ctx, a, at); err != nil {
			return control.Judgement{}, err
		}
	}
	if exception != "" {
		return n.refuse(ctx, tx, a, exception, message)
	}
	if a.ModTime != nil {
		t := a.ModTime.UTC().Truncate(time.Microsecond)
		a.ModTime = &t
	}
	l := control.Listed{File: schemas.FileID(a.Action, a.Name), Action: a.Action, Name: a.Name, Size: a.Size, ModTime: a.ModTime}
	seen, err := control.Announced(ctx, tx, a.Source, &l)
	if err != nil {
		return control.Judgement{}, err
	}
	if seen {
		return control.Judgement{Repeated: true}, nil
	}
	// Whoever announces a file says that it is whole, so nobody waits for it to
	// settle; a fetch compares its size and time as ever.
	p := polled{control.Poll{Source: a.Source, Server: at.Server, Centre: at.Centre, Once: true}, at.source}
	s := Poller{deps: Deps{Profile: n.Profile, Centres: n.Centres, Outbox: n.Outbox}}
	now := n.Now()
	j, err := s.judge(p, l, now)
	if dataError(err) {
		return n.refuse(ctx, tx, a, entryRefused, refusal(err))
	}
	if err != nil || j.sighting.File == "" {
		return control.Judgement{Repeated: err == nil}, err
	}
	if j.takes != (control.Taken{}) {
		takes[a.Source] = takes[a.Source].Plus(j.takes)
	}
	return n.record(ctx, tx, p.Poll, j, now)
}

// record records a judged look with its events, but for the announcement itself,
// which was read already.
func (n *Announcer) record(ctx context.Context, tx pgx.Tx, p control.Poll, j judged, now time.Time) (control.Judgement, error) {
	j.sighting.Event, j.sighting.Headers = nil, nil
	files, err := control.Record(ctx, tx, p, now, []control.Sighting{j.sighting})
	if err != nil {
		return control.Judgement{}, err
	}
	records := slices.DeleteFunc(entryEvents([]judged{j}, files), func(r schemas.Record) bool { return r.Topic == schemas.FileDiscoveredTopic })
	if err := outbox.Append(ctx, tx, control.Schema, records); err != nil {
		return control.Judgement{}, err
	}
	return control.Judgement{Look: j.sighting.Look, TakenUp: j.sighting.Class == "announced", Refused: j.sighting.Exception}, nil
}

// exceptionOf says why an announcement belongs to no hosting; empty if it may be one. That
// its name breaks the convention is recorded as of a listing instead.
func exceptionOf(a control.Announcement, place control.Place) (exception, message string) {
	switch {
	case place.ID == "":
		return sourceUnknown, fmt.Sprintf("there is no source %q: announce files of a source that tributary sources lists", a.Source)
	case place.State == "removed":
		return sourceGone, fmt.Sprintf("the source %s was removed", a.Source)
	case schemas.ActionOrder(a.Action) == 0:
		return actionUnknown, fmt.Sprintf("the action is %q: it must be add, edit or delete", a.Action)
	case a.Change == "gone":
		return goneAnnounced, "that a file is gone is only concluded from a complete listing of its source"
	case a.Change != "" && a.Change != "new" && a.Change != "changed":
		return changeUnknown, fmt.Sprintf("the change is %q: it must be new or changed", a.Change)
	case a.Name == "" || KeptName(a.Name) != a.Name:
		return announcedNotSound, fmt.Sprintf("the name %q is empty, or has more than %d bytes, or characters that can't be shown", a.Name, maxName)
	case a.File != "" && a.File != schemas.FileID(a.Action, a.Name):
		return fileMismatch, fmt.Sprintf("the file's id is %s, and %s/%s has %s: leave it out, or correct it", a.File, a.Action, a.Name, schemas.FileID(a.Action, a.Name))
	case a.Size < 0:
		return announcedNotSound, fmt.Sprintf("the size is %d bytes", a.Size)
	case a.ModTime != nil && (a.ModTime.UTC().Year() < 1 || a.ModTime.UTC().Year() > 9999):
		return announcedNotSound, fmt.Sprintf("the time is in the year %d: years from 1 to 9999 can be stored", a.ModTime.UTC().Year())
	}
	return "", ""
}

// exceptionAt asks whether the source may show a file of the centre that the name says,
// and none of its filters excludes it.
func (n *Announcer) exceptionAt(ctx context.Context, a control.Announcement, at announcedAt) (exception, message string, err error) {
	if !at.known {
		return sourceUnknown, fmt.Sprintf("how the source %s is defined is not known here yet: start a member of this program with the role schedule, and announce the file again", a.Source), nil
	}
	name, bad := n.Profile.ParseZip(a.Name, n.Centres)
	if bad != nil && bad.UnknownCentre() && !n.renewed { // not by what may be out of date
		if err := n.Centres.Renew(ctx); err != nil {
			return "", "", err
		}
		n.renewed = true
		name, bad = n.Profile.ParseZip(a.Name, n.Centres)
	}
	if bad == nil && !at.source.MayShow(name.Centre, a.Action) {
		return centreNotHosted, at.source.Refusal(name.Centre, a.Action), nil
	}
	if f := at.source.Filters.Excluding(a.Action, a.Name); f != nil {
		return announcedFiltered, fmt.Sprintf("a filter of the source %s excludes %s/%s (%s), as in its listings: announce it no more, or change the source's filters", a.Source, a.Action, a.Name, f), nil
	}
	return "", "", nil
}

// refuse tells that an announcement is not taken up. It says nothing about the file
// of that name, which others may host.
func (n *Announcer) refuse(ctx context.Context, tx pgx.Tx, a control.Announcement, exception, message string) (control.Judgement, error) {
	// Not of the announcement's own id: the same said again is one refusal.
	id := schemas.EventID(stage, schemas.LiveRun, a.Source+"/"+a.Action+"/"+a.Name, "announcement_refused", exception, message)
	v := control.Judgement{Refused: exception, Event: id}
	if n.told[id] || len(n.told) >= maxTold {
		v.Event = ""
		return v, nil
	}
	now := n.Now()
	return v, n.Outbox.Append(ctx, tx, status(id, schemas.FileID(a.Action, a.Name), a.Action+"/"+a.Name, now, &schemas.StatusChanged{
		Scope:   schemas.Scope{Run: schemas.LiveRun, Source: a.Source},
		FileRef: fileRef(a.File, a.Name, a.Action), Entity: schemas.EntityAnnouncement, Phase: string(schemas.ZipName), Status: string(schemas.Failed),
		Exception: exception, Message: text(fmt.Errorf("%s", message)), FileSize: a.Size, Attributes: map[string]string{"announcement": a.ID},
	}))
}
