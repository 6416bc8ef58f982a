package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/queries/report"
	"tributary/recovery/replay"
	"tributary/recovery/shadow"
	"tributary/schemas"
	"tributary/sql/control"
)

func newReplayCompare(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare RUN",
		Short: "Say what a shadow would change",
		Long: "Compare a shadow, named by its name, its number or its run's id, with what is live: how many documents would be\n" +
			"newly valid, newly refused, refused otherwise (for another reason, or with more or fewer errors), or loaded with other\n" +
			"rows, in all and by exception, centre and date of the file. --documents lists them. It only reads.\n\n" +
			"Verdicts are compared with those of the newest live attempt of the same version. What is valid on both sides, and was\n" +
			"loaded by another version of its mapping, is read again from its archive, and its records are compared with those that\n" +
			"the warehouse holds of it: by the mapping of shadow_profile, if that is configured.",
		Args: cobra.ExactArgs(1),
	}
	output := outputFlag(cmd, report.Formats()...)
	by := cmd.Flags().String("by", "", "group by this only: "+strings.Join(shadow.Groupings(), ", "))
	documents := cmd.Flags().Bool("documents", false, "instead, list the documents that would change")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *by != "" && !slices.Contains(shadow.Groupings(), *by) {
			return usagef("--by %q is not known: use %s", *by, strings.Join(shadow.Groupings(), ", "))
		}
		if *by != "" && *documents {
			return usagef("--by is for groups: leave it out with --documents")
		}
		return c.openComparer(cmd.Context(), shadowConfig, func(s *stores, cmpr *shadow.Comparer) error {
			r, err := shadow.Find(cmd.Context(), s.Control, args[0])
			if err != nil {
				return err
			}
			write := c.writeGroups
			if *documents {
				write = c.writeChanges
			}
			skipped, err := write(cmd.Context(), *output, *by, cmpr, &r)
			if err != nil {
				return err
			}
			notes, err := cmpr.Notes(&r, skipped)
			for _, note := range notes {
				fmt.Fprintln(c.stderr, "tributary: "+note)
			}
			return err
		})
	}
	return cmd
}

