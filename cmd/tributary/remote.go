package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tributary/queries/report"
	"tributary/web/client"
)

// envToken is the variable that has the token for --server.
const envToken = "TRIBUTARY_TOKEN"

// maxToken bounds the file of a token, in bytes.
const maxToken = 4 << 10

// serverFlags are those of a command that can ask a server in place of the stores.
type serverFlags struct {
	server, tokenFile, caFile string
}

func addServerFlags(cmd *cobra.Command) *serverFlags {
	f := &serverFlags{}
	cmd.Flags().StringVar(&f.server, "server", "", "ask the Tributary whose pages are at this address, such as https://tracker.example.org, in place of the stores; needs no configuration")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "with --server: the file with the token (default: that in "+envToken+")")
	cmd.Flags().StringVar(&f.caFile, "ca-file", "", "with --server: certificates in PEM to trust besides the system's")
	return f
}

// given tells whether a server is to be asked.
func (f *serverFlags) given() bool { return f.server != "" || f.tokenFile != "" || f.caFile != "" }

// askServer asks the server that was named, about the past where a moment is given.
func (c *cli) askServer(f *serverFlags, past *pastFlags, ask func(*client.Client) error) error {
	if f.server == "" {
		return usagef("--token-file and --ca-file go with --server")
	}
	token, err := c.token(f.tokenFile)
	if err != nil {
		return usage(err)
	}
	r, err := client.New(client.Config{Server: f.server, Token: token, CAFile: f.caFile, Version: version()})
	if err != nil {
		return usage(fmt.Errorf("--server: %w", err))
	}
	defer r.Close()
	if r, err = past.ofServer(c, r); err != nil {
		return err
	}
	return asServer(ask(r))
}

// asServer is bad usage where a server says that what was asked can't be so.
func asServer(err error) error {
	var told *client.Error
	if errors.As(err, &told) && (strings.HasPrefix(told.Name, "unknown_") || told.Name == "bad_filter" || told.Status == 422 && told.Name != "past_too_large") {
		return usage(err)
	}
	return err
}

// token is the one of a file, or of the environment.
func (c *cli) token(file string) (string, error) {
	if file == "" {
		for _, kv := range slices.Backward(c.env) {
			if v, ok := strings.CutPrefix(kv, envToken+"="); ok && v != "" {
				return v, nil
			}
		}
		return "", errors.New("--server needs a token: put it into " + envToken + ", or into a file and name that with --token-file (tributary tokens add makes one, on the server)")
	}
	return readSecret("--token-file", file)
}

// readSecret reads the secret of the file that a flag names.
func readSecret(flag, file string) (string, error) {
	in, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxToken))
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// listServer writes the rows that a server lists.
func listServer[T row](ctx context.Context, c *cli, f *serverFlags, past *pastFlags, format string, header []string, list func(ctx context.Context, r *client.Client, each func(T) error) error) error {
	return c.askServer(f, past, func(r *client.Client) error {
		at := r.Moment()
		dated := at != "" && (format == report.CSV || format == report.EscapedCSV)
		if dated {
			header = append(header, "as_of")
		}
		return c.list(format, header, func(row func(any, ...string) error) error {
			return list(ctx, r, func(v T) error {
				cells := v.Cells()
				if dated {
					cells = append(cells, at)
				}
				return row(v, cells...)
			})
		})
	})
}

// listServerBy writes the rows that a server lists and a filter lets pass.
func listServerBy[T row](ctx context.Context, c *cli, f *serverFlags, past *pastFlags, by report.Filter, format string, header []string, list func(r *client.Client, ctx context.Context, by report.Filter, each func(T) error) error) error {
	return listServer(ctx, c, f, past, format, header, func(ctx context.Context, r *client.Client, each func(T) error) error { return list(r, ctx, by, each) })
}

// badOrder is bad usage where a server says that an order can't be read.
func badOrder(err error) error {
	if told := (*client.Error)(nil); errors.As(err, &told) && told.Name == "bad_order" {
		return usage(err)
	}
	return err
}
