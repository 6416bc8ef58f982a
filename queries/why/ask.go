package why

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/consumers/insert"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/producers/plan"
	"tributary/producers/poll"
	"tributary/schemas"
	"tributary/sql/control"
)

// ErrUnknownID says that no file has the id that was asked for.
var ErrUnknownID = errors.New("no file has this id")

// maxSources is how many sources are answered for at most where none was named.
const maxSources = 50

// Asker gathers facts and has them judged. It writes nothing.
type Asker struct {
	Control   *pgxpool.Pool
	Tracker   pg.Querier // nil: the tracker is not asked
	Warehouse pg.Querier // nil: the warehouse is not asked
	Profile   *profile.Profile
	Centres   profile.Centres
	Limits    Limits
	Dormant   string // as Facts has it
	Now       func() time.Time
}

// Ask answers why the files that path names are where they are, at the named
// source, or at each that shows them or could, the producing centre's own first. A
// path is a file's name, a path below a source's base, or a file's id, of which
// none known is ErrUnknownID. More is how many sources were left out.
func (k *Asker) Ask(ctx context.Context, source, path string) (answers []Answer, more int, err error) {
	tx, err := k.Control.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, 0, fmt.Errorf("ask control: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // it has written nothing
	standings, err := control.Standings(ctx, tx)
	if err != nil {
		return nil, 0, err
	}
	q := &asking{Asker: k, q: tx, standings: standings, now: k.Now()}
	files, err := q.named(ctx, source, path)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range files {
		some, left, err := q.answers(ctx, f, source)
		if err != nil {
			return nil, 0, err
		}
		answers, more = append(answers, some...), more+left
	}
	return answers, more, nil
}

// asking is one question.
type asking struct {
	*Asker

	q         pg.Querier
	standings []control.Standing
	now       time.Time
}

// named are the files that a path may mean, as far as the path and what is known of
// files say: those that are known, else one that is not.
func (k *asking) named(ctx context.Context, source, path string) ([]*Facts, error) {
	if len(path) == 36 && uuid.Validate(path) == nil {
		f := &Facts{}
		if err := k.file(ctx, f, strings.ToLower(path)); err != nil {
			return nil, err
		}
		if f.File == nil && f.Tracked == nil {
			return nil, fmt.Errorf("%s: %w", path, ErrUnknownID)
		}
		return []*Facts{f}, nil
	}
	action, outside, name := split(path, k.base(source))
	name = poll.KeptName(name)
	if outside != "" {
		return []*Facts{{Outside: outside, Name: name}}, nil
	}
	actions := []string{action}
	if action == "" {
		actions = schemas.Actions()
	}
	var out []*Facts
	for _, action := range actions {
		f := &Facts{Action: action, Name: name}
		if err := k.file(ctx, f, schemas.FileID(action, name)); err != nil {
			return nil, err
		}
		if f.File != nil || f.Tracked != nil {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		out = append(out, &Facts{Action: action, Name: name})
	}
	return out, nil
}

// base is the path below which a source's directories lie; empty where it is not
// known.
func (k *asking) base(source string) string {
	for _, s := range k.standings {
		if s.ID == source {
			_, rest, _ := strings.Cut(s.URL, "://")
			_, below, _ := strings.Cut(rest, "/")
			return "/" + below
		}
	}
	return ""
}

// split takes a path apart: the action whose directory it lies in, or else a
// directory that none is, and the name. Of an absolute path, or a url, only the
// last directory counts, unless it begins with the source's base.
func split(of, base string) (action, outside, name string) {
	_, rest, isURL := strings.Cut(of, "://")
	if isURL {
		_, below, _ := strings.Cut(rest, "/")
		of = "/" + below
	}
	dir, name := path.Split(of)
	absolute := strings.HasPrefix(dir, "/")
	if below, is := strings.CutPrefix(dir, strings.TrimSuffix(base, "/")+"/"); is && base != "" && absolute {
		dir, absolute = below, false
	}
	dir = strings.Trim(path.Clean("/"+dir), "/")
	last := path.Base(dir)
	switch {
	case dir == "" && !absolute:
		return "", "", name
	case slices.Contains(schemas.Actions(), dir), absolute && slices.Contains(schemas.Actions(), last):
		return last, "", name
	case dir == "":
		return "", "/", name
	}
	return "", dir, name
}

// file reads what is known of a file, whatever source shows it.
func (k *asking) file(ctx context.Context, f *Facts, id string) (err error) {
	known, err := control.KnownFiles(ctx, k.q, []string{id})
	if err != nil {
		return err
	}
	if len(known) > 0 {
		f.File = &known[0]
		f.Action, f.Name = f.File.Action, f.File.Name
	}
	if k.Tracker != nil {
		var action, name string
		if f.Tracked, action, name, err = tracked(ctx, k.Tracker, id); err != nil {
			return err
		}
		if f.Tracked != nil && f.File == nil {
			f.Action, f.Name = action, name
		}
	}
	return nil
}

// answers judges a file at the named source, or at each that shows it or could.
func (k *asking) answers(ctx context.Context, f *Facts, source string) (out []Answer, more int, err error) {
	f.Now, f.Limits, f.Dormant = k.now, k.Limits, k.Dormant
	name, bad := k.Profile.ParseZip(f.Name, k.Centres)
	f.Centre, f.Bad = name.Centre, bad
	var looks []control.LastLook
	var hosted map[string]*Hosted
	if f.File != nil {
		if looks, err = control.LastLooks(ctx, k.q, f.File.ID); err != nil {
			return nil, 0, err
		}
		if err := k.process(ctx, f); err != nil {
			return nil, 0, err
		}
		if k.Tracker != nil {
			if hosted, err = hostedAt(ctx, k.Tracker, f.File.ID); err != nil {
				return nil, 0, err
			}
		}
	}
	sources := []string{source}
	if source == "" {
		sources = k.sources(f, looks)
	}
	anywhere := source == "" && f.File == nil && f.Bad != nil // no source would take it: only who shows it says more
	for i, id := range sources {
		if i == maxSources {
			more = len(sources) - maxSources
			break
		}
		at := *f
		at.SourceID, at.Hosted = id, hosted[id]
		for i := range looks {
			if looks[i].Source == id {
				at.Look = &looks[i]
			}
		}
		if err := k.source(ctx, &at); err != nil {
			return nil, 0, err
		}
		if a := Judge(at); !anywhere || a.Verdict == Ignored {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		out, more = append(out, Judge(*f)), 0
	}
	return out, more, nil
}

// sources are those that show a file, or else those that could; one without an id
// where there is none, or where none would take it.
func (k *asking) sources(f *Facts, looks []control.LastLook) []string {
	var own, others []string
	for _, s := range k.standings {
		shows := slices.ContainsFunc(looks, func(l control.LastLook) bool { return l.Source == s.ID })
		if len(looks) == 0 {
			src, err := config.ParseDefinition(s.Definition)
			shows = s.State != control.SourceRemoved && (f.Bad != nil || s.Centre == f.Centre || err == nil && src.MayShow(f.Centre, f.Action))
		}
		switch {
		case !shows:
		case s.Centre == f.Centre:
			own = append(own, s.ID)
		default:
			others = append(others, s.ID)
		}
	}
	all := append(own, others...)
	if len(all) == 0 || len(looks) == 0 && (f.Outside != "" || f.File == nil && f.Tracked != nil) {
		return []string{""}
	}
	return all
}

// source reads how a source stands and was listed.
func (k *asking) source(ctx context.Context, f *Facts) (err error) {
	for _, s := range k.standings {
		if s.ID != f.SourceID {
			continue
		}
		f.Source = &Source{Standing: s}
		if src, err := config.ParseDefinition(s.Definition); err == nil && f.Bad == nil && s.Definition != control.Undefined && !src.MayShow(f.Centre, f.Action) {
			f.Source.Refusal = src.Refusal(f.Centre, f.Action)
		}
		if f.Source.Listings, err = control.ListingsOf(ctx, k.q, s.ID); err != nil {
			return err
		}
		if f.Source.Ignored, err = control.IgnoredEntry(ctx, k.q, s.ID, f.Action, f.Name); err != nil {
			return err
		}
		if f.Action == "" && f.Outside == "" {
			f.Action = f.Source.Ignored.Directory
		}
		if k.Tracker != nil {
			if f.Source.Complete, err = lastComplete(ctx, k.Tracker, s.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// process reads how far a file is.
func (k *asking) process(ctx context.Context, f *Facts) (err error) {
	id := f.File.ID
	if f.Hostings, err = control.Hostings(ctx, k.q, []string{id}); err != nil {
		return err
	}
	if f.Fetches, err = control.Fetches(ctx, k.q, id); err != nil {
		return err
	}
	if f.Replays, err = control.ReplaysOf(ctx, k.q, id); err != nil {
		return err
	}
	x := f.standing()
	if x == nil {
		return nil
	}
	switch x.State {
	case control.Wanted:
		return k.room(ctx, f, x)
	case control.Received, control.Extracted:
		f.Damage, err = control.DamageOf(ctx, k.q, x.SHA256)
		return err
	}
	if x.Batch != nil {
		if f.Batch, err = control.BatchStandingOf(ctx, k.q, *x.Batch); err != nil {
			return err
		}
	}
	if x.Result == control.Complete {
		if f.Unload, err = control.UnloadOf(ctx, k.q, f.Action, f.Name, x.SHA256); err != nil {
			return err
		}
	}
	return k.insertion(ctx, f)
}

// standing is the acquisition that the answer is about: the one under way before
// the newest, and the one whose bytes the newest brought again.
func (f *Facts) standing() *control.Fetch {
	x := f.main()
	switch {
	case x == nil:
	case x.State == control.Queued:
		x = f.active(x)
	case x.State == control.Ended && x.Result == control.Duplicate:
		x = f.brought(x)
	}
	return x
}

// room reads what a file that is to be requested waits for.
func (k *asking) room(ctx context.Context, f *Facts, x *control.Fetch) (err error) {
	from := plan.Candidates(f.File.Centre, f.Hostings, &x.Acquisition)
	if len(from) == 0 {
		return nil
	}
	f.From = &from[0]
	if f.Queue, err = control.QueueOf(ctx, k.q, &x.Acquisition); err != nil {
		return err
	}
	f.Credit, err = control.CreditUseOf(ctx, k.q, f.From.Server, k.now)
	return err
}

// insertion reads how far the warehouse is; one that is not there has applied
// nothing.
func (k *asking) insertion(ctx context.Context, f *Facts) error {
	if k.Warehouse == nil {
		return nil
	}
	applied, err := insert.AppliedPosition(ctx, k.Warehouse)
	var answered *pgconn.PgError
	if errors.As(err, &answered) && (answered.Code == "42P01" || answered.Code == "3F000") {
		return nil
	}
	if err != nil {
		return err
	}
	f.Applied = &applied
	f.Stopped, err = insert.Stopped(ctx, k.Warehouse)
	return err
}
