package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tributary/queries/audit"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/access"
)

const rolesHelp = "A producer sees what concerns one centre; a reader sees everything; a wrangler corrects data too: replays, files by\n" +
	"hand, dead letters; an operator does everything, sources and accounts included."

const passwordHelp = "The password, 12 characters or more, is asked for on a terminal, else it is the first line of stdin or of --password-file."

func newUsers(c *cli) *cobra.Command {
	return group("users", "Say who may log in to the pages, and what they may do", newUsersAdd(c), newUsersDisable(c), newUsersEdit(c),
		newUsersEnable(c), newUsersList(c), newUsersLog(c), newUsersPassword(c), newUsersRemove(c))
}

// newUsersLog is audit of accounts under the name that it had before.
func newUsersLog(c *cli) *cobra.Command {
	cmd := newAudit(c)
	cmd.Use, cmd.Short = "log", "Deprecated: audit --kind account under its old name"
	cmd.Long = "Deprecated: use audit --kind account, which does the same. This name is kept for one release."
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cmd.Flags().Set("kind", audit.Account); err != nil {
			return err
		}
		fmt.Fprintln(c.stderr, "tributary users log is deprecated and goes with the next release: use tributary audit --kind account")
		return run(cmd, args)
	}
	return cmd
}

func newUsersAdd(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add somebody who may log in",
		Long: "Add an account. NAME has small letters, digits and . _ @ -. " + rolesHelp + "\n\n" + passwordHelp,
		Args: cobra.ExactArgs(1),
	}
	order := c.accountChanger(cmd)
	who := roleFlags(cmd)
	file := cmd.Flags().String("password-file", "", "the file whose first line is the password")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, err := who(args[0])
		if err != nil {
			return err
		}
		password, err := c.password(cmd.Context(), *file)
		if err != nil {
			return err
		}
		return order(cmd.Context(), func(ctx context.Context, a access.Accounts, o access.Order) error {
			return a.Add(ctx, p, password, o)
		})
	}
	return cmd
}

func newUsersEdit(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit NAME", Short: "Give somebody another role",
		Long: "Give an account another role, or a producer another centre. It counts from the account's next request on, also where\n" +
			"somebody is logged in. " + rolesHelp,
		Args: cobra.ExactArgs(1),
	}
	order := c.accountChanger(cmd)
	who := roleFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, err := who(args[0])
		if err != nil {
			return err
		}
		return order(cmd.Context(), func(ctx context.Context, a access.Accounts, o access.Order) error {
			return a.Edit(ctx, p, o)
		})
	}
	return cmd
}

func newUsersPassword(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "password NAME", Short: "Give somebody another password",
		Long: "Give an account another password, and log it out everywhere. " + passwordHelp,
		Args: cobra.ExactArgs(1),
	}
	order := c.accountChanger(cmd)
	file := cmd.Flags().String("password-file", "", "the file whose first line is the password")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		password, err := c.password(cmd.Context(), *file)
		if err != nil {
			return err
		}
		return order(cmd.Context(), func(ctx context.Context, a access.Accounts, o access.Order) error {
			return a.SetPassword(ctx, args[0], password, o)
		})
	}
	return cmd
}

func newUsersDisable(c *cli) *cobra.Command {
	return c.named("disable NAME", "Let somebody log in no more", "Let nobody log in with an account any more, and log it out everywhere, until tributary users enable.", access.Accounts.Disable)
}

func newUsersEnable(c *cli) *cobra.Command {
	return c.named("enable NAME", "Let somebody log in again", "Let people log in with an account that was disabled, with the password that it had.", access.Accounts.Enable)
}

func newUsersRemove(c *cli) *cobra.Command {
	return c.named("remove NAME", "Remove an account", "Remove an account, and log it out everywhere. What was done with it stays recorded under its name.", access.Accounts.Remove)
}

// named is a command that orders something about what it names.
func (c *cli) named(use, short, long string, give func(access.Accounts, context.Context, string, access.Order) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Args: cobra.ExactArgs(1)}
	order := c.accountChanger(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return order(cmd.Context(), func(ctx context.Context, a access.Accounts, o access.Order) error {
			return give(a, ctx, args[0], o)
		})
	}
	return cmd
}

// roleFlags adds the flags that say what somebody may do.
func roleFlags(cmd *cobra.Command) func(name string) (access.Person, error) {
	role := cmd.Flags().String("role", "", "producer, reader, wrangler or operator")
	centre := cmd.Flags().String("centre", "", "the centre of a producer")
	return func(name string) (access.Person, error) {
		r, err := access.ParseRole(*role)
		return access.Person{Name: name, Role: r, Centre: *centre}, usage(err)
	}
}

// accountChanger is orderer of a command that lists what it has changed.
func (c *cli) accountChanger(cmd *cobra.Command) accountOrderer {
	output := outputFlag(cmd, report.Formats()...)
	order := c.orderer(cmd)
	return func(ctx context.Context, give func(context.Context, access.Accounts, access.Order) error) error {
		var done []control.AccountChange
		err := order(ctx, func(ctx context.Context, a access.Accounts, o access.Order) error {
			a.Told = func(change control.AccountChange) { done = append(done, change) }
			return give(ctx, a, o)
		})
		if err != nil {
			return err
		}
		return c.list(*output, []string{"subject", "done"}, func(row func(any, ...string) error) error {
			for _, d := range done {
				if err := row(changeOf(d), d.Subject, d.What); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// accountOrderer orders something of accounts.
type accountOrderer func(context.Context, func(context.Context, access.Accounts, access.Order) error) error

// orderer adds the flag that says why, and returns what orders something of accounts.
func (c *cli) orderer(cmd *cobra.Command) accountOrderer {
	reason := cmd.Flags().String("reason", "", "why, for those who read it later")
	return func(ctx context.Context, give func(context.Context, access.Accounts, access.Order) error) error {
		return c.open(ctx, need{Postgres: true}, func(s *stores) error {
			err := give(ctx, access.Accounts{Pool: s.Control, Now: now}, access.Order{By: requester(), Reason: *reason})
			if access.Refused(err) {
				return usage(err)
			}
			return err
		})
	}
}

// listedUser is an account as programs read it.
type listedUser struct {
	Name       string     `json:"name"`
	Role       string     `json:"role"`
	Centre     string     `json:"centre"`
	CreatedAt  time.Time  `json:"created_at"`
	DisabledAt *time.Time `json:"disabled_at"`
}

func newUsersList(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List who may log in", Args: cobra.NoArgs}
	output := outputFlag(cmd, report.Formats()...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			all, err := control.Accounts(cmd.Context(), s.Control)
			if err != nil {
				return err
			}
			return c.list(*output, []string{"name", "role", "centre", "created", "disabled"}, func(row func(any, ...string) error) error {
				for _, a := range all {
					u := listedUser{a.Name, a.Role, a.Centre, a.CreatedAt.UTC(), utc(a.DisabledAt)}
					if err := row(u, u.Name, u.Role, u.Centre, instant(&u.CreatedAt), instant(u.DisabledAt)); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return cmd
}

// utc is the same moment in UTC.
func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

// instant is a moment as lists have it; empty if there is none.
func instant(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339)
}

// accountChange is a change as programs read it.
type accountChange struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Subject string    `json:"subject"`
	What    string    `json:"what"`
	Reason  string    `json:"reason"`
}

func changeOf(a control.AccountChange) accountChange {
	return accountChange{a.ChangedAt.UTC(), a.ChangedBy, a.Subject, a.What, a.Reason}
}
