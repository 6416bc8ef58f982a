package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/queries/report"
	"tributary/recovery/replay"
	"tributary/recovery/shadow"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web/client"
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
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	by := cmd.Flags().String("by", "", "group by this only: "+strings.Join(shadow.Groupings(), ", "))
	documents := cmd.Flags().Bool("documents", false, "instead, list the documents that would change")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *by != "" && !slices.Contains(shadow.Groupings(), *by) {
			return usagef("--by %q is not known: use %s", *by, strings.Join(shadow.Groupings(), ", "))
		}
		if *by != "" && *documents {
			return usagef("--by is for groups: leave it out with --documents")
		}
		if server.given() {
			if *documents {
				return c.changesServer(cmd.Context(), server, *output, args[0])
			}
			return c.compareServer(cmd.Context(), server, *output, *by, args[0])
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

// compareServer writes how many documents would change, as a server counts them.
func (c *cli) compareServer(ctx context.Context, server *serverFlags, output, by, name string) error {
	return c.askServer(server, nil, func(r *client.Client) error {
		counter, notes, err := r.CompareShadow(ctx, name)
		if err != nil {
			return err
		}
		if err := c.writeCounts(output, by, counter); err != nil {
			return err
		}
		for _, note := range notes {
			fmt.Fprintln(c.stderr, "tributary: "+note)
		}
		return nil
	})
}

// changesServer writes the documents that would change, as a server compares them.
func (c *cli) changesServer(ctx context.Context, server *serverFlags, output, name string) error {
	return c.askServer(server, nil, func(r *client.Client) error {
		var notes []string
		if err := c.list(output, shadow.DocumentHeader(), func(row func(any, ...string) error) (err error) {
			notes, err = r.ShadowChanges(ctx, name, func(d *shadow.Document) error { return row(d, d.Cells()...) })
			return err
		}); err != nil {
			return err
		}
		for _, note := range notes {
			fmt.Fprintln(c.stderr, "tributary: "+note)
		}
		return nil
	})
}

// writeGroups writes how many documents would change, in all and in groups.
func (c *cli) writeGroups(ctx context.Context, output, by string, cmpr *shadow.Comparer, r *control.ReplayRun) (shadow.Skipped, error) {
	counter, skipped, err := cmpr.Count(ctx, r)
	if err != nil {
		return skipped, err
	}
	return skipped, c.writeCounts(output, by, counter)
}

func (c *cli) writeCounts(output, by string, counter *shadow.Counter) error {
	return c.list(output, shadow.GroupHeader(), func(row func(any, ...string) error) error {
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
	output, server := outputFlag(cmd, "text", "json"), addServerFlags(cmd)
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
		if server.given() {
			if *rate > 0 {
				return usagef("--rate goes without --server")
			}
			return c.orderReplay(ctx, server, *output, "promote", args[0], *reason)
		}
		return c.openComparer(ctx, liveConfig, func(s *stores, cmpr *shadow.Comparer) error {
			r, err := askedRun(s.cfg, false)
			if err != nil {
				return err
			}
			r.Reason, r.Rate = *reason, *rate
			p := replay.Promoter{Comparer: cmpr, Tracker: s.Tracker, Manager: s.replays(cmpr.Codec)}
			row, err := p.Promote(ctx, args[0], r)
			if err != nil {
				return err
			}
			return c.tell(*output, row, row.WriteText)
		})
	}
	return cmd
}

// liveConfig is the configuration by which all that is live is judged.
func liveConfig(cfg config.Config) config.Config { return cfg }

// openComparer opens what shadows are compared with: by names which profile's
// mapping makes the rows that are compared.
func (c *cli) openComparer(ctx context.Context, by func(config.Config) config.Config, fn func(s *stores, cmpr *shadow.Comparer) error) error {
	return c.open(ctx, need{Postgres: true}, func(s *stores) error {
		cmpr, done, err := s.comparer(ctx, by(s.cfg))
		if err != nil {
			return err
		}
		defer done()
		return fn(s, cmpr)
	})
}

// comparer compares shadows by the profile of a configuration, until done is called.
func (s *stores) comparer(ctx context.Context, cfg config.Config) (cmpr *shadow.Comparer, done func(), err error) {
	codec, err := schemas.NewCodec()
	if err != nil {
		return nil, nil, err
	}
	prof, m, err := configuredMapping(cfg)
	if err != nil {
		return nil, nil, err
	}
	blobs, err := openBlobs(ctx, cfg, s.Control)
	if err != nil {
		return nil, nil, err
	}
	return &shadow.Comparer{Control: s.Control, Tracker: s.Tracker, Warehouse: s.Warehouse, Blobs: blobs, Mapping: m,
		Versions: prof.Versions(), Codec: codec}, func() { _ = blobs.Close() }, nil // only read from
}
