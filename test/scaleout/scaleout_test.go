package scaleout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tributary/internal/engine/enginetest"
	"tributary/test/cluster"
	"tributary/test/corpus"
	"tributary/test/kafka"
	"tributary/test/rig"
)

// The page's lines make, of servers that demand TLS and passwords and allow
// nothing by themselves, a system in which a corpus comes to its end.
func TestScaleOut(t *testing.T) {
	binary := os.Getenv("TRIBUTARY_SCALE_OUT")
	if binary == "" {
		t.Skip("starts three brokers, Postgres and a process per role: make test-scale-out")
	}
	if _, err := kafka.Locate(); errors.Is(err, kafka.ErrMissing) {
		enginetest.Missing(t, "Apache Kafka")
	}
	dir := enginetest.Dir(t)
	for _, d := range []string{"var", "shared/blobs", "bin"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	certificate, key := certificate(t, filepath.Join(dir, "etc"))
	port := startPostgres(t, dir, certificate, key)
	brokers := startKafka(t, dir, certificate, key)
	if err := os.Symlink(binary, filepath.Join(dir, "bin", "tributary")); err != nil {
		t.Fatal(err)
	}
	made, sources := corpusSources(t, dir)
	// What stands on the page for places and for what one has oneself.
	here := strings.NewReplacer(
		"kafka1.example.org:9092", brokers[0],
		"-h db.example.org", "-h localhost -p "+port,
		"db.example.org/", "localhost:"+port+"/",
		"/etc/tributary", filepath.Join(dir, "etc"),
		"/var/lib/tributary", filepath.Join(dir, "var"),
		"/shared/tributary", filepath.Join(dir, "shared"),
		"sources: []\n", cluster.Lively+sources,
		"http:\n  listen: 127.0.0.1:8080", "http:\n  listen: 127.0.0.1:"+freePort(t),
	)
	w := &world{t: t, dir: dir}
	all, roles := blocks(t)
	for _, b := range all {
		text := here.Replace(b.text)
		if b.language == "yaml" {
			write(t, filepath.Join(dir, "etc", "tributary.yaml"), withoutClickHouse(text), 0o644)
			continue
		}
		if out, err := w.shell(text).CombinedOutput(); err != nil {
			t.Fatalf("%v:\n%s\n%s", err, text, out)
		}
	}
	// There is no ClickHouse: the page has the embedded one in its place.
	begin(t, w.shell("exec tributary engines"), filepath.Join(dir, "engines.log"), syscall.SIGTERM)
	await(t, "the engines", func(context.Context) error {
		_, err := os.Stat(filepath.Join(dir, "var", "engines.json"))
		return err
	})
	at := map[string]string{} // where roles tell of their health
	for _, role := range roles {
		listen := "127.0.0.1:" + freePort(t)
		at[role] = listen
		begin(t, w.shell("TRIBUTARY_CFG_POSTGRES_MAX_CONNECTIONS=4 TRIBUTARY_CFG_HTTP_LISTEN="+listen+" exec tributary run "+role), filepath.Join(dir, role+".log"), syscall.SIGTERM)
		await(t, role, func(context.Context) error { return w.asked("tributary healthcheck --address " + listen) })
	}
	var want []string
	for _, f := range made.Oracle.Files {
		want = append(want, f.Action+"/"+f.File+" "+f.Phase+", "+f.Status)
	}
	slices.Sort(want)
	await(t, "the corpus's end", func(context.Context) error {
		out, err := w.shell(`tributary sql --store tracker -o csv "SELECT action || '/' || file || ' ' || phase || ', ' || status AS state FROM tracker.file" | tail -n +2 | tr -d '"'`).Output()
		if err != nil {
			return err
		}
		got := strings.Split(strings.TrimSpace(string(out)), "\n")
		slices.Sort(got)
		if !slices.Equal(want, got) {
			return fmt.Errorf("%d files want\n%s\ngot\n%s", len(want), strings.Join(want, "\n"), strings.Join(got, "\n"))
		}
		return nil
	})
	await(t, "the history", func(context.Context) error {
		return w.asked(`test "$(tributary sql --store history -o csv 'SELECT count() > 0 AS some FROM event' | tail -n 1)" = 1`)
	})
	rightsAreMissed(w, brokers[0], at["unzip"], made.Sources[0])
}

// rightsAreMissed takes away a right to write and one to take part in a group. The
// role that needs it is not ready, names it and waits: nothing is set aside, and it
// goes on once the right is given back.
func rightsAreMissed(w *world, broker, listen string, from corpus.Source) {
	w.t.Helper()
	const file = "2026-12-30.1.impc.zip"
	for _, right := range []struct{ operation, kind, name, said string }{
		{"Write", "topic", "tributary.unzip.finished.v1", "the right to Write the topic tributary.unzip.finished.v1 is missing (grant what tributary topics acl prints)"},
		{"Read", "group", "tributary.unzip", "the right to Read the group tributary.unzip is missing (grant what tributary topics acl prints)"},
	} {
		change := func(how string) {
			w.t.Helper()
			line := fmt.Sprintf("kafka-acls.sh --bootstrap-server %s --command-config admin.properties %s --allow-principal User:tributary --operation %s --%s %s", broker, how, right.operation, right.kind, right.name)
			if out, err := w.shell(line).CombinedOutput(); err != nil {
				w.t.Fatalf("%s: %v\n%s", line, err, out)
			}
		}
		change("--remove --force")
		// There is work for the role that needs it.
		write(w.t, filepath.Join(w.dir, "partners", "sources", from.ID, "add", from.Centre+"."+file), "no archive", 0o644)
		await(w.t, right.said, func(context.Context) error {
			out, err := w.shell("tributary healthcheck --address " + listen).CombinedOutput()
			if err == nil || !strings.Contains(string(out), right.said) {
				return fmt.Errorf("the role says:\n%s", out)
			}
			return nil
		})
		change("--add")
		await(w.t, "the role goes on", func(context.Context) error { return w.asked("tributary healthcheck --address " + listen) })
	}
	await(w.t, "the file's end", func(context.Context) error {
		return w.asked(`tributary sql --store tracker -o csv "SELECT status FROM tracker.file WHERE file LIKE '%` + file + `'" | grep -x failed`)
	})
	if out, err := w.shell("tributary dlq list").CombinedOutput(); err != nil || strings.Contains(string(out), "unzip:") {
		w.t.Errorf("what was set aside: %v\n%s", err, out)
	}
}

// world is where the page's lines are executed.
type world struct {
	t   *testing.T
	dir string
}

func (w *world) shell(text string) *exec.Cmd {
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", text)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(w.dir, "bin")+":"+os.Getenv("PATH"), "TRIBUTARY_CONFIG="+filepath.Join(w.dir, "etc", "tributary.yaml"), "PGPASSWORD="+administrator)
	return cmd
}

// asked executes a command that is expected to fail for a while.
func (w *world) asked(text string) error {
	if out, err := w.shell(text).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", text, err, out)
	}
	return nil
}

// withoutClickHouse leaves out the address of ClickHouse.
func withoutClickHouse(text string) string {
	lines := strings.Split(text, "\n")
	at := slices.Index(lines, "clickhouse:")
	return strings.Join(slices.Delete(lines, at, at+2), "\n")
}

// corpusSources writes a corpus and returns the configuration of its sources.
func corpusSources(t *testing.T, dir string) (*corpus.Corpus, string) {
	t.Helper()
	made, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Small})
	if err != nil {
		t.Fatal(err)
	}
	r, err := rig.Start(t.Context(), filepath.Join(dir, "partners"), made, rig.Options{Local: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	text, err := os.ReadFile(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	return made, string(text[strings.Index(string(text), "sources:\n"):])
}
