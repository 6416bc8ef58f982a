package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/consumers/notify"
	"tributary/internal/config"
	"tributary/internal/notice"
	"tributary/queries/report"
)

func newNotify(c *cli) *cobra.Command {
	return group("notify", "See who is told of what, and try it", newNotifyShow(c), newNotifyTest(c))
}

// targetRow is a target as notify show tells it.
type targetRow struct {
	Target string   `json:"target"`
	To     string   `json:"to"` // a webhook's host, or addresses
	How    string   `json:"how"`
	Told   []string `json:"told"`
	Behind int64    `json:"behind"` // records of the log that it has not read
}

func newNotifyShow(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show", Short: "List the targets, what each is told, and how far behind it is", Args: cobra.NoArgs,
		Long: "List the targets of notify.targets, what each is told, and of how many records of status.changed it was not told\n" +
			"yet, be they of interest to it or not: a target that is away falls behind, and one with a digest until the next.\n" +
			"What was given up is listed by tributary dlq list --group notify.",
	}
	output := outputFlag(cmd, report.Formats()...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.open(cmd.Context(), need{Kafka: true}, func(s *stores) error {
			client, err := s.Kafka()
			if err != nil {
				return err
			}
			defer client.Close()
			admin := kadm.NewClient(client)
			return c.list(*output, []string{"target", "to", "how", "told", "behind"}, func(row func(any, ...string) error) error {
				for _, t := range s.cfg.Notify.Targets {
					r := targetOf(t, s.cfg.Notify.Rules)
					if r.Behind, err = notify.Behind(cmd.Context(), admin, s.cfg.Kafka.TopicPrefix, t.ID); err != nil {
						return err
					}
					if err := row(r, r.Target, r.To, r.How, strings.Join(r.Told, ","), strconv.FormatInt(r.Behind, 10)); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return cmd
}

func targetOf(t config.NotifyTarget, rules []config.NotifyRule) targetRow {
	r := targetRow{Target: t.ID, To: strings.Join(t.Mail, ","), How: "mail", Told: []string{}}
	switch {
	case t.Webhook.IsReference():
		r.How, r.To = "webhook", string(t.Webhook)
	case t.Webhook != "":
		r.How, r.To = "webhook", "an address"
		if u, err := url.Parse(string(t.Webhook)); err == nil {
			r.To = u.Host
		}
	case t.Digest != 0:
		r.How = "digest every " + t.Digest.String()
	}
	for _, rule := range rules {
		if slices.Contains(rule.To, t.ID) && !slices.Contains(r.Told, rule.When) {
			r.Told = append(r.Told, rule.When)
		}
	}
	return r
}

func newNotifyTest(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "test TARGET", Short: "Send a target a notice of kind test, now", Args: cobra.ExactArgs(1),
		Long: "Send a target a notice of kind test, and say whether it was taken: nothing needs to run for it. A target with a\n" +
			"digest is sent a mail at once.",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := c.loadWith(config.Options{WithoutSourceSecrets: true})
			if err != nil {
				return err
			}
			t, ok := cfg.Notify.Target(args[0])
			if !ok {
				return usagef("no target has the id %q: notify.targets has %s", args[0], known(cfg.Notify))
			}
			return testTarget(cmd.Context(), c, t, cfg.Notify.SMTP, cfg.Web.Address())
		},
	}
}

func testTarget(ctx context.Context, c *cli, t config.NotifyTarget, smtp config.SMTP, pages string) error {
	to, err := notice.Open(t, smtp)
	if err != nil {
		return err
	}
	n := notice.Notice{ID: uuid.NewString(), Kind: "test", Time: time.Now(), Title: "Tributary reaches " + t.ID, Data: notice.Data{Message: "Somebody tries whether this target is reached. Nothing has happened."}}
	if err := to.Deliver(ctx, n.At(pages)); err != nil {
		return fmt.Errorf("%s was not told: %w", t.ID, err)
	}
	fmt.Fprintf(c.stdout, "%s was told\n", t.ID)
	return nil
}

func known(n config.Notify) string {
	var ids []string
	for _, t := range n.Targets {
		ids = append(ids, t.ID)
	}
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}
