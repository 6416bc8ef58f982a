package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tributary/queries/report"
	"tributary/recovery/admin"
	"tributary/sql/control"
)

func newAdmin(c *cli) *cobra.Command {
	return group("admin", "Ask running members how they are, change settings of theirs, stop them", newAdminStat(c), newAdminGet(c), newAdminSet(c), newAdminStop(c))
}

// adminFlags are what every order to members has.
type adminFlags struct {
	output  *string
	chosen  admin.Chosen
	timeout time.Duration
	reason  string
}

func newAdminFlags(cmd *cobra.Command, timeout time.Duration) *adminFlags {
	f := &adminFlags{output: outputFlag(cmd, report.Formats()...)}
	cmd.Flags().StringVar(&f.chosen.Role, "role", "", "only members that run this role")
	cmd.Flags().StringVar(&f.chosen.Member, "member", "", "only this member: its name, or the beginning of it")
	cmd.Flags().DurationVar(&f.timeout, "timeout", timeout, "how long an answer is waited for, from 1s to 10m")
	return f
}

// ask opens control and has do ask the members that are meant. Where none runs, or one
// refuses or does not answer, the command fails.
func (c *cli) ask(ctx context.Context, f *adminFlags, do func(context.Context, admin.Asker, []control.Member) ([]admin.Reply, error), matches func(admin.Row) bool) error {
	if f.timeout < time.Second || f.timeout > 10*time.Minute {
		return usagef("--timeout %s: wait from 1s to 10m", f.timeout)
	}
	if f.chosen.Role != "" && !slices.Contains(roleNames(), f.chosen.Role) {
		return usagef("there is no role %q; the roles are %s", f.chosen.Role, strings.Join(roleNames(), ", "))
	}
	return c.open(ctx, need{Postgres: true}, func(s *stores) error {
		a := admin.Asker{Querier: s.Control, Timeout: f.timeout, By: requester(), Reason: f.reason}
		members, err := a.Members(ctx, f.chosen)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(members, func(m control.Member) bool { return admin.StateOf(m) == admin.Running }) {
			fmt.Fprintln(c.stderr, "tributary: no member runs that is meant: see --role and --member, and tributary run or up")
		}
		replies, err := do(ctx, a, members)
		if err != nil {
			return err
		}
		good, err := c.printReplies(*f.output, replies, matches)
		if err == nil && !good {
			err = errSilent
		}
		return err
	})
}

// printReplies writes a line for each member's state, and below it those of its answer.
func (c *cli) printReplies(format string, replies []admin.Reply, matches func(admin.Row) bool) (good bool, err error) {
	good = slices.ContainsFunc(replies, func(r admin.Reply) bool { return r.State != admin.Gone })
	err = c.list(format, []string{"member", "name", "value", "from"}, func(row func(any, ...string) error) error {
		write := func(member string, r admin.Row) error {
			return row(map[string]any{"member": member, "name": r.Name, "value": r.Value, "from": r.From}, member, r.Name, r.Value, r.From)
		}
		for _, r := range replies {
			state := admin.Row{Name: "state", Value: r.State, From: fmt.Sprintf("%s; seen %s", strings.Join(r.Member.Roles, ","), r.Member.SeenAt.UTC().Format(time.RFC3339))}
			if r.Refused != "" {
				good = false
				state.Value += ", refuses: " + r.Refused
			}
			if err := write(r.Member.ID, state); err != nil {
				return err
			}
			for _, one := range r.Rows {
				if !matches(one) {
					continue
				}
				if err := write(r.Member.ID, one); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return good, err
}

// naming matches rows of which the name contains one of some texts; all without any.
func naming(texts []string) func(admin.Row) bool {
	return func(r admin.Row) bool {
		return len(texts) == 0 || slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(r.Name, t) })
	}
}

func newAdminStat(c *cli) *cobra.Command {
	return c.adminQuestion(admin.Stat, &cobra.Command{
		Use: "stat [TEXT …]", Short: "Show the counters of running members, as they are now",
		Long: "Ask each running member for its version, its roles' readiness and its counters and gauges, as they are at this moment; with\n" +
			"texts only those with one of them in the name. Members that are gone, or have stopped, within a day are shown as such.",
	})
}

func newAdminGet(c *cli) *cobra.Command {
	return c.adminQuestion(admin.Get, &cobra.Command{
		Use: "get [KEY …]", Short: "Show the configuration of running members, with the origin of each value",
		Long: "Ask each running member for the configuration that it goes by: each value, and whether it is the default, or from the\n" +
			"file, the environment, a flag or tributary admin set; with keys, or parts of them, only those. Secrets are references.",
	})
}

// adminQuestion lets a command ask members, and show those rows of the answers that its
// arguments name.
func (c *cli) adminQuestion(verb string, cmd *cobra.Command) *cobra.Command {
	f := newAdminFlags(cmd, 10*time.Second)
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.ask(cmd.Context(), f, func(ctx context.Context, a admin.Asker, members []control.Member) ([]admin.Reply, error) {
			return a.Ask(ctx, members, verb, "", "")
		}, naming(args))
	}
	return cmd
}

func newAdminSet(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "set KEY=VALUE", Short: "Change a setting of running members",
		Long: "Change a setting of each running member that is meant, until it ends: log.level (debug, info, warn or error), and\n" +
			"download.parallelism, unzip.parallelism and validate.parallelism (1 to 64) of members with that role. Each change is an\n" +
			"event that names who, when and why, and is in the member's log. To keep it, change the configuration.",
		Args: cobra.ExactArgs(1),
	}
	f := newAdminFlags(cmd, 10*time.Second)
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for those who read it later")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		key, value, ok := strings.Cut(args[0], "=")
		if !ok || key == "" || len(key) > 100 || len(value) > 100 {
			return usagef("%q: write KEY=VALUE, such as log.level=debug", args[0])
		}
		return c.ask(cmd.Context(), f, func(ctx context.Context, a admin.Asker, members []control.Member) ([]admin.Reply, error) {
			return a.Ask(ctx, members, admin.Set, key, value)
		}, naming(nil))
	}
	return cmd
}

func newAdminStop(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "stop", Short: "Stop running members in order",
		Long: "Stop the members that are meant, in the reverse order of the stages: each once those behind it have stopped, and within\n" +
			"a member its last role first. What is under way is finished as with Ctrl-C. Each order is an event that names who, when\n" +
			"and why. Whatever starts members again by itself, such as systemd or Kubernetes, does so now too: tell it first.",
		Args: cobra.NoArgs,
	}
	f := newAdminFlags(cmd, 2*time.Minute)
	all := cmd.Flags().Bool("all", false, "stop all members")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for those who read it later")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *all == (f.chosen != admin.Chosen{}) {
			return usagef("say which members to stop with --role or --member, or say --all: tributary admin stat state lists them")
		}
		return c.ask(cmd.Context(), f, func(ctx context.Context, a admin.Asker, members []control.Member) ([]admin.Reply, error) {
			return a.Stop(ctx, members, func(role string) int { return slices.Index(roleNames(), role) })
		}, naming(nil))
	}
	return cmd
}
