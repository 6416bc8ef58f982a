// Command demo shows the main job: a generated corpus of several centres,
// served over real SFTP and FTP, ingested by tributary up --once. It leaves
// everything in a folder, for looking around afterwards; on a terminal it serves
// the pages until Ctrl-C. With -live centres go on delivering meanwhile.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tributary/internal/screen"
	"tributary/test/corpus"
	"tributary/test/rig"
)

func main() {
	dir := flag.String("dir", "demo", "folder to leave everything in; it is made anew")
	binary := flag.String("binary", "bin/tributary", "the program")
	seed := flag.Uint64("seed", 1, "of the corpus")
	live := flag.Duration("live", 0, "after that, let centres deliver a fortnight in this time, such as 10m")
	flag.Parse()
	d := demo{binary: *binary, seed: *seed, live: *live, out: os.Stdout}
	d.stays = d.live > 0 || screen.On(screen.Of(os.Stdout)) != nil
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := d.run(ctx, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// marker is in every folder that the demo made, so that it removes no other.
const marker = ".tributary-demo"

// demo is one run of the program.
type demo struct {
	binary string // of tributary
	seed   uint64
	live   time.Duration // in which a fortnight passes; 0: nobody delivers any more
	stays  bool          // to serve the pages
	out    io.Writer
}

func (d demo) run(ctx context.Context, dir string) error {
	dir, err := reachable(dir)
	if err != nil {
		return err
	}
	dir, err = clean(dir)
	if err != nil {
		return err
	}
	c, err := corpus.Generate(corpus.Options{Seed: d.seed, Shape: corpus.Demo})
	if err != nil {
		return err
	}
	o, at := d.options(ctx)
	fmt.Fprintf(d.out, "serving %d zips of %d sources over SFTP and FTP on loopback\n", len(c.Oracle.Files), len(c.Sources))
	r, err := rig.Start(ctx, dir, c, o)
	if err != nil {
		return err
	}
	defer r.Stop()
	refused, err := intrude(dir)
	if err != nil {
		return err
	}
	// What each source may show comes first: one stands in for a centre without a
	// server, and some for a server that is damaged.
	for _, args := range [][]string{{"config", "check"}, {"up", "--once"}} {
		cmd := exec.CommandContext(ctx, d.binary, append(args, "--config", r.Config)...)
		cmd.Stdout, cmd.Stderr = d.out, os.Stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("tributary %s: %w", strings.Join(args, " "), err)
		}
	}
	fmt.Fprint(d.out, d.next(dir, refused, c))
	if !d.stays {
		return nil
	}
	return d.stay(ctx, r, at)
}

// reachable returns the folder, or one in the temporary directory where root
// works below a home that other users cannot enter: Postgres refuses to run as
// root, so it runs as another user and must get at its data.
func reachable(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil || os.Geteuid() != 0 {
		return dir, err
	}
	for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
		info, err := os.Stat(up)
		if err != nil {
			return "", err
		}
		if info.Mode().Perm()&0o001 == 0 {
			other := filepath.Join(os.TempDir(), "tributary-demo")
			fmt.Printf("as root, Postgres runs as another user, who cannot enter %s: the demo goes to %s\n", up, other)
			return other, nil
		}
		if up == filepath.Dir(up) {
			return dir, nil
		}
	}
}

func clean(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		if _, err := os.Stat(filepath.Join(dir, marker)); err != nil {
			return "", fmt.Errorf("%s is there and is not the demo's; name another folder with -dir", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, marker), nil, 0o644)
}

// intrude lets the centre H's server show a withdrawal of what the centre J has
// submitted, which is refused there, and returns its name.
func intrude(dir string) (name string, err error) {
	sources := filepath.Join(dir, "sources")
	submitted, err := filepath.Glob(filepath.Join(sources, "jax", "add", "J.*.zip"))
	if err != nil || len(submitted) == 0 {
		return "", fmt.Errorf("the centre J has submitted nothing: %v", err)
	}
	text, err := os.ReadFile(submitted[0])
	if err != nil {
		return "", err
	}
	name = "J.2024-09-09.01.impc.zip"
	withdrawals := filepath.Join(sources, "harwell", "delete")
	if err := os.MkdirAll(withdrawals, 0o755); err != nil {
		return "", err
	}
	return name, os.WriteFile(filepath.Join(withdrawals, name), text, 0o644)
}

// next names commands worth trying, one for a file that failed among them, and
// one for a file that its source may not show.
func (d demo) next(dir, refused string, c *corpus.Corpus) string {
	failed := ""
	for _, f := range c.Oracle.Files {
		if f.Status == "failed" && f.Phase == "xsd" {
			failed = f.File
			break
		}
	}
	servers, pages := "The servers have stopped; the data stays.", fmt.Sprintf("\n  %s up  # the pages, at the address that it shows", d.binary)
	if d.stays {
		servers, pages = "The servers stop with the demo; the data stays.", ""
	}
	return fmt.Sprintf(`
Everything is in %[2]s: sources/ (what was served), data/ (engines and files), tributary.yaml.
%[5]s Try:

  export TRIBUTARY_CONFIG=%[2]s/tributary.yaml%[6]s
  %[1]s status
  %[1]s files
  %[1]s show %[3]s
  %[1]s show %[4]s  # what H's server shows of the centre J, and may not
  %[1]s centres report J
  %[1]s centres report Biat  # whose files the centre Ics may show
  %[1]s documents -o json
  %[1]s sql --store warehouse 'SELECT centre, count(*) FROM warehouse.current_specimen GROUP BY 1 ORDER BY 1'
  %[1]s sql --store history 'SELECT stage, phase, status, count() FROM once GROUP BY ALL ORDER BY 1, 2, 3'
  %[1]s topics tail status.changed
`, d.binary, dir, failed, refused, servers, pages)
}
