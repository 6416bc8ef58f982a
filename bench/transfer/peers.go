package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"tributary/test/servers"
)

// atOnce is how many files a peer fetches at once.
const atOnce = "8"

// peer is another program that fetches the files.
type peer struct {
	program string
	asks    []string // for its version
	env     []string
	args    func(dir string) []string
}

// version is what the program calls itself.
func (p peer) version(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, p.program, p.asks...).Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("the peer is missing: %w: make bench installs it where it runs as root", err)
	}
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return first, nil
}

func (p peer) run(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, p.program, p.args(dir)...)
	cmd.Env = append(os.Environ(), p.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%.2000s", err, out)
	}
	return nil
}

func lftp(server, set, path string) peer {
	return peer{program: "lftp", asks: []string{"--version"}, args: func(dir string) []string {
		return []string{"-e", fmt.Sprintf("%s; mirror --parallel=%s %s %s/files; quit", set, atOnce, path, dir), server}
	}}
}

func aria2(list string) peer {
	return peer{program: "aria2c", asks: []string{"--version"}, args: func(dir string) []string {
		return []string{"--no-conf", "--quiet", "--input-file=" + list, "--max-concurrent-downloads=" + atOnce, "--max-connection-per-server=" + atOnce, "--file-allocation=none", "--auto-save-interval=0", "--dir=" + dir}
	}}
}

func rclone(s *servers.VersityGW, path string) peer {
	return peer{
		program: "rclone", asks: []string{"version"},
		env: []string{"RCLONE_CONFIG=/dev/null", "AWS_CA_BUNDLE=", "RCLONE_S3_PROVIDER=Other", "RCLONE_S3_ENDPOINT=" + s.Endpoint(), "RCLONE_S3_ACCESS_KEY_ID=" + s.KeyID, "RCLONE_S3_SECRET_ACCESS_KEY=" + s.Secret, "RCLONE_S3_REGION=" + s.Region, "RCLONE_S3_FORCE_PATH_STYLE=true"},
		args: func(dir string) []string {
			return []string{"copy", "--transfers=" + atOnce, "--checkers=" + atOnce, ":s3:" + path, dir}
		},
	}
}
