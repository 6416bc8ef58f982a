package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/config"
)

func newHealthcheck(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask a running Tributary whether it is ready",
		Long:  "Ask the process that serves http.listen whether it is ready (or, with --live, alive) and say what is not. Exit code 0 if it is, 1 if not. For container health checks.",
		Args:  cobra.NoArgs,
	}
	live := cmd.Flags().Bool("live", false, "ask /livez instead of /readyz")
	address := cmd.Flags().String("address", "", "host:port (default http.listen)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		addr := *address
		if addr == "" {
			cfg, err := c.loadWith(config.Options{WithoutSourceSecrets: true})
			if err != nil {
				return err
			}
			if addr = cfg.HTTP.Listen; addr == "" {
				return usagef("http.listen is not set, so there is nobody to ask: set it, for example to 127.0.0.1:8080")
			}
		}
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return usagef("address %q: write host:port", addr)
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = "127.0.0.1"
		}
		path := "/readyz?verbose"
		if *live {
			path = "/livez?verbose"
		}
		req, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, "http://"+net.JoinHostPort(host, port)+path, nil)
		if err != nil {
			return fmt.Errorf("ask for health: %w", err)
		}
		client := &http.Client{Timeout: 5 * time.Second}
		resp, err := client.Do(req)
		if err != nil {
			return fmt.Errorf("nobody answers: %w", err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(c.stdout, io.LimitReader(resp.Body, 64<<10)); err != nil {
			return fmt.Errorf("ask for health: %w", err)
		}
		if resp.StatusCode != http.StatusOK {
			return errSilent
		}
		return nil
	}
	return cmd
}
