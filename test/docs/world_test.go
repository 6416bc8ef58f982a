package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tributary/internal/engine/enginetest"
	"tributary/internal/engine/install"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// world is the installation on which the commands of the pages are executed: the
// demo's corpus, carried through once, and a running tributary up.
type world struct {
	t      *testing.T
	dir    string // where the commands run
	binary string
	config string
	begun  time.Time // before the first event
	ended  time.Time // after the last one of the first round

	position string // of the document that the pages trace a value to
}

// traced asks for the position that trace-a-value.md shows as 163: which one a
// document gets follows from when its batch is complete.
const traced = `tributary sql --store warehouse -o csv "SELECT DISTINCT position FROM current_measurement WHERE specimen_ids @> '{H-00001}' AND experiment_id = 'H_EXP_000006'"`

func setUp(t *testing.T) *world {
	t.Helper()
	found, err := install.Locate("")
	if err != nil {
		t.Fatalf("look for engines: %v", err)
	}
	if missing := found.Missing(); len(missing) > 0 {
		enginetest.Missing(t, fmt.Sprint(missing))
	}
	dir := openDir(t)
	w := &world{t: t, dir: filepath.Join(dir, "here"), binary: build(t, dir), begun: time.Now().Add(-time.Minute)}
	c, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Demo})
	if err != nil {
		t.Fatal(err)
	}
	r, err := rig.Start(t.Context(), dir, c, rig.Options{Local: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	w.config = r.Config
	w.furnish()
	if out, code := w.run("tributary up --once"); code != 0 {
		t.Fatalf("tributary up --once: exit code %d\n%s", code, out)
	}
	w.ended = time.Now()
	w.serve()
	out, code := w.run(traced)
	if code != 0 {
		t.Fatalf("%s: exit code %d\n%s", traced, code, out)
	}
	w.position = strings.TrimSpace(out[strings.Index(out, "\n"):])
	return w
}

// openDir is a directory that another user can enter, as the embedded Postgres is
// one when the tests run as root, with a path short enough for sockets.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "trib-d-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func build(t *testing.T, dir string) string {
	t.Helper()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(bin, "tributary")
	if given := os.Getenv("TRIBUTARY_BINARY"); given != "" {
		if err := os.Symlink(given, path); err != nil {
			t.Fatal(err)
		}
	} else if out, err := exec.Command("go", "build", "-o", path, "tributary/cmd/tributary").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// furnish puts into the commands' directory the files that pages name.
func (w *world) furnish() {
	w.t.Helper()
	repository, err := filepath.Abs(root)
	err = errors.Join(err,
		os.Mkdir(w.dir, 0o755),
		os.Symlink(filepath.Join(repository, "test"), filepath.Join(w.dir, "test")),
		os.WriteFile(filepath.Join(w.dir, "ann.password"), []byte("correct horse battery\n"), 0o600),
		os.WriteFile(filepath.Join(w.dir, "strains.csv"), []byte("strain_id,name\nMGI:2159965,C57BL/6N\nMGI:3028467,C57BL/6J\n"), 0o644))
	if err != nil {
		w.t.Fatal(err)
	}
	w.misspell("element", "profile.yaml", `quantity: "@quantity"
          model`, `quantity: "@amount"
          model`)
	w.misspell("column", "sql/checks/sensor_missing.sql", "left(o.station", "left(o.statoin")
}

// misspell makes misspelt/NAME, the weather profile with one mistake in it.
func (w *world) misspell(name, file, right, wrong string) {
	w.t.Helper()
	dir := filepath.Join(w.dir, "misspelt", name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "test", "profiles", "weather"))); err != nil {
		w.t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if !strings.Contains(string(text), right) {
		w.t.Fatalf("%s does not hold %q", path, right)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), right, wrong, 1)), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// shell is a command of the pages, as a person would type it.
func (w *world) shell(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", text)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(w.binary)+":"+os.Getenv("PATH"), "TRIBUTARY_CONFIG="+w.config)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second // children may hold the output open; they aren't waited for
	return cmd
}

// run executes a command and returns what it wrote to stdout, with what it wrote
// to stderr where it failed, and its exit code.
func (w *world) run(text string) (out string, code int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), wait.Patience())
	defer cancel()
	cmd := w.shell(ctx, text)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("%s: %v", text, err)
	}
	if err != nil {
		stdout.WriteString(stderr.String())
	}
	return stdout.String(), cmd.ProcessState.ExitCode()
}

// serve starts tributary up and stops it in order at the end of the test.
func (w *world) serve() {
	w.t.Helper()
	log, err := os.Create(filepath.Join(filepath.Dir(w.dir), "up.log"))
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := w.shell(context.WithoutCancel(w.t.Context()), "exec tributary up")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		over := time.AfterFunc(wait.Patience(), func() { _ = cmd.Process.Kill() })
		defer over.Stop()
		if err := cmd.Wait(); err != nil {
			text, _ := os.ReadFile(log.Name())
			w.t.Errorf("tributary up: %v\n%s", err, text[max(0, len(text)-4000):])
		}
		_ = log.Close()
	})
	// A question asked before the engines are announced would start its own.
	w.await("the engines of tributary up", func() bool {
		_, err := os.Stat(filepath.Join(filepath.Dir(w.dir), "data", "engines.json"))
		return err == nil
	})
}

// await waits until something is so, looking often.
func (w *world) await(what string, so func() bool) {
	w.t.Helper()
	over := time.NewTimer(wait.Patience())
	defer over.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-over.C:
			w.t.Fatalf("still waiting for %s after %s", what, wait.Patience())
		case <-tick.C:
		}
	}
}

// done waits until a replay has ended.
func (w *world) done(name string) {
	w.t.Helper()
	w.await("the replay "+name, func() bool {
		out, _ := w.run("tributary replay show " + name)
		return strings.Contains(out, "done")
	})
}
