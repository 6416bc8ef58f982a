package hostile

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/ssh"

	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/servers"
	"tributary/test/wait"
)

// world is one installation: a good corpus on good servers, hostile servers
// beside them, a configuration and the data that becomes of it.
type world struct {
	t       testing.TB
	binary  string
	dir     string
	rig     *rig.Rig
	good    string // the configuration without hostile sources
	hostile []*server
	started int
}

// settings are those of the programs under test: waits are short, so that a run takes
// seconds, but for those for good servers, which a busy machine makes late; and listings,
// so that they don't keep two cores busy.
func settings() string { return fmt.Sprintf(template, 5000, newer()) }

// unbounded are the settings with the default for the length of listings.
func unbounded() string { return fmt.Sprintf(template, 5_000_000, newer()) }

const template = `
schedule: {interval: 5s, tick: 200ms, jitter: 0}
poll: {settle: 0s, attempts: 1, timeout: 20s, parallelism: 16, max_entries: %d}
plan: {attempts: 1, backoff: 100ms, backoff_max: 1s}
download: {%s}
sequence: {poll_cutoff: 5s, release_limit: 10s, late_limit: 1s, interval: 200ms}
tracker: {wait: 200ms}
history: {wait: 200ms}
`

// newer are keys of the section download that programs before don't know.
func newer() string {
	var known []string
	for _, k := range [][2]string{{"rate_grace", "3s"}, {"detach_after", "2s"}, {"job_budget", "20s"}} {
		if knows(k[0]) {
			known = append(known, k[0]+": "+k[1])
		}
	}
	return strings.Join(known, ", ")
}

// setUp makes an installation with zips good files; yaml is added to its
// configuration.
func setUp(t testing.TB, zips int, yaml string) *world {
	t.Helper()
	w := &world{t: t, binary: program(t), dir: openDir(t)}
	c, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Bench, Zips: zips})
	if err != nil {
		t.Fatal(err)
	}
	if yaml == "" {
		yaml = settings()
	}
	w.rig, err = rig.Start(t.Context(), w.dir, c, rig.Options{Counted: true, Extra: yaml})
	servers.Need(t, err)
	t.Cleanup(w.rig.Stop)
	text, err := os.ReadFile(w.rig.Config)
	if err != nil {
		t.Fatal(err)
	}
	w.good = string(text)
	if err := os.WriteFile(filepath.Join(w.dir, "password"), []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(yaml, "blobs:") {
		return w // its blobs don't lie where another has begun
	}
	if err := beginning.Copy(w.binary, filepath.Join(w.dir, "data")); err != nil {
		t.Fatal(err)
	}
	return w
}

