package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
)

func newCentresLink(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "link CENTRE", Short: "Make a link by which a centre sees what is its own, without an account",
		Long: "Print the path, below the address of the pages, of a link by which whoever has it sees a centre's own files, errors and\n" +
			"weekly summaries, and nothing of others, without an account. It is printed now, and nobody can ask for it again; make\n" +
			"one for each person, and tributary centres unlink ends one.",
		Args: cobra.ExactArgs(1),
	}
	give := c.orderer(cmd)
	output := outputFlag(cmd, "text", report.JSON)
	life := cmd.Flags().String("expires", order.LinkLife, "after how long it is good no more, 366d at most")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := asof.ParseDuration(*life)
		if err != nil {
			return usagef("--expires: %w", err)
		}
		return give(cmd.Context(), func(ctx context.Context, a access.Accounts, o access.Order) error {
			path, err := a.AddCentreLink(ctx, args[0], d, o)
			if err != nil {
				return err
			}
			return c.tellSecret(*output, map[string]string{"path": path}, path)
		})
	}
	return cmd
}

func newCentresUnlink(c *cli) *cobra.Command {
	return c.named("unlink NUMBER", "End a link of a centre", "End the link of that number, as tributary centres links has it: what it is asked for next leads nowhere.", access.Accounts.RevokeCentreLink)
}

func newCentresLinks(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "links [CENTRE]", Short: "List the links by which centres see what is their own",
		Long: "List the links of all centres, or of one, not their secrets. One that has ended or was revoked is listed for 90 days\n" +
			"more. Why each was made is told by tributary audit --kind centre.",
		Args: cobra.MaximumNArgs(1),
	}
	output := outputFlag(cmd, report.Formats()...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			all, err := linksOf(cmd.Context(), s, args)
			if err != nil {
				return err
			}
			return c.list(*output, []string{"number", "centre", "by", "made", "expires", "used", "revoked"}, func(row func(any, ...string) error) error {
				for _, l := range all {
					x := order.LinkOf(l)
					if err := row(x, strconv.FormatInt(x.Number, 10), x.Centre, x.MadeBy, instant(&x.CreatedAt), instant(&x.ExpiresAt), instant(x.UsedAt), instant(x.RevokedAt)); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return cmd
}

// linksOf are the links of the centre that is named, or all.
func linksOf(ctx context.Context, s *stores, args []string) ([]control.CentreLink, error) {
	name := ""
	if len(args) > 0 {
		named, err := knownCentres(ctx, s, args)
		if err != nil {
			return nil, err
		}
		name = named[0].ShortName
	}
	return control.CentreLinks(ctx, s.Control, name)
}
