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
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/internal/remote"
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
	name = poll.KeptName(remote.ShortName(name))
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
