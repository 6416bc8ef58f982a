// Command bench times the whole pipeline beside the shell pipeline that a user
// would write: lftp mirror, unzip and xmllint, without a database. Both fetch
// the same files from the same real OpenSSH servers, in turn, and the line at
// the end gives the medians of all rounds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tributary/test/corpus"
	"tributary/test/rig"
)

func main() {
	var b bench
	flag.StringVar(&b.binary, "binary", "bin/tributary", "the program")
	flag.StringVar(&b.dir, "dir", "", "folder to work in (default a temporary one, removed afterwards)")
	flag.IntVar(&b.zips, "zips", 2000, "zips of three documents")
	flag.IntVar(&b.rounds, "rounds", 5, "runs of each")
	flag.IntVar(&b.statements, "cost", 0, "run ours once and no peer, and tell what it costs: the processor's time, and statements and bytes of the log of Postgres; list so many of its statements")
	flag.StringVar(&b.extra, "config", "", "YAML to add to the configuration; none: the default settings")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	binary, dir, extra string
	zips, rounds       int
	statements         int
}

func (b *bench) run(ctx context.Context) error {
	for _, tool := range []string{"lftp", "unzip", "xmllint"} {
		if b.statements > 0 {
			break // there is no peer
		}
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("the peer needs %s: install lftp, unzip and libxml2-utils", tool)
		}
	}
	binary, err := filepath.Abs(b.binary)
	if err != nil {
		return err
	}
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "tributary-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
		if err := os.Chmod(b.dir, 0o755); err != nil { // another user runs the embedded Postgres
			return err
		}
	}
	c, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Bench, Zips: b.zips})
	if err != nil {
		return err
	}
	if b.statements > 0 {
		return b.cost(ctx, binary, b.dir, c)
	}
	var ours, peer, ratios []float64
	for i := range b.rounds {
		dir := filepath.Join(b.dir, fmt.Sprint(i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		r, err := rig.Start(ctx, dir, c, rig.Options{Extra: b.extra})
		if err != nil {
			return err
		}
		o, used, err := timeOurs(ctx, binary, r)
		if err == nil {
			var p time.Duration
			p, err = timePeer(ctx, r)
			ratio := p.Seconds() / o.Seconds()
			ours, peer, ratios = append(ours, o.Seconds()), append(peer, p.Seconds()), append(ratios, ratio)
			fmt.Printf("round %d: ours %.2f s (%.2f s of CPU, engines included), peer %.2f s, ratio %.2f\n", i+1, o.Seconds(), used.Seconds(), p.Seconds(), ratio)
		}
		r.Stop()
		if err != nil {
			return err
		}
	}
	// The ratio is taken round by round: both meet the same machine, whose
	// speed changes from one minute to the next.
	fmt.Printf("bench pipeline ours=%.2fs peer=%.2fs ratio=%.2f\n", median(ours), median(peer), median(ratios))
	return nil
}

func median(v []float64) float64 {
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// timeOurs times one session over the whole corpus: the process from start to
// exit, engines included, tracker and history read to the log's end. Only the
// making of an empty data directory is done before.
func timeOurs(ctx context.Context, binary string, r *rig.Rig) (wall, cpu time.Duration, err error) {
	if err := warm(ctx, binary, r.Config); err != nil {
		return 0, 0, err
	}
	return once(ctx, binary, r)
}

// once runs one session to its end.
func once(ctx context.Context, binary string, r *rig.Rig) (wall, cpu time.Duration, err error) {
	start := time.Now()
	cmd := exec.CommandContext(ctx, binary, "up", "--once", "--config", r.Config, "--log-level", "warn")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("tributary up --once: %w", err)
	}
	return time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// warm makes the data directory with a session over no sources.
func warm(ctx context.Context, binary, config string) error {
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	head, _, _ := strings.Cut(string(text), "\nsources:\n")
	empty := filepath.Join(filepath.Dir(config), "empty.yaml")
	if err := os.WriteFile(empty, []byte(head+"\n"), 0o644); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, binary, "up", "--once", "--config", empty, "--log-level", "error").CombinedOutput()
	if err != nil {
		return fmt.Errorf("make the data directory: %w\n%s", err, out)
	}
	return nil
}

// timePeer times the shell pipeline.
func timePeer(ctx context.Context, r *rig.Rig) (time.Duration, error) {
	dir := filepath.Join(r.Dir, "peer")
	xsd, err := filepath.Abs("schemas/impc/xsd")
	if err != nil {
		return 0, err
	}
	var mirror strings.Builder
	for _, s := range r.Mirrors() {
		fmt.Fprintf(&mirror, "lftp -e %q %s\n", fmt.Sprintf("set sftp:auto-confirm yes; set sftp:connect-program 'ssh -a -x -i %s -o UserKnownHostsFile=%s'; mirror --parallel=8 %s %s/zips/%s; quit", s.Identity, s.KnownHosts, s.Path, dir, s.ID), s.Server)
	}
	script := fmt.Sprintf(`set -e
mkdir -p %[1]s/zips
%[2]sfind %[1]s/zips -name '*.zip' -print0 | xargs -0 -P2 -I{} unzip -q {} -d {}.d
find %[1]s/zips -name '*.specimen.impc.xml' -print0 | xargs -0 -P2 -n 1000 xmllint --noout --stream --schema %[3]s/specimen.xsd >%[1]s/valid1 2>&1 || true
find %[1]s/zips -name '*.experiment.impc.xml' -print0 | xargs -0 -P2 -n 1000 xmllint --noout --stream --schema %[3]s/experiment.xsd >%[1]s/valid2 2>&1 || true
test $(cat %[1]s/valid1 %[1]s/valid2 | grep -c validates) -eq $(find %[1]s/zips -name '*.xml' | wc -l)
`, dir, mirror.String(), xsd)
	start := time.Now()
	out, err := exec.CommandContext(ctx, "bash", "-c", script).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("the peer failed: %w\n%s", err, out)
	}
	return time.Since(start), nil
}
