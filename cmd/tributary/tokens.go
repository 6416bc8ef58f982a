package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/access"
)

func newTokens(c *cli) *cobra.Command {
	return group("tokens", "Say which programs may ask the API, and what they may do", newTokensAdd(c), newTokensList(c), newTokensRevoke(c))
}

// defaultTokenLife is how long a token is good for if nobody says otherwise.
const defaultTokenLife = "90d"

func newTokensAdd(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Make a token for a program, and print it once",
		Long: "Make a token, which a program sends as the header Authorization: Bearer TOKEN. It is printed now, and nobody can ask\n" +
			"for it again. " + rolesHelp,
		Args: cobra.ExactArgs(1),
	}
	order := c.orderer(cmd)
	output := outputFlag(cmd, "text", report.JSON)
	who := roleFlags(cmd)
	life := cmd.Flags().String("expires", defaultTokenLife, "after how long it is good no more, 366d at most")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, err := who(args[0])
		if err != nil {
			return err
		}
		d, err := asof.ParseDuration(*life)
		if err != nil {
			return usagef("--expires: %w", err)
		}
		return order(cmd.Context(), func(ctx context.Context, a access.Accounts, o access.Order) error {
			secret, err := a.AddToken(ctx, p, d, o)
			if err != nil {
				return err
			}
			return c.tellSecret(*output, map[string]string{"name": p.Name, "token": secret}, secret)
		})
	}
	return cmd
}

// tellSecret prints a secret that nobody is told again: alone for people, as a row for
// programs.
func (c *cli) tellSecret(output string, row map[string]string, secret string) error {
	return c.tell(output, row, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, secret)
		return err
	})
}

func newTokensRevoke(c *cli) *cobra.Command {
	return c.named("revoke NAME", "End a token", "End a token: its next request is refused.", access.Accounts.RevokeToken)
}

// listedToken is a token as programs read it.
type listedToken struct {
	Name      string     `json:"name"`
	Role      string     `json:"role"`
	Centre    string     `json:"centre"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	UsedAt    *time.Time `json:"used_at"`
	RevokedAt *time.Time `json:"revoked_at"`
}

func newTokensList(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the tokens of programs",
		Long: "List the tokens of programs, not their secrets. One that has expired or was revoked is listed for 90 days more.",
		Args: cobra.NoArgs,
	}
	output := outputFlag(cmd, report.Formats()...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			all, err := control.Tokens(cmd.Context(), s.Control)
			if err != nil {
				return err
			}
			return c.list(*output, []string{"name", "role", "centre", "expires", "used", "revoked"}, func(row func(any, ...string) error) error {
				for _, t := range all {
					l := listedToken{t.Name, t.Role, t.Centre, t.CreatedAt.UTC(), t.ExpiresAt.UTC(), utc(t.UsedAt), utc(t.RevokedAt)}
					if err := row(l, l.Name, l.Role, l.Centre, instant(&l.ExpiresAt), instant(l.UsedAt), instant(l.RevokedAt)); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return cmd
}

func newLoginLink(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "login-link", Short: "Make a link that logs in once, without an account",
		Long: "Print the path, below the address of the pages, of a link that logs in once within ten minutes, without an account.\n" +
			"Whoever can run this reaches Postgres, and so may do everything. What is done by the link is recorded as theirs.",
		Args: cobra.NoArgs,
	}
	order := c.orderer(cmd)
	output := outputFlag(cmd, "text", report.JSON)
	role := cmd.Flags().String("role", access.Operator.String(), "what may be done by it: reader, wrangler or operator")
	revoke := cmd.Flags().Bool("revoke", false, "make none, but end all links, and log everybody out who used one")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r, err := access.ParseRole(*role)
		if err != nil {
			return usage(err)
		}
		return order(cmd.Context(), func(ctx context.Context, a access.Accounts, o access.Order) error {
			if *revoke {
				links, sessions, err := a.EndLinks(ctx, o)
				if err != nil {
					return err
				}
				return c.tell(*output, map[string]int64{"links": links, "logins": sessions}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "ended: %d links, %d logins\n", links, sessions)
					return err
				})
			}
			path, err := a.AddLink(ctx, r, o)
			if err != nil {
				return err
			}
			return c.tellSecret(*output, map[string]string{"path": path}, path)
		})
	}
	return cmd
}
