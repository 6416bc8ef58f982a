// Package byhand does what people order about single files: that they are held,
// released, cancelled, tried again or given a priority. Each order is one transaction with its events, made under the
// file's lock, as plan makes its decisions.
package byhand

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/producers/plan"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// Outcome is what became of one file.
type Outcome struct {
	File   string `json:"file"` // action/name, or as it was named
	Done   bool   `json:"done"`
	Detail string `json:"detail"`
}

// Orders gives orders about files, as somebody has decided.
type Orders struct {
	control.Decision // who, why and when

	Pool   *pgxpool.Pool // of control
	Outbox outbox.Outbox // of control
	Dry    bool          // only tell what would be done
}

// errRefused ends a transaction in which nothing is to be stored: what is decided is
// a refusal, or was only tried.
var errRefused = errors.New("nothing is stored")

// Hold ends what of a file is under way, and lets nothing of it begin. A file is named
// by its name, where only one has it, or by action/name. What can't be done is an
// outcome, not an error.
func (o Orders) Hold(ctx context.Context, named string) (Outcome, error) {
	return o.give(ctx, named, (*decision).hold)
}

// Cancel ends what of a file is under way. What the file shows anew begins as ever.
func (o Orders) Cancel(ctx context.Context, named string) (Outcome, error) {
	return o.give(ctx, named, (*decision).cancel)
}

// Release lets what a held file shows be taken up.
func (o Orders) Release(ctx context.Context, named string) (Outcome, error) {
	return o.give(ctx, named, (*decision).release)
}

func (o Orders) give(ctx context.Context, named string, order func(*decision)) (Outcome, error) {
	id, refused, err := o.find(ctx, named)
	if err != nil || refused != "" {
		return Outcome{File: named, Detail: refused}, err
	}
	d := &decision{Decision: o.Decision}
	err = pg.InTx(ctx, o.Pool, func(tx pgx.Tx) (err error) {
		d.tx = tx
		if d.world, err = plan.Load(ctx, tx, o.Outbox, []string{id}, o.At); err != nil {
			return err
		}
		d.file, d.out = d.world.File(id), Outcome{}
		if d.outstanding, err = control.Outstanding(ctx, tx, id); err != nil {
			return err
		}
		if d.unloaded, err = d.unload(ctx); err != nil {
			return err
		}
		if order(d); !d.out.Done || o.Dry {
			return errRefused
		}
		if err := control.StoreHold(ctx, tx, id, d.file.Hold); err != nil {
			return err
		}
		return d.world.Store(ctx, tx)
	})
	if errors.Is(err, errRefused) {
		err = nil
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", named, err)
	}
	d.out.File = d.file.Subject()
	return d.out, nil
}

// find returns the id of the file that is named, or why none is.
func (o Orders) find(ctx context.Context, named string) (id, refused string, err error) {
	action, name, ok := strings.Cut(named, "/")
	if !ok {
		name = named
	} else if schemas.ActionOrder(action) == 0 {
		return "", "there is no action " + action + ": a file is named by its name, or by " + strings.Join(schemas.Actions(), ", ") + " before a slash and it", nil
	}
	var ids []string
	for _, a := range schemas.Actions() {
		if !ok || a == action {
			ids = append(ids, schemas.FileID(a, name))
		}
	}
	known, err := control.KnownFiles(ctx, o.Pool, ids)
	switch {
	case err != nil:
		return "", "", err
	case len(known) == 0:
		return "", "no such file is known: no poll has listed it, and nobody announced it; see tributary files", nil
	case len(known) > 1:
		var of []string
		for _, f := range known {
			of = append(of, f.Action+"/"+f.Name)
		}
		return "", "several files have the name: say which, of " + strings.Join(of, ", "), nil
	}
	return known[0].ID, "", nil
}

// decision is an order about one file while it is carried out.
type decision struct {
	control.Decision

	tx          pgx.Tx
	world       *plan.World
	file        *plan.File
	outstanding map[int64]bool
	unloaded    bool // the version that the file shows was taken out of the warehouse
	out         Outcome
}

// unload tells whether somebody had the version unloaded that the file shows.
func (d *decision) unload(ctx context.Context) (bool, error) {
	placed := d.file.Placed(d.outstanding)
	if placed == nil {
		return false, nil
	}
	op, err := control.UnloadOf(ctx, d.tx, d.file.Action, d.file.Name, placed.SHA256)
	return op != nil, err
}

// refuse says why nothing is done.
func (d *decision) refuse(format string, args ...any) { d.out.Detail = fmt.Sprintf(format, args...) }

// do says what is done, and tells of it.
func (d *decision) do(note, done string, attributes map[string]string, format string, args ...any) {
	d.out.Done, d.out.Detail = true, fmt.Sprintf(format, args...)
	d.world.Tell(plan.Ordered(d.file, note, d.Said(done), d.Decision, attributes))
}

// withdraw ends what of the file has no position yet. It refuses, and returns false,
// where nothing is under way and the file has its positions.
func (d *decision) withdraw(exception, done string) (ended int, ok bool) {
	placed := d.file.Placed(d.outstanding)
	ended = d.world.Withdraw(d.file, exception, d.Said(done), d.outstanding)
	if ended == 0 && placed != nil && !d.unloaded {
		d.refuse("its documents have their positions, so that nothing keeps them from the warehouse any more; to take them out: tributary warehouse unload %s", d.file.Subject())
		return 0, false
	}
	return ended, true
}

func (d *decision) hold() {
	if d.file.Held() {
		d.refuse("it is held already: %s, at %s", d.file.Said(), d.file.HeldAt.UTC().Format(time.RFC3339))
		return
	}
	ended, ok := d.withdraw(plan.HeldByHand, "held")
	if !ok {
		return
	}
	at := d.At
	d.file.Hold = control.Hold{HeldAt: &at, HeldBy: d.By, HeldWhy: d.Reason}
	d.do(plan.NoteHeld, "held", count(ended), "nothing of it begins until it is released%s: tributary files release %s", endedSo(ended), d.file.Subject())
}

func (d *decision) cancel() {
	ended, ok := d.withdraw(plan.CancelledByHand, "cancelled")
	switch {
	case !ok:
	case ended == 0:
		d.refuse("nothing of it is under way or waits; to keep it from beginning: tributary files hold %s", d.file.Subject())
	default:
		d.do(plan.NoteCancelled, "cancelled", count(ended), "what was under way of it has ended; it begins anew only with a new version, or with tributary replay")
	}
}

func (d *decision) release() {
	if !d.file.Held() {
		d.refuse("it is not held: see tributary files held")
		return
	}
	detail := "nothing of it was held back"
	switch d.world.Release(d.file) {
	case plan.Begun:
		detail = "what it shows now is taken up"
	case plan.Later:
		detail = "what it shows is taken up once a source of it is available"
	case plan.Gone:
		detail = "no source shows it any more, so nothing is taken up"
	}
	d.do(plan.NoteReleased, "released", count(0), "%s", detail)
}

// count is how many acquisitions an order has ended, as its event tells it.
func count(ended int) map[string]string { return map[string]string{"ended": strconv.Itoa(ended)} }

// endedSo says that something has ended, in the middle of a sentence.
func endedSo(ended int) string {
	if ended == 0 {
		return ""
	}
	return ", and what was under way of it has ended"
}
