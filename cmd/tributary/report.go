package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tributary/queries/columnar"
	"tributary/queries/plot"
	"tributary/queries/recipe"
	"tributary/queries/report"
	"tributary/sql/history/recipes"
	"tributary/web/client"
)

func newReport(c *cli) *cobra.Command {
	all, broken := recipes.All()
	cmd := &cobra.Command{
		Use:   "report [NAME]",
		Short: "Answer a question about the history",
		Long: "Without NAME, list the questions. With it, answer one from the history; what is asked, what counts and what the\n" +
			"columns mean is in docs/reference/recipes.md, and report NAME --explain prints it, with the statement.\n" +
			"Nothing is written, and time and memory are limited.\n\n" +
			"A time is RFC 3339, a date (midnight UTC), or how long ago, such as 24h or 7d; --until is not included.\n" +
			"--plot draws the answer in the terminal instead, --plot=FILE.svg or --plot=FILE.png in a file.",
		Args: reportArgs,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, r := range all {
				if len(args) == 0 {
					names = append(names, r.Name+"\t"+r.Question)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	output := outputFlag(cmd, report.Formats()...)
	timeout, server := timeoutFlag(cmd), addServerFlags(cmd)
	picture := cmd.Flags().String("plot", "", "draw it: in the terminal, or with =FILE.svg or =FILE.png in a file")
	cmd.Flags().Lookup("plot").NoOptDefVal = inTerminal
	explain := cmd.Flags().Bool("explain", false, "say what NAME asks and how, instead of answering it")
	parameters := parameterFlags(cmd, all)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkTimeout(*timeout); err != nil {
			return err
		}
		given := map[string]string{}
		for _, name := range parameters {
			if f := cmd.Flags().Lookup(name); f.Changed {
				given[name] = f.Value.String()
			}
		}
		if broken != nil {
			return broken
		}
		if server.given() && (cmd.Flags().Changed("timeout") || *explain) {
			return usagef("--timeout and --explain go without --server, which has a limit of its own")
		}
		if len(args) == 0 {
			if len(given) > 0 || *picture != "" || *explain {
				return usagef("say which report: tributary report lists them")
			}
			if server.given() {
				return c.askServer(server, nil, func(r *client.Client) error {
					return c.listRecipes(*output, func(each func(name, question string) error) error { return r.Recipes(cmd.Context(), each) })
				})
			}
			return c.listRecipes(*output, func(each func(name, question string) error) error {
				for _, r := range all {
					if err := each(r.Name, r.Question); err != nil {
						return err
					}
				}
				return nil
			})
		}
		r, err := recipe.Find(all, args[0])
		if err != nil {
			return usage(err)
		}
		if *explain {
			return recipe.Explain(c.stdout, r)
		}
		values, err := recipe.Values(r, given, time.Now())
		if err != nil {
			return usage(err)
		}
		if *picture != "" && cmd.Flags().Changed("output") {
			return usagef("say -o or --plot: the answer is written or drawn, not both")
		}
		if err := checkPicture(r, *picture); err != nil {
			return err
		}
		if server.given() {
			return c.askServer(server, nil, func(asked *client.Client) error {
				return c.tellRecipe(r, *picture, *output, func(w io.Writer, format string) error {
					return asked.Recipe(cmd.Context(), r.Name, given, w, format)
				})
			})
		}
		return c.open(cmd.Context(), need{ClickHouse: true}, func(s *stores) error {
			store := report.ClickHouse{Conn: s.ClickHouse, Timeout: *timeout, MaxMemory: int64(s.cfg.ClickHouse.MaxMemory), Parameters: values}
			if err := store.Known(cmd.Context(), given["centre"], given["source"]); err != nil {
				return err
			}
			return c.tellRecipe(r, *picture, *output, func(w io.Writer, format string) error {
				return columnar.SQL(cmd.Context(), store, r.Statement, w, format)
			})
		})
	}
	return cmd
}

// tellRecipe writes the answer to a recipe, or draws it where a picture is named.
func (c *cli) tellRecipe(r recipes.Recipe, picture, output string, ask func(w io.Writer, format string) error) error {
	if picture == "" {
		return ask(c.stdout, output)
	}
	var answer bounded
	if err := ask(&answer, report.JSON); err != nil {
		return err
	}
	return c.drawRecipe(r, answer.Bytes(), picture)
}

// reportArgs allows one name, and says how a picture's file is named.
func reportArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 2 {
		if _, err := plot.Format(args[1]); err == nil {
			return fmt.Errorf("write the picture's file behind an equals sign: --plot=%s", args[1])
		}
	}
	return cobra.MaximumNArgs(1)(cmd, args)
}

// parameterFlags adds a flag for every parameter that a recipe has, and
// returns their names. Defaults are the recipes', since they may differ.
func parameterFlags(cmd *cobra.Command, all []recipes.Recipe) []string {
	usages := map[string]string{
		"since": "not before this time", "until": "before this time", "centre": "the producing centre, capitals don't matter", "source": "the source's id",
	}
	var names []string
	for _, r := range all {
		for _, p := range r.Parameters {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
			if p.Kind == recipes.Moment || p.Name == "centre" || p.Name == "source" {
				continue
			}
			text := r.Name + ": "
			if p.Kind == recipes.Choice {
				text += strings.Join(p.Choices, ", ") + "; "
			}
			text += p.Meaning
			if p.Default != "" {
				text += " (default " + p.Default + ")"
			}
			usages[p.Name] = strings.TrimPrefix(usages[p.Name]+". "+text, ". ")
		}
	}
	slices.Sort(names)
	for _, name := range names {
		cmd.Flags().String(name, "", usages[name])
	}
	return names
}

// listRecipes writes the names of the recipes and what they ask.
func (c *cli) listRecipes(format string, all func(each func(name, question string) error) error) error {
	type line struct {
		Name     string `json:"name"`
		Question string `json:"question"`
	}
	return c.list(format, []string{"name", "question"}, func(row func(any, ...string) error) error {
		return all(func(name, question string) error { return row(line{name, question}, name, question) })
	})
}
