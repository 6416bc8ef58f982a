package plan

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/schemas"
	"tributary/sql/control"
)

// origins are the files that show bytes, by what a profile may have passed over when
// another file brings them.
type origins struct {
	of   map[control.Bytes]string // action/name
	gone []control.Bytes          // that an origin does not show any more
}

// findOrigins looks for the origins of what has been fetched, where the profile passes
// over bytes that are known under another name.
func (p *Planner) findOrigins(ctx context.Context, tx pgx.Tx, w *World, in input) error {
	if !p.deps.SkipKnown {
		return nil
	}
	var all []control.Bytes
	for _, d := range in.downloads {
		if f := w.files[d.body.File]; f != nil && d.body.Result == schemas.Fetched {
			all = append(all, f.bytes(d.body.SHA256))
		}
	}
	of, err := control.Origins(ctx, tx, all)
	w.origins = &origins{of: of}
	return err
}

func (f *File) bytes(sha256 string) control.Bytes {
	return control.Bytes{Centre: f.Centre, Action: f.Action, SHA256: sha256}
}

// origin is the file whose bytes an acquisition brings again under another name, if that
// is all that it brings: a file which had other bytes before shows a new version, whatever
// its bytes, and a replay was asked for. Empty: they are to be loaded.
func (w *World) origin(f *File, a *control.Acquisition, sha256 string) string {
	if w.origins == nil || a.Run != schemas.LiveRun || f.Acceptances > 0 || f.Centre == "" {
		return ""
	}
	return w.origins.of[f.bytes(sha256)]
}

// shows notes that the file shows other bytes from now on.
func (o *origins) shows(f *File, sha256 string) {
	if o == nil || sha256 == f.CurrentSHA256 {
		return
	}
	if b := f.bytes(f.CurrentSHA256); o.of[b] == f.Subject() {
		delete(o.of, b)
	}
	if f.CurrentSHA256 != "" {
		o.gone = append(o.gone, f.bytes(f.CurrentSHA256))
	}
	if b := f.bytes(sha256); o.of[b] == "" {
		o.of[b] = f.Subject()
	}
}