// writeGroups writes how many documents would change, in all and in groups.
func (c *cli) writeGroups(ctx context.Context, output, by string, cmpr *shadow.Comparer, r *control.ReplayRun) (shadow.Skipped, error) {
	counter, skipped, err := cmpr.Count(ctx, r)
	if err != nil {
		return skipped, err
	}
	return skipped, c.list(output, shadow.GroupHeader(), func(row func(any, ...string) error) error {
		for _, g := range counter.Groups(by) {
			if err := row(g, g.Cells()...); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeChanges writes the documents that would change.
func (c *cli) writeChanges(ctx context.Context, output, _ string, cmpr *shadow.Comparer, r *control.ReplayRun) (skipped shadow.Skipped, err error) {
	err = c.list(output, shadow.DocumentHeader(), func(row func(any, ...string) error) (err error) {
		skipped, err = cmpr.Changes(ctx, r, func(d *shadow.Document) error { return row(d, d.Cells()...) })
		return err
	})
	return skipped, err
}

func newReplayPromote(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "promote RUN",
		Short: "Make the results of a shadow live, once",
		Long: "Make the results of a shadow, named by its name, its number or its run's id, live: a replay from the same phase does\n" +
			"the work again, of exactly the files in which replay compare finds a change, and its results replace the live ones in\n" +
			"order. It is refused while the shadow runs, when it was promoted before, and when profile of the configuration would\n" +
			"judge or load documents differently than the shadow did: what is promoted is what was compared. So set profile to what\n" +
			"shadow_profile is, and restart the members, before.",
		Args: cobra.ExactArgs(1),
	}
	output := outputFlag(cmd, "text", "json")
	reason := cmd.Flags().String("reason", "", "why, for those who read it later")
	rate := cmd.Flags().Float64("rate", 0, "at most so many files a second; 0: no limit but that 256 are under way at once")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *reason == "" {
			return usagef("--reason is missing: say why, for those who read it later")
		}
		if !goodRate(*rate) {
			return usagef(badRate)
		}
		ctx := cmd.Context()
		return c.openComparer(ctx, liveConfig, func(s *stores, cmpr *shadow.Comparer) error {
			of, err := shadow.Find(ctx, s.Control, args[0])
			if err != nil {
				return err
			}
			if err := promotable(ctx, s, cmpr, &of); err != nil {
				return fmt.Errorf("replay %d, the shadow %s: %w", of.Number, of.Shadow, err)
			}
			r, err := askedRun(s.cfg, false)
			if err != nil {
				return err
			}
			r.Phase, r.Promotes, r.Reason, r.Rate = of.Phase, of.ID, *reason, *rate
			t := replay.NewTally(r.Phase, "")
			err = c.requestRun(ctx, s.replays(cmpr.Codec), r, t, changedFiles(ctx, s.Tracker, cmpr, &of, t), *output)
			if errors.Is(err, replay.ErrNothingChosen) {
				return fmt.Errorf("nothing would change by the shadow %s: there is nothing to promote", of.Shadow)
			}
			return err
		})
	}
	return cmd
}

// promotable says what keeps a shadow from being promoted. Whoever promotes it at
// the same time is found when the replay is stored.
func promotable(ctx context.Context, s *stores, cmpr *shadow.Comparer, r *control.ReplayRun) error {
	by, err := control.Promotion(ctx, s.Control, r.ID)
	if err != nil {
		return err
	}
	if by != nil {
		return fmt.Errorf("by replay %d: %w", by.Number, control.ErrPromoted)
	}
	if r.State != control.ReplayDone {
		return fmt.Errorf("it is %s: %w", r.State, replay.ErrShadowUndone)
	}
	equal, err := shadow.Equal(r, cmpr.Versions)
	if err == nil && !equal {
		err = shadow.ErrOtherVersions
	}
	return err
}

// changedFiles yields the files of which some document would change, each once,
// and counts them with all that is in them, which is what is replayed.
func changedFiles(ctx context.Context, tracker *pgxpool.Pool, cmpr *shadow.Comparer, r *control.ReplayRun, t *replay.Tally) iter.Seq2[control.ReplayItem, error] {
	return func(yield func(control.ReplayItem, error) bool) {
		var files []string
		err := cmpr.ChangedFiles(ctx, r, func(d *shadow.Document) bool {
			files = append(files, d.File)
			t.Add(d.Centre)
			return yield(control.ReplayItem{File: d.File, Archive: d.Archive}, nil)
		})
		if err == nil {
			t.Documents, t.Bytes, err = replay.Weigh(ctx, tracker, files)
		}
		if err != nil && !shadow.Stopped(err) {
			yield(control.ReplayItem{}, err)
		}
	}
}

// liveConfig is the configuration by which all that is live is judged.
func liveConfig(cfg config.Config) config.Config { return cfg }

// openComparer opens what shadows are compared with: by names which profile's
// mapping makes the rows that are compared.
func (c *cli) openComparer(ctx context.Context, by func(config.Config) config.Config, fn func(s *stores, cmpr *shadow.Comparer) error) error {
	return c.open(ctx, need{Postgres: true}, func(s *stores) error {
		codec, err := schemas.NewCodec()
		if err != nil {
			return err
		}
		prof, m, err := configuredMapping(by(s.cfg))
		if err != nil {
			return err
		}
		blobs, err := openBlobs(ctx, s.cfg, s.Control)
		if err != nil {
			return err
		}
		return fn(s, &shadow.Comparer{Control: s.Control, Tracker: s.Tracker, Warehouse: s.Warehouse, Blobs: blobs, Mapping: m,
			Versions: prof.Versions(), Codec: codec})
	})
}
