package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/sql/control"
)

func newBlobs(c *cli) *cobra.Command {
	return group("blobs", "Verify the stored bytes, and have what is damaged fetched again", newBlobsVerify(c), newBlobsDamaged(c), newBlobsBegin(c))
}

// openBlobs opens the blob store, if it is the right one for who control knows.
func openBlobs(ctx context.Context, cfg config.Config, controls *pgxpool.Pool) (*blob.Dir, error) {
	dir, err := blob.NewDir(blobDir(cfg))
	if err != nil {
		return nil, err
	}
	err = dir.Recognise(ctx, func(ctx context.Context) ([]string, error) { return control.NewestBlobs(ctx, controls) })
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// damaged tells control, in the name of a role, of stored bytes that can't be
// used.
func damaged(db pg.Beginner, by string) blob.Report {
	return func(ctx context.Context, sha256 string, why error) (lost string, err error) {
		before, err := control.ReportDamage(ctx, db, sha256, why.Error(), by, false, now())
		if err != nil || before.State != control.DamageLost {
			return "", err
		}
		return before.Message, nil
	}
}

// lookedRow is a blob that can't be used, as -o json writes it.
type lookedRow struct {
	SHA256  string `json:"sha256"`
	State   string `json:"state"` // damaged, gone or unreadable
	Problem string `json:"problem"`
}

func newBlobsVerify(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compare all stored bytes with their names",
		Long: "Read blob after blob, in the order of their names, and compare its bytes with its name, which is their sha256. What is\n" +
			"damaged or gone (known to control and not there) is listed; exit code 1 if there is any. Everything else may run\n" +
			"meanwhile; --rate bounds what is read in a second. When it is stopped it says how to go on (--after).\n\n" +
			"With --repair what is found is fetched again by the members that run, from whatever source still shows a file with\n" +
			"these bytes: tributary blobs damaged tells how that goes. A listing (tributary listing), which nobody can show again, is\n" +
			"forgotten, and what is kept as a difference from it. Without it nothing is changed.",
		Args: cobra.NoArgs,
	}
	output := outputFlag(cmd, report.Formats()...)
	repair := cmd.Flags().Bool("repair", false, "have what is found fetched again, also what was lost before")
	rate := cmd.Flags().String("rate", "", "read at most so many bytes a second, such as 20MiB (default: no bound)")
	after := cmd.Flags().String("after", "", "begin behind the blob of this name (sha256, or its beginning)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		walk := blob.Walk{After: *after}
		if strings.Trim(*after, "0123456789abcdef") != "" || len(*after) > 64 {
			return usagef("--after %q is no sha256 in small letters, nor the beginning of one", *after)
		}
		if *rate != "" {
			n, err := config.ParseBytes(*rate)
			if err != nil || n <= 0 {
				return usagef("--rate %q is no number of bytes, such as 20MiB", *rate)
			}
			walk.Rate = int64(n)
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			return c.list(*output, []string{"sha256", "state", "problem"}, func(row func(any, ...string) error) error {
				return c.verifyBlobs(cmd.Context(), &verifying{walk: walk, row: row, repair: *repair, forgotten: map[string]bool{}}, s)
			})
		})
	}
	return cmd
}

// unreadable is the state of a blob of which nobody knows what is wrong.
const unreadable = "unreadable"

// verifying is a walk over the blobs under way.
type verifying struct {
	walk   blob.Walk
	row    func(value any, cells ...string) error
	repair bool

	blobs, bytes, bad int64
	last              string
	forgotten         map[string]bool // listings that were, with those that differ from them
}

func (c *cli) verifyBlobs(ctx context.Context, v *verifying, s *stores) (err error) {
	if v.walk.Dir, err = openBlobs(ctx, s.cfg, s.Control); err != nil {
		return err
	}
	defer v.walk.Dir.Close()
	v.walk.Known = func(ctx context.Context, after string) ([]string, error) {
		return control.KnownBlobs(ctx, s.Control, after)
	}
	err = v.walk.Run(ctx, func(l blob.Verification) error { return v.note(ctx, l, s.Control) })
	fmt.Fprintf(c.stderr, "looked at %d blobs, %d bytes: %d can't be used\n", v.blobs, v.bytes, v.bad)
	switch {
	case err != nil && v.last != "":
		return fmt.Errorf("%w: go on with --after %s", err, v.last)
	case err != nil:
		return err
	case v.bad > 0 && v.repair:
		return fmt.Errorf("%d blobs are damaged or gone: members that run fetch archives again where a source has them; see tributary blobs damaged", v.bad)
	case v.bad > 0:
		return fmt.Errorf("%d blobs are damaged or gone: tributary blobs verify --repair has them fetched again where a source has them", v.bad)
	}
	return nil
}

