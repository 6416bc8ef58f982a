package main

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/client"
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
	output, server := outputFlag(cmd, "text", report.JSON), addServerFlags(cmd)
	life := cmd.Flags().String("expires", order.LinkLife, "after how long it is good no more, 366d at most")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := asof.ParseDuration(*life)
		if err != nil {
			return usagef("--expires: %w", err)
		}
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				path, err := r.MakeLink(cmd.Context(), args[0], *life, cmd.Flag("reason").Value.String())
				if err != nil {
					return badOrder(err)
				}
				return c.tellSecret(*output, map[string]string{"path": path}, path)
			})
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
	cmd := c.named("unlink NUMBER", "End a link of a centre", "End the link of that number, as tributary centres links has it: what it is asked for next leads nowhere.", access.Accounts.RevokeCentreLink)
	beside, server := cmd.RunE, addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !server.given() {
			return beside(cmd, args)
		}
		return c.askServer(server, nil, func(r *client.Client) error {
			return c.unlinkByServer(cmd, r, args[0])
		})
	}
	return cmd
}

// unlinkByServer has a server end the link of that number, whose centre it is to be told.
func (c *cli) unlinkByServer(cmd *cobra.Command, r *client.Client, number string) error {
	all, err := r.Links(cmd.Context(), "")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(l order.Link) bool { return strconv.FormatInt(l.Number, 10) == number })
	if i < 0 {
		return usagef("%q is no number of a link: tributary centres links has them", number)
	}
	reason := cmd.Flag("reason").Value.String()
	out, err := r.Order(cmd.Context(), order.Centres, all[i].Centre, order.RevokeLink, client.Wish{Reason: reason, Link: all[i].Number})
	if err == nil && !out.Done {
		err = usagef("%s: %s", number, out.Detail)
	}
	if err != nil {
		return err
	}
	return c.list(cmd.Flag("output").Value.String(), []string{"subject", "done"}, func(row func(any, ...string) error) error {
		subject, what := "centre-link:"+number, "link revoked: "+all[i].Centre
		return row(map[string]any{"subject": subject, "what": what, "reason": reason}, subject, what)
	})
}

func newCentresLinks(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "links [CENTRE]", Short: "List the links by which centres see what is their own",
		Long: "List the links of all centres, or of one, not their secrets. One that has ended or was revoked is listed for 90 days\n" +
			"more. Why each was made is told by tributary audit --kind centre.",
		Args: cobra.MaximumNArgs(1),
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				all, err := r.Links(cmd.Context(), strings.Join(args, ""))
				if err != nil {
					return err
				}
				return c.listLinks(*output, all)
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			all, err := linksOf(cmd.Context(), s, args)
			if err != nil {
				return err
			}
			links := make([]order.Link, len(all))
			for i, l := range all {
				links[i] = order.LinkOf(l)
			}
			return c.listLinks(*output, links)
		})
	}
	return cmd
}

func (c *cli) listLinks(output string, all []order.Link) error {
	return c.list(output, []string{"number", "centre", "by", "made", "expires", "used", "revoked"}, func(row func(any, ...string) error) error {
		for _, x := range all {
			if err := row(x, strconv.FormatInt(x.Number, 10), x.Centre, x.MadeBy, instant(&x.CreatedAt), instant(&x.ExpiresAt), instant(x.UsedAt), instant(x.RevokedAt)); err != nil {
				return err
			}
		}
		return nil
	})
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
