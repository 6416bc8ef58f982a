package order

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"tributary/producers/sources"
	"tributary/sql/control"
)

// Many are definitions of many sources or centres, as a file lists them.
type Many struct {
	On    string // Sources, with centres beside them, or Centres
	Name  string // of the file, for who reads what is wrong with it
	Text  string // YAML; relative paths are relative to the configuration
	Prune bool   // remove those that were added before and that the file doesn't list
	Seen  string // Seen of what a dry run of the same has told; empty: it doesn't matter
}

// Seen changes with what would change.
func Seen(changes []sources.Change) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, changes)))
}

// Apply defines many at once, or only tells what would change. All are defined or none;
// what is refused is an Error.
func (d *Deps) Apply(ctx context.Context, m Many, by control.Decision, dry bool) (changes []sources.Change, err error) {
	if err := CheckReason(by.Reason, false); err != nil {
		return nil, err
	}
	err = d.registered(ctx, func(tx pgx.Tx, r sources.Registry) (err error) {
		if m.On == Centres {
			changes, err = r.ApplyCentresFile(ctx, tx, m.Name, strings.NewReader(m.Text), m.Prune, by)
		} else {
			changes, err = r.ApplyFile(ctx, tx, m.Name, strings.NewReader(m.Text), filepath.Dir(r.Config.Path), m.Prune, by)
		}
		if err == nil && m.Seen != "" && Seen(changes) != m.Seen {
			err = &Error{"something else would change by now than you have seen: look at it again", true}
		}
		if err == nil && dry {
			err = errNothing
		}
		return err
	})
	if errors.Is(err, errNothing) {
		err = nil
	}
	return changes, err
}

// Export is how sources or centres are defined now, all or those named, as YAML that Apply
// reads. One that isn't there is an Error.
func (d *Deps) Export(ctx context.Context, on string, names []string) (text []byte, err error) {
	err = d.registered(ctx, func(tx pgx.Tx, _ sources.Registry) (err error) {
		if on == Centres {
			text, err = sources.ExportCentres(ctx, tx, names)
		} else {
			text, err = sources.Export(ctx, tx, names)
		}
		return err
	})
	return text, err
}