// note takes up what was found of one blob.
func (v *verifying) note(ctx context.Context, l blob.Verification, controls pg.Beginner) error {
	v.blobs, v.bytes = v.blobs+1, v.bytes+l.Bytes
	if l.Err != nil {
		v.bad++
		row := lookedRow{l.SHA256, unreadable, l.Err.Error()}
		switch {
		case errors.Is(l.Err, blob.ErrDamaged):
			row.State = "damaged"
		case blob.Unusable(l.Err):
			row.State = "gone"
		}
		if err := v.row(row, row.SHA256, row.State, row.Problem); err != nil {
			return err
		}
		if v.repair {
			if err := v.mend(ctx, row, controls); err != nil {
				return err
			}
		}
	}
	v.last = l.SHA256
	return nil
}

// mend has a blob fetched again, or forgets it if it is a listing, which nobody has any
// more.
func (v *verifying) mend(ctx context.Context, row lookedRow, controls pg.Beginner) error {
	if v.forgotten[row.SHA256] {
		return nil
	}
	var listings []string
	err := pg.InTx(ctx, controls, func(tx pgx.Tx) (err error) {
		if row.State == unreadable { // it may be whole
			return nil
		}
		if listings, err = control.ForgetListing(ctx, tx, row.SHA256); err != nil {
			return err
		}
		for _, name := range listings {
			err = errors.Join(err, v.walk.Dir.Remove(ctx, name))
		}
		return err
	})
	for _, name := range listings {
		v.forgotten[name] = true // the walk may come to its name yet
	}
	if err != nil || len(listings) > 0 {
		return err
	}
	_, err = control.ReportDamage(ctx, controls, row.SHA256, row.Problem, "tributary blobs verify by "+requester(), true, now())
	return err
}

func newBlobsDamaged(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "damaged",
		Short: "List blobs that were found damaged, and what became of them",
		Long: "List the blobs whose stored bytes were found damaged or gone, the newest first, and what is done about each: found (to\n" +
			"be fetched again), fetching, fetched, healed (with --all) or lost: no source shows these bytes any more, and the\n" +
			"message says what to do.",
		Args: cobra.NoArgs,
	}
	output := outputFlag(cmd, report.Formats()...)
	everything := cmd.Flags().Bool("all", false, "also those that are healed")
	limit := cmd.Flags().Int("limit", 100, "at most so many")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 1 {
			return usagef("--limit must be 1 or more")
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			all, err := control.Damages(cmd.Context(), s.Control, *everything, *limit)
			if err != nil {
				return err
			}
			return c.list(*output, []string{"sha256", "state", "found_at", "found_by", "problem", "message"}, func(row func(any, ...string) error) error {
				for _, d := range all {
					if err := row(d, d.SHA256, d.State, d.FoundAt.UTC().Format(time.RFC3339), d.FoundBy, d.Problem, d.Message); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return cmd
}

func newBlobsBegin(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "begin",
		Short: "Make a new blob store where the old one is really lost",
		Long: "Mark the directory of the blobs (blobs.dir) as the store, though it lacks what control knows. Use it only when the old\n" +
			"store is lost for good, never because a disk isn't mounted: what is missing is then fetched again when somebody needs\n" +
			"it, or, all of it, by tributary blobs verify --repair.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := c.loadWith(config.Options{WithoutSourceSecrets: true})
			if err != nil {
				return err
			}
			dir, err := blob.NewDir(blobDir(cfg))
			if err != nil {
				return err
			}
			if err := errors.Join(dir.Begin(), dir.Close()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.stdout, "%s is the blob store now; tributary blobs verify --repair has what is missing fetched again\n", dir.Path())
			return err
		},
	}
}
