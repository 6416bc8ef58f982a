package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/topics"
)

// principalForm is what fits into a line of a shell unquoted: nobody's name may
// become a command.
var principalForm = regexp.MustCompile(`^User:[A-Za-z0-9._@/=,+-]+$`)

func newTopicsACL(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "acl [ROLE…]",
		Short: "Print the access control lists that roles need on Apache Kafka",
		Long: "Print, as lines for kafka-acls.sh, what the given roles may do on the brokers and nothing else; without a role, what all\n" +
			"of them and the commands that people run need, each line once. Nothing is connected to. Let whoever administers the brokers read the\n" +
			"lines and run them: the output is a script.\n\n" +
			"  tributary topics acl | sh                                            # one user for everything\n" +
			"  tributary topics acl download --principal User:tributary-download    # a user of its own for a role",
	}
	principal := cmd.Flags().String("principal", "User:tributary", "who is allowed, such as User:tributary or User:CN=tributary,O=example")
	properties := cmd.Flags().String("command-config", "admin.properties", "file with which kafka-acls.sh logs in; empty: it need not")
	cmd.RunE = func(_ *cobra.Command, roles []string) error {
		if !principalForm.MatchString(*principal) {
			return usagef("--principal %q: write User: and the name of a user, without blanks or quotes", *principal)
		}
		if strings.ContainsAny(*properties, "'\n\\") {
			return usagef("--command-config %q: a file's name with quotes, backslashes or line ends can't be written into a script", *properties)
		}
		cfg, err := c.loadWith(config.Options{WithoutSourceSecrets: true})
		if err != nil {
			return err
		}
		if len(cfg.Kafka.BootstrapServers) == 0 {
			return usagef("kafka.bootstrap_servers is not set, and the embedded broker has no access control lists: set it to the brokers' addresses")
		}
		all, err := topics.Accesses(cfg.Kafka.TopicPrefix, roles...)
		if err != nil {
			return usage(err)
		}
		tool := "kafka-acls.sh --bootstrap-server " + strings.Join(cfg.Kafka.BootstrapServers, ",")
		if *properties != "" {
			tool += " --command-config '" + *properties + "'"
		}
		printed, role := map[string]bool{}, ""
		for _, a := range all {
			line := tool + " " + a.Arguments(*principal)
			if printed[line] {
				continue
			}
			printed[line] = true
			if a.Role != role {
				role = a.Role
				fmt.Fprintln(c.stdout, "# "+role)
			}
			fmt.Fprintln(c.stdout, line)
		}
		return nil
	}
	return cmd
}
