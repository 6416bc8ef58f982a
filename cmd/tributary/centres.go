package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/screen"
	"tributary/producers/sources"
	"tributary/queries/report"
	"tributary/web/client"
	"tributary/web/order"
)

func newCentres(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "centres", Short: "List centres and how their files stand", Args: knownCommand}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if server.given() {
			return listServer(cmd.Context(), c, server, nil, *output, report.CentreHeader(), func(ctx context.Context, r *client.Client, each func(report.Centre) error) error {
				return r.Centres(ctx, each)
			})
		}
		return listTracker(cmd.Context(), c, *output, report.CentreHeader(), report.Centres)
	}
	cmd.AddCommand(newCentresAdd(c), newCentresApply(c), newCentresEdit(c), newCentresExport(c), newCentresFind(c), newCentresLink(c), newCentresLinks(c), newCentresRemove(c), newCentresReport(c), newCentresShow(c), newCentresUnlink(c))
	return cmd
}

func newCentresFind(c *cli) *cobra.Command {
	return finder(c, &cobra.Command{
		Use: "find TEXT …", Short: "List the centres whose short or full name has a text in it",
		Long: "List the centres of which the short name or the full name contains each of the texts; capitals don't matter.",
		Args: cobra.MinimumNArgs(1),
	}, report.CentreHeader(), report.Centres, (*client.Client).Centres)
}

func newCentresShow(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show CENTRE", Short: "Show how a centre is defined, and by whom",
		Args: cobra.ExactArgs(1),
	}
	output, server := outputFlag(cmd, "text", report.JSON), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				is, err := centreByServer(cmd.Context(), r, args[0])
				if err != nil {
					return err
				}
				return c.showCentre(*output, is)
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			all, err := knownCentres(cmd.Context(), s, args)
			if err != nil {
				return err
			}
			return c.showCentre(*output, all[0])
		})
	}
	return cmd
}

// showCentre tells how a centre is defined.
func (c *cli) showCentre(output string, is centres.Centre) error {
	return c.tell(output, map[string]any{"short_name": is.ShortName, "full_name": is.FullName, "email": is.Email, "phone": is.Phone, "address": is.Address,
		"imits_name": is.IMITSName, "active": is.Active, "defined_by": is.By()}, func(w io.Writer) error {
		text, err := config.CentresYAML([]config.Centre{is.Listed()})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s is %s\n%s", is.ShortName, centreDefiner(is), screen.Text(string(text)))
		return err
	})
}

// centreByServer is how a server's centre is defined.
func centreByServer(ctx context.Context, r *client.Client, name string) (is centres.Centre, err error) {
	d, err := r.Definition(ctx, order.Centres, name)
	if bad := (*client.Error)(nil); errors.As(err, &bad) && bad.Name == "no_such_centre" {
		return is, usage(err)
	}
	if err != nil {
		return is, err
	}
	var listed config.Centre
	if err := yaml.Unmarshal(d.Definition, &listed); err != nil {
		return is, fmt.Errorf("the server's definition of %s: %w", name, err)
	}
	is = centres.Of(listed)
	is.DefinedBy = d.By
	return is, nil
}

// centreDefiner says who defines a centre.
func centreDefiner(c centres.Centre) string {
	switch c.By() {
	case centres.ByProfile:
		return "brought along by the profile; people may define it (tributary centres edit)"
	case centres.ByPerson:
		return "defined by a person (tributary centres edit)"
	}
	return "listed by the configuration"
}

func newCentresExport(c *cli) *cobra.Command {
	return c.exporter(&cobra.Command{
		Use: "export [CENTRE …]", Short: "Write centres as a file that the configuration or apply reads",
		Long: "Write how all centres (or those named) are defined now, as YAML below centres: for the configuration, or for tributary\n" +
			"centres apply.",
		Args: cobra.ArbitraryArgs,
	}, order.Centres, sources.ExportCentres)
}

// knownCentres are those that control has, by short name, or those named of them.
func knownCentres(ctx context.Context, s *stores, names []string) ([]centres.Centre, error) {
	all, err := sources.PresentCentres(ctx, s.Control, names)
	if sources.Refused(err) {
		return nil, usage(err)
	}
	return all, err
}
