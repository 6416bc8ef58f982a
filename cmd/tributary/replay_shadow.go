package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
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

// checkShadow judges the name of a shadow, and where it begins.
func (f *replayFlags) checkShadow() error {
	switch {
	case f.shadow == "":
		return nil
	case !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]{0,62}$`).MatchString(f.shadow):
		return usagef("--shadow %q is no name: use a letter, then letters, digits and any of . _ -, 63 at most", f.shadow)
	case f.from == schemas.FromDownload:
		return usage(replay.ErrShadowDownload)
	case f.from == schemas.FromData:
		return usage(replay.ErrShadowData)
	}
	return nil
}

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
		return c.withComparer(cmd.Context(), shadowConfig, func(_ *replay.Manager, s *stores, cmpr *shadow.Comparer, _ config.Config) error {
			r, err := readShadow(cmd.Context(), s, args[0])
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
			return c.noteSkipped(&r, skipped, cmpr)
		})
	}
	return cmd
}

// readShadow finds a replay, which must be a shadow.
func readShadow(ctx context.Context, s *stores, name string) (control.ReplayRun, error) {
	r, err := control.ReadReplayRun(ctx, s.Control, name)
	if err != nil {
		return r, err
	}
	if r.Shadow == "" {
		return r, fmt.Errorf("replay %d is no shadow: its results are live, and there is nothing to compare", r.Number)
	}
	n, err := control.CountReplay(ctx, s.Control, r.ID)
	if err == nil && n.Items == 0 {
		err = fmt.Errorf("what the shadow %s has found was lost with the control database: make a new one", r.Shadow)
	}
	return r, err
}

// writeGroups writes how many documents would change, in all and in groups.
func (c *cli) writeGroups(ctx context.Context, output, by string, cmpr *shadow.Comparer, r *control.ReplayRun) (shadow.Skipped, error) {
	counter := shadow.NewCounter()
	skipped, err := cmpr.Compare(ctx, r, func(d *shadow.Document) error {
		counter.Add(d)
		return nil
	})
	if err != nil {
		return skipped, err
	}
	header := []string{"by", "group", "documents", "unchanged", "newly valid", "newly refused", "refused otherwise", "rows differ"}
	out, err := report.NewOutput(c.stdout, output, header...)
	if err != nil {
		return skipped, usage(err)
	}
	for _, g := range counter.Groups(by) {
		cells := []string{g.By, g.Group}
		for _, n := range []int64{g.Documents, g.Unchanged, g.NewlyValid, g.NewlyRefused, g.RefusedOtherwise, g.RowsDiffer} {
			cells = append(cells, strconv.FormatInt(n, 10))
		}
		if err := out.Row(g, cells...); err != nil {
			return skipped, errors.Join(err, out.Close())
		}
	}
	return skipped, out.Close()
}

// writeChanges writes the documents that would change.
func (c *cli) writeChanges(ctx context.Context, output, _ string, cmpr *shadow.Comparer, r *control.ReplayRun) (shadow.Skipped, error) {
	out, err := report.NewOutput(c.stdout, output, "file", "action", "document", "centre", "change", "live", "shadow")
	if err != nil {
		return shadow.Skipped{}, usage(err)
	}
	skipped, err := cmpr.Compare(ctx, r, func(d *shadow.Document) error {
		if d.Change == shadow.Unchanged {
			return nil
		}
		return out.Row(d, d.FileName, d.Action, d.Entry, d.Centre, d.Change, inWords(d.Live), inWords(d.Shadow))
	})
	return skipped, errors.Join(err, out.Close())
}

// inWords is a verdict for people.
func inWords(v shadow.Verdict) string {
	switch {
	case v.Exception != "" && v.Errors > 0:
		return fmt.Sprintf("%s at %s, %d errors", v.Exception, v.Phase, v.Errors)
	case v.Exception != "":
		return v.Exception + " at " + v.Phase
	}
	return v.Result
}

// noteSkipped says what a comparison is without.
func (c *cli) noteSkipped(r *control.ReplayRun, s shadow.Skipped, cmpr *shadow.Comparer) error {
	equal, err := shadow.Equal(r, cmpr.Versions)
	if err != nil {
		return err
	}
	for _, note := range []struct {
		holds bool
		text  string
	}{
		{r.State != control.ReplayDone, fmt.Sprintf("the shadow is %s: %d files have not ended, and are left out", r.State, s.Unfinished)},
		{s.Refused > 0, fmt.Sprintf("%d files could not be replayed, and are left out: see tributary replay show %d", s.Refused, r.Number)},
		{!equal, "the profile that shadows are judged by here differs from the one that this shadow was asked for with: rows are compared as the one of here makes them"},
		{s.Mixed > 0, fmt.Sprintf("%d %s", s.Mixed, shadow.ErrMixed)},
	} {
		if note.holds {
			fmt.Fprintln(c.stderr, "tributary: "+note.text)
		}
	}
	return nil
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
		return c.withComparer(ctx, liveConfig, func(m *replay.Manager, s *stores, cmpr *shadow.Comparer, cfg config.Config) error {
			of, err := readShadow(ctx, s, args[0])
			if err != nil {
				return err
			}
			if err := promotable(ctx, s, cmpr, &of); err != nil {
				return fmt.Errorf("replay %d, the shadow %s: %w", of.Number, of.Shadow, err)
			}
			r, err := askedRun(cfg, false)
			if err != nil {
				return err
			}
			r.Phase, r.Promotes, r.Reason, r.Rate = of.Phase, of.ID, *reason, *rate
			t := tallyOf(r.Phase)
			next, stop := iter.Pull2(changedFiles(ctx, s.Tracker, cmpr, &of, t))
			defer stop()
			_, err = m.Request(ctx, r, func() (control.ReplayItem, bool, error) {
				item, err, ok := next()
				return item, ok && err == nil, err
			})
			if errors.Is(err, replay.ErrNothingChosen) {
				return fmt.Errorf("nothing would change by the shadow %s: there is nothing to promote", of.Shadow)
			}
			if err != nil {
				return err
			}
			return t.write(c, *output, r)
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
func changedFiles(ctx context.Context, tracker *pgxpool.Pool, cmpr *shadow.Comparer, r *control.ReplayRun, t *chosen) iter.Seq2[control.ReplayItem, error] {
	errEnough := errors.New("enough")
	return func(yield func(control.ReplayItem, error) bool) {
		var last control.ReplayItem
		var files []string
		skipped, err := cmpr.Compare(ctx, r, func(d *shadow.Document) error {
			item := control.ReplayItem{File: d.File, Archive: d.Archive}
			if d.Change == shadow.Unchanged {
				return nil
			}
			if item == last {
				return nil
			}
			last = item
			files = append(files, item.File)
			t.Files++
			t.centres[d.Centre] = true
			if !yield(item, nil) {
				return errEnough
			}
			return nil
		})
		if err == nil && skipped.Mixed > 0 {
			err = fmt.Errorf("%d %w", skipped.Mixed, shadow.ErrMixed)
		}
		if err == nil {
			t.Documents, t.Bytes, err = replay.Weigh(ctx, tracker, files)
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(control.ReplayItem{}, err)
		}
	}
}

// liveConfig is the configuration by which all that is live is judged.
func liveConfig(cfg config.Config) config.Config { return cfg }

// withComparer opens what shadows are compared with: by names which profile's
// mapping makes the rows that are compared.
func (c *cli) withComparer(ctx context.Context, by func(config.Config) config.Config, fn func(m *replay.Manager, s *stores, cmpr *shadow.Comparer, cfg config.Config) error) error {
	return c.withReplay(ctx, false, func(m *replay.Manager, s *stores, cfg config.Config) error {
		prof, tables, err := configuredMapping(by(cfg))
		if err != nil {
			return err
		}
		blobs, err := openBlobs(ctx, cfg, s.Control)
		if err != nil {
			return err
		}
		return fn(m, s, &shadow.Comparer{Control: s.Control, Tracker: s.Tracker, Warehouse: s.Warehouse, Blobs: blobs, Mapping: tables,
			Versions: prof.Versions(), Codec: m.Outbox.Codec}, cfg)
	})
}
