package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tributary/consumers/insert"
	"tributary/sql/warehouse"
)

func newWarehouseRebuild(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Make the warehouse anew from document.ordered and the blobs",
		Long: "Make the warehouse anew from document.ordered and the blobs, beside the one that is there, with the profile that is\n" +
			"configured now, and put it in its place at once when it has caught up. Insertion goes on meanwhile, and nothing is\n" +
			"published: all of it was, when it was done first. It works where the schema warehouse was dropped, too.\n\n" +
			"A missing blob is named and stops the rebuild, with nothing changed; so do positions that contradict each other, or what\n" +
			"was applied: see the chain of positions in docs/explanation/guarantees.md. After a crash, run it again. The database needs\n" +
			"room for a second warehouse.",
		Args: cobra.NoArgs,
	}
	output := outputFlag(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.openRebuild(cmd.Context(), func(ctx context.Context, r *insert.Rebuild) error {
			report, err := r.Run(ctx)
			c.noteProfiles(report)
			if err != nil {
				return err
			}
			if *output == "json" {
				return writeJSON(c.stdout, []insert.RebuildReport{report})
			}
			_, err = fmt.Fprintf(c.stdout, "%s\nthe warehouse was made anew from %d positions: %d rows in %s\n", report.Chain, report.Position, report.Rows, report.Elapsed.Round(time.Millisecond))
			return err
		})
	}
	return cmd
}

func newWarehouseVerify(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove that the warehouse equals what document.ordered and the blobs make",
		Long: "Make the warehouse anew beside the one that is there, as rebuild does, and compare every row of every table at the\n" +
			"same position: claims, content, findings, counts, context and overview. Nothing is changed, and insertion goes on, but\n" +
			"for a moment. Exit code 1 if anything differs; the first rows that differ are shown.\n\n" +
			"Before that the chain of positions is followed through all of document.ordered, and compared with what was applied:\n" +
			"positions that contradict each other are named, up to 20, and nothing else is compared then.",
		Args: cobra.NoArgs,
	}
	output := outputFlag(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.openRebuild(cmd.Context(), func(ctx context.Context, r *insert.Rebuild) error {
			var different, tables, rows int64
			report, err := r.Verify(ctx, func(t warehouse.TableComparison) error {
				tables, rows = tables+1, rows+t.Live
				if !t.Equal {
					different++
				}
				if *output == "json" {
					return writeJSON(c.stdout, []warehouse.TableComparison{t})
				}
				_, err := fmt.Fprintln(c.stdout, t)
				return err
			})
			c.noteProfiles(report)
			if err != nil {
				return err
			}
			if different > 0 {
				return fmt.Errorf("%d of %d tables differ from what document.ordered and the blobs make, at position %d: see above; tributary warehouse rebuild makes them anew", different, tables, report.Position)
			}
			if *output == "text" {
				_, err = fmt.Fprintf(c.stdout, "%s\nall %d tables, %d rows, are equal at position %d\n", report.Chain, tables, rows, report.Position)
			}
			return err
		})
	}
	return cmd
}

// noteProfiles says which documents were judged by another profile than the one
// that they are loaded with now.
func (c *cli) noteProfiles(r insert.RebuildReport) {
	for _, p := range r.OtherProfiles() {
		fmt.Fprintf(c.stderr, "tributary: %d documents were judged by the profile %s, and are loaded with %s\n", r.Others[p], p, r.Profile)
	}
}

// openRebuild makes what a rebuild needs. The live schema is left as it is, also
// where it is missing or of another profile.
func (c *cli) openRebuild(ctx context.Context, do func(context.Context, *insert.Rebuild) error) error {
	return c.open(ctx, need{Kafka: true, Postgres: true}, func(s *stores) error {
		p, m, statements, err := s.statements()
		if err != nil {
			return err
		}
		passed, codec, err := s.decided(ctx)
		if err != nil {
			return err
		}
		blobs, err := openBlobs(ctx, s.cfg, s.Control)
		if err != nil {
			return err
		}
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("name of this host: %w", err)
		}
		in, err := insert.New(s.cfg.Insert, insert.Deps{
			Prefix: s.cfg.Kafka.TopicPrefix, Holder: fmt.Sprintf("%s/%d/rebuild", host, os.Getpid()),
			Pool: s.Warehouse, Blobs: blobs, Damaged: damaged(s.Control, "tributary warehouse"), Mapping: m, Statements: statements, Codec: codec, Decided: passed.Chain, LearnDecisions: passed.Load, Connect: s.Kafka, Log: s.log,
		})
		if err != nil {
			return err
		}
		progress := &rebuildProgress{w: c.stderr, next: time.Now().Add(rebuildEvery)}
		err = do(ctx, &insert.Rebuild{In: in, Profile: p.FS(), Report: progress.show})
		showLine(c.stderr, "")
		return err
	})
}

// rebuildEvery is how often the progress is shown.
const rebuildEvery = 2 * time.Second

// rebuildProgress shows how far a rebuild has come: on one line of a terminal,
// elsewhere line by line.
type rebuildProgress struct {
	w    io.Writer
	next time.Time
	rows int64
	at   time.Duration
}

func (p *rebuildProgress) show(r insert.RebuildProgress) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	line := fmt.Sprintf("position %d of %d, %d rows", r.Position, r.Target, r.Rows)
	if took := (r.Elapsed - p.at).Seconds(); took > 0 {
		line += fmt.Sprintf(", %.0f rows/s", float64(r.Rows-p.rows)/took)
	}
	p.next, p.rows, p.at = now.Add(rebuildEvery), r.Rows, r.Elapsed
	showLine(p.w, "tributary: "+line)
}