// openDir is a directory that another user can enter, since an embedded Postgres
// is one when the tests run as root. Its path is short, as paths of sockets must
// be.
func openDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "trib-h-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && os.Getenv("TRIBUTARY_KEEP") != "" {
			t.Logf("what the test left is in %s", dir)
			return
		}
		// Engines that were killed may still be going down.
		if last := await(wait.Patience(), func() string { return said(os.RemoveAll(dir)) }); last != "" {
			t.Error(last)
		}
	})
	return dir
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// archive is a zip with one document that no schema accepts, and size bytes in
// all at least.
func archive(size int) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.CreateHeader(&zip.FileHeader{Name: "J.2023-01-01.1.specimen.impc.xml", Method: zip.Store})
	if err == nil {
		_, err = fmt.Fprintf(f, "<x>%s</x>", strings.Repeat(" ", size))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// add starts a hostile server and makes it a source of the configuration.
func (w *world) add(protocol string, k kind, step string, seed uint64) *server {
	w.t.Helper()
	return w.addAt(nil, protocol, k, step, seed)
}

// addAt adds one at the end of a link.
func (w *world) addAt(over *link, protocol string, k kind, step string, seed uint64) *server {
	w.t.Helper()
	n := len(w.hostile) + 1
	s := &server{kind: k, protocol: protocol, step: step, seed: seed, link: over, file: onJ(1+n%28, n), zip: archive(k.size)}
	var err error
	switch protocol {
	case "ftp":
		err = s.listen(talkFTP(s))
	case "http":
		err = s.listen(talkHTTP(s))
	case "s3":
		err = s.listen(talkS3(s))
	default:
		var key ssh.Signer
		if key, err = hostKey(seed); err == nil {
			err = s.listen(talkSFTP(s, key))
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(s.stop)
	w.hostile = append(w.hostile, s)
	return s
}

// secret is what logs in to hostile servers.
const secret = "reader"

// source is the id of a hostile source.
func (w *world) source(s *server) string {
	for i, other := range w.hostile {
		if s == other {
			return fmt.Sprintf("x%03d", i+1)
		}
	}
	w.t.Fatal("no such source")
	return ""
}

// configure writes the configuration, with the hostile sources or without.
func (w *world) configure(hostile bool) {
	w.t.Helper()
	text := w.good
	for i, s := range w.hostile {
		if !hostile {
			break
		}
		text += fmt.Sprintf("  - id: x%03d\n    centre: J\n    interval: 30s\n    password: file:%s\n", i+1, filepath.Join(w.dir, "password"))
		if s.late() {
			text += "    connect_timeout: 5s\n    idle_timeout: 4s\n"
		}
		switch s.protocol {
		case "sftp":
			key, err := hostKey(s.seed)
			if err != nil {
				w.t.Fatal(err)
			}
			text += fmt.Sprintf("    url: sftp://reader@%s/\n    host_key: ['%s']\n", s.address(), ssh.FingerprintSHA256(key.PublicKey()))
		case "http":
			text += fmt.Sprintf("    url: http://reader@%s/\n    webdav: %v\n", s.address(), s.http == byDAV)
			if s.http == byFeed {
				text += "    feed: feed.xml\n"
			}
		case "s3":
			text += fmt.Sprintf("    url: s3://AKIAREADER@bucket/\n    endpoint: http://%s\n", s.address())
		default:
			text += fmt.Sprintf("    url: ftp://reader@%s/\n    disable_epsv: %v\n", s.address(), s.passive)
		}
	}
	if err := os.WriteFile(w.rig.Config, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// up starts tributary up and waits until its stores answer.
func (w *world) up() *process {
	w.t.Helper()
	p := w.start("up")
	go p.guard()
	w.must(func() string {
		if p.ended() {
			w.t.Fatalf("tributary up ended\n%s", p.tail())
		}
		return said(w.store(func(context.Context, *pgx.Conn) error { return nil }))
	})
	return p
}

// endpoints is what the program says of its engines.
func (w *world) endpoints() (e struct {
	Kafka    []string
	Postgres string
}, err error) {
	b, err := os.ReadFile(filepath.Join(w.dir, "data", "engines.json"))
	if err != nil {
		return e, err
	}
	return e, json.Unmarshal(b, &e)
}

// store asks the embedded Postgres.
func (w *world) store(ask func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience())
	defer cancel()
	at, err := w.endpoints()
	if err != nil {
		return err
	}
	c, err := pgx.Connect(ctx, at.Postgres)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	return ask(ctx, c)
}

// rows asks for rows of texts, joined by blanks.
func (w *world) rows(sql string, args ...any) (out []string, err error) {
	err = w.store(func(ctx context.Context, c *pgx.Conn) error {
		rs, err := c.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rs, func(r pgx.CollectableRow) (string, error) {
			vs, err := r.Values()
			return strings.TrimSuffix(fmt.Sprintln(vs...), "\n"), err
		})
		return err
	})
	return out, err
}

// none is a condition: a query finds nothing.
func (w *world) none(what, sql string, args ...any) func() string {
	return func() string {
		found, err := w.rows(sql, args...)
		if err != nil {
			return err.Error()
		}
		if len(found) > 0 {
			return fmt.Sprintf("%s: %d, such as %.300s", what, len(found), strings.Join(found[:min(5, len(found))], "; "))
		}
		return ""
	}
}

// goodInserted is a condition: every file of the good sources has ended as the
// corpus says, and the warehouse has all their documents.
func (w *world) goodInserted() string {
	want := map[string]bool{}
	for _, f := range w.rig.Corpus.Oracle.Files {
		want[f.File+" "+f.Action+" "+f.Phase+" "+f.Status] = true
	}
	rows, err := w.rows(`SELECT file, action, phase, status FROM tracker.file WHERE ended`)
	if err != nil {
		return err.Error()
	}
	for _, r := range rows {
		delete(want, r)
	}
	for f := range want {
		return fmt.Sprintf("%d of %d files of the good sources have not ended as they should, such as %s", len(want), len(w.rig.Corpus.Oracle.Files), f)
	}
	return ""
}

// ask runs a command and returns what it wrote.
func (w *world) ask(args ...string) (string, error) {
	p := w.start(args...)
	code, ok := p.code()
	if !ok || code != 0 {
		return p.output(), fmt.Errorf("tributary %s: exit code %d\n%s", strings.Join(args, " "), code, p.tail())
	}
	return p.output(), nil
}

// list runs a command with -o json and decodes its rows.
func list[T any](w *world, args ...string) (rows []T, err error) {
	text, err := w.ask(append(args, "-o", "json")...)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var row T
		switch err := d.Decode(&row); {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, fmt.Errorf("tributary %s -o json: %w", strings.Join(args, " "), err)
		}
		rows = append(rows, row)
	}
}

// must waits for a condition, and fails the test where it does not come.
func (w *world) must(check func() string) {
	w.t.Helper()
	if last := await(wait.Patience(), check); last != "" {
		w.t.Fatalf("still not so after %s: %s", wait.Patience(), last)
	}
}

// await waits until check returns nothing, looking often; it returns what check
// said last, which is nothing if it came to be.
func await(limit time.Duration, check func() string) string {
	over := time.NewTimer(limit)
	defer over.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		last := check()
		if last == "" {
			return ""
		}
		select {
		case <-over.C:
			return last
		case <-tick.C:
		}
	}
}
