package donewith

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/producers/sourcestate"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/test/servers"
)

const first, second = "H.2026-01-02.1.impc.zip", "H.2026-01-02.2.impc.zip"

func (b *bench) expect(what string, stands map[string]string, there ...string) {
	b.t.Helper()
	if d := cmp.Diff(stands, b.stands()); d != "" {
		b.t.Errorf("%s: how files stand (- want, + got):\n%s", what, d)
	}
	if d := cmp.Diff(append([]string{}, there...), b.there()); d != "" {
		b.t.Errorf("%s: what is at the source (- want, + got):\n%s", what, d)
	}
}

// A source begins with being shown what would be done; that it is done is ordered, and
// told with who did.
func TestShownFirstThenDone(t *testing.T) {
	b := newBench(t, t.TempDir(), "delete", config.Source{}, nil)
	b.inserted(first, "1")
	b.round()
	b.expect("shown", map[string]string{first: "shown, present"}, "add/"+first)
	if o := b.order(true); !o.Done {
		t.Fatal(o.Detail)
	}
	if o := b.order(true); o.Done {
		t.Error("it was ordered twice")
	}
	b.round()
	b.expect("done", map[string]string{first: "done, done_with"})
	want := []string{
		first + " look 1.3 present: would be deleted at the source: all of it is inserted; nobody has ordered to act at the source",
		"src: to act on done_with: delete by ann: agreed with H",
		first + " look 1.4 done_with: deleted at the source, since all of it is inserted (ordered by ann: agreed with H)",
	}
	if d := cmp.Diff(want, b.said()); d != "" {
		t.Errorf("events (- want, + got):\n%s", d)
	}
	b.inserted(second, "2")
	if o := b.order(false); !o.Done {
		t.Fatal(o.Detail)
	}
	b.round()
	b.expect("taken back", map[string]string{first: "done, done_with", second: "shown, present"}, "add/"+second)
}

// An order that is only tried tells what it would do, to how many files and where, and
// stores nothing.
func TestTriedOrders(t *testing.T) {
	b := newBench(t, t.TempDir(), "move done", config.Source{}, nil)
	b.inserted(first, "1")
	b.inserted(second, "2")
	b.round()
	b.said()
	try := func(act bool) string {
		t.Helper()
		all, err := Order(t.Context(), sourcestate.Orders{Decision: control.Decision{By: "ann", At: b.now}, Pool: b.deps.Pool, Outbox: b.deps.Outbox, Dry: true}, Wish{Act: act}, "src")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(all[0].Done, ": ", all[0].Detail)
	}
	tried := []string{try(true), try(true), try(false)}
	if said := b.said(); len(said) > 0 {
		t.Errorf("what was only tried is told: %q", said)
	}
	b.order(true)
	got := append(tried, try(false), try(true))
	want := "true: from now on it is done with each file of which all is inserted: move done at file://" + b.dir + "; files that wait for it now: 2"
	if d := cmp.Diff([]string{want, want, "false: it is only shown there already",
		"true: from now on it is only shown what would be done (move done); what has been done stays", "false: it is acted there already"}, got); d != "" {
		t.Errorf("- want, + got:\n%s", d)
	}
}

// Nothing is done with a file before all of it is inserted.
func TestNothingIsDoneBeforeAllIsInserted(t *testing.T) {
	for name, tc := range map[string]struct {
		unfit func(b *bench, file string)
	}{
		"the batch's end is not applied": {func(b *bench, _ string) { b.applied-- }},
		"a document is not loaded":       {func(b *bench, file string) { b.loaded[file]-- }},
		"the batch has no end yet":       {func(b *bench, _ string) { b.exec("UPDATE control.batch SET last_position = NULL") }},
		"it has failed":                  {func(b *bench, _ string) { b.exec("UPDATE control.acquisition SET result = 'failed'") }},
		"its new look is being fetched": {func(b *bench, file string) {
			b.exec("INSERT INTO control.acquisition (run, file, domain, source, look, size, state) VALUES ($1, $2, 'H', 'src', 2, 5, 'wanted')", schemas.LiveRun, file)
		}},
		"another look is listed":  {func(b *bench, _ string) { b.exec("UPDATE control.hosting SET look = 2") }},
		"it is not settled":       {func(b *bench, _ string) { b.exec("UPDATE control.hosting SET settled = false") }},
		"it came from elsewhere":  {func(b *bench, _ string) { b.exec("UPDATE control.attempt SET source = 'other'") }},
		"it is held":              {func(b *bench, _ string) { b.exec("UPDATE control.file SET held_at = now(), held_by = 'ann'") }},
		"the source is suspended": {func(b *bench, _ string) { b.exec("UPDATE control.source SET state = 'suspended'") }},
		"its window is closed": {func(b *bench, _ string) {
			b.exec("UPDATE control.source SET opens = '2030-01-01', closes = '2030-01-02'")
		}},
		"the server's sessions are taken": {func(b *bench, _ string) {
			b.exec("INSERT INTO control.job (id, server, source, remaining, requested_at, news_at, event, headers) VALUES ($1, 'host:22', 'src', 1, now(), now(), '', '[]')", uuid.NewString())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, t.TempDir(), "delete", config.Source{}, nil)
			b.order(true)
			file := b.inserted(first, "1")
			tc.unfit(b, file)
			b.round()
			if d := cmp.Diff([]string{"add/" + first}, b.there()); d != "" {
				t.Errorf("what is at the source (- want, + got):\n%s", d)
			}
		})
	}
}

// What is not, to the second and the byte, what was inserted stays.
func TestWhatHasChangedIsLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(b *bench)
		stands string
		gone   bool
	}{
		"another size":     {func(b *bench) { b.put("add/"+first, "12", noon.Add(-time.Hour)) }, "left changed_since_insertion, present", false},
		"another time":     {func(b *bench) { b.put("add/"+first, "1", noon) }, "left changed_since_insertion, present", false},
		"it is not there":  {func(b *bench) { _ = os.Remove(filepath.Join(b.dir, "add", first)) }, "left file_gone, present", true},
		"no time is known": {func(b *bench) { b.exec("UPDATE control.hosting SET mtime = NULL") }, "left file_unverifiable, present", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, t.TempDir(), "delete", config.Source{}, nil)
			b.order(true)
			b.inserted(first, "1")
			tc.change(b)
			there := []string{"add/" + first}
			if tc.gone {
				there = nil
			}
			b.round()
			b.expect(name, map[string]string{first: tc.stands}, there...)
		})
	}
}

// Where a member died between its intent and its end, the next finds out what came of
// it, whatever was ordered meanwhile.
func TestWhatWasCutOff(t *testing.T) {
	for name, tc := range map[string]struct {
		rule    string
		done    func(b *bench) // what the dead member had done
		revoked bool
		stands  string
		there   []string
	}{
		"delete, not done":           {"delete", func(*bench) {}, false, "done, done_with", []string{}},
		"delete, done":               {"delete", func(b *bench) { _ = os.Remove(filepath.Join(b.dir, "add", first)) }, false, "done, done_with", []string{}},
		"delete, done, and revoked":  {"delete", func(b *bench) { _ = os.Remove(filepath.Join(b.dir, "add", first)) }, true, "done, done_with", []string{}},
		"delete, not done, revoked":  {"delete", func(*bench) {}, true, "shown, present", []string{"add/" + first}},
		"delete, and uploaded again": {"delete", func(b *bench) { b.put("add/"+first, "new", noon) }, false, "left changed_since_insertion, present", []string{"add/" + first}},
		"move, done": {"move done", func(b *bench) {
			b.put("done/add/"+first, "1", noon)
			_ = os.Remove(filepath.Join(b.dir, "add", first))
		}, false, "done, done_with", []string{"done/add/" + first}},
		"move, and somebody else took it": {"move done", func(b *bench) { _ = os.Remove(filepath.Join(b.dir, "add", first)) }, false, "left file_gone, present", []string{}},
		"mark, done":                      {"mark", func(b *bench) { b.put("add/"+first+".done", "", noon) }, false, "done, present", []string{"add/" + first, "add/" + first + ".done"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, t.TempDir(), tc.rule, config.Source{}, nil)
			b.order(true)
			b.inserted(first, "1")
			if err := b.search(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.exec("UPDATE control.done_with SET state = 'acting', tries = 1")
			if tc.rule != "mark" {
				b.exec("UPDATE control.hosting SET state = 'done_with', shown_until = 1::bigint << 62")
			}
			tc.done(b)
			if tc.revoked {
				b.order(false)
			}
			b.round()
			b.expect(name, map[string]string{first: tc.stands}, tc.there...)
		})
	}
}

// A session that breaks off between a deletion and its answer leaves it open; nothing
// stands otherwise until the next visit finds out.
func TestASessionThatIsLostWhileActing(t *testing.T) {
	b := newBench(t, t.TempDir(), "delete", config.Source{}, nil)
	b.order(true)
	b.inserted(first, "1")
	server, err := servers.StartFaultySFTP(t.Context(), servers.FaultySFTPOptions{Dir: t.TempDir(), Root: b.dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	dial := b.deps.Dial
	b.deps.Dial = func(ctx context.Context, _ remote.Config) (remote.Session, error) {
		s, err := dial(ctx, remote.Config{URL: server.URL("/"), IdentityFile: server.IdentityFile, KnownHosts: server.KnownHosts})
		server.Drop()
		return s, err
	}
	b.round()
	b.expect("lost", map[string]string{first: "acting, done_with"}, "add/"+first)
	b.deps.Dial = dial
	b.round()
	b.expect("found out", map[string]string{first: "done, done_with"})
}

// Nothing is done at a server while it has asked to be left alone.
func TestNothingIsDoneAtWhatIsLeftAlone(t *testing.T) {
	b := newBench(t, t.TempDir(), "delete", config.Source{}, nil)
	b.order(true)
	b.inserted(first, "1")
	if err := control.LeaveAlone(t.Context(), b.deps.Pool, "host:22", b.now.Add(24*time.Hour), 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	b.round()
	b.expect("left alone", map[string]string{first: "due, present"}, "add/"+first)
	b.round()
	b.expect("asked again", map[string]string{first: "done, done_with"})
}

// A mark changes nothing for listings, and is made once; a directory to move into is
// made, and what is in it already is never replaced.
func TestEachActOnEachServer(t *testing.T) {
	for server, start := range map[string]func(t *testing.T, dir string) (config.Source, func(*remote.Config)){
		"file": func(*testing.T, string) (config.Source, func(*remote.Config)) { return config.Source{}, nil },
		"sftp": func(t *testing.T, dir string) (config.Source, func(*remote.Config)) {
			s, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: t.TempDir()})
			servers.Need(t, err)
			t.Cleanup(s.Stop)
			return config.Source{URL: s.URL(dir), IdentityFile: s.IdentityFile, KnownHosts: s.KnownHosts}, nil
		},
		"ftp": func(t *testing.T, dir string) (config.Source, func(*remote.Config)) {
			s, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: dir, Extra: []string{
				"write_enable=YES", "anon_upload_enable=YES", "anon_mkdir_write_enable=YES", "anon_other_write_enable=YES",
			}})
			servers.Need(t, err)
			t.Cleanup(s.Stop)
			return config.Source{URL: s.URL("/")}, func(c *remote.Config) { c.Password = s.Password }
		},
		"webdav": func(t *testing.T, dir string) (config.Source, func(*remote.Config)) {
			locks := filepath.Join(t.TempDir(), "locks")
			if err := errors.Join(os.Mkdir(locks, 0o755), servers.OpenToAll(locks)); err != nil {
				t.Fatal(err)
			}
			s, err := servers.StartApache(t.Context(), servers.HTTPDOptions{Dir: t.TempDir(), Root: dir, WebDAV: true, Locks: locks})
			servers.Need(t, err)
			t.Cleanup(s.Stop)
			return config.Source{URL: s.URL("/"), WebDAV: true}, nil
		},
		"s3": func(t *testing.T, dir string) (config.Source, func(*remote.Config)) {
			s, err := servers.StartVersityGW(t.Context(), servers.VersityGWOptions{Dir: t.TempDir(), Root: filepath.Dir(dir)})
			servers.Need(t, err)
			t.Cleanup(s.Stop)
			return config.Source{URL: s.URL(filepath.Base(dir), ""), Endpoint: s.Endpoint(), Region: s.Region}, func(c *remote.Config) { c.Password = s.Secret }
		},
	} {
		for rule, want := range map[string]struct {
			stands map[string]string
			there  []string
		}{
			"delete":       {map[string]string{first: "done, done_with", second: "done, done_with"}, []string{"done/in/add/" + second}},
			"move done/in": {map[string]string{first: "done, done_with", second: "due target_exists, present"}, []string{"add/" + second, "done/in/add/" + first, "done/in/add/" + second}},
			"mark":         {map[string]string{first: "done, present", second: "done, present"}, []string{"add/" + first, "add/" + first + ".done", "add/" + second, "add/" + second + ".done", "done/in/add/" + second}},
		} {
			t.Run(server+" "+rule, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "served")
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				src, reach := start(t, dir)
				b := newBench(t, dir, rule, src, reach)
				b.order(true)
				b.inserted(first, "1")
				b.inserted(second, "22")
				b.put("done/in/add/"+second, "other", noon)
				if server == "webdav" {
					if err := servers.OpenToAll(dir); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					b.round()
					b.expect(rule, want.stands, want.there...)
				}
			})
		}
	}
}

// Whatever is ordered, nothing is written over HTTP.
func TestNothingIsWrittenOverHTTP(t *testing.T) {
	b := newBench(t, t.TempDir(), "delete", config.Source{}, nil)
	b.order(true)
	b.inserted(first, "1")
	b.deps.Dial = func(context.Context, remote.Config) (remote.Session, error) { return reads{}, nil }
	b.round()
	b.expect("only read", map[string]string{first: "due, present"}, "add/"+first)
}

// reads is a session without a writer.
type reads struct{ remote.Session }

func (reads) Close() error { return nil }
func (reads) Stat(context.Context, string) (remote.Entry, error) {
	return remote.Entry{}, errors.New("nothing is asked of it")
}

// An order counts for what it named: another done_with, another url, or a source that
// was taken away and comes back, begin with being shown.
func TestOrdersCountForWhatTheyNamed(t *testing.T) {
	for name, change := range map[string]func(b *bench){
		"another act": func(b *bench) {
			b.define(config.Source{ID: "src", Centre: "H", URL: "file://" + b.dir, DoneWith: "mark"})
		},
		"there and back": func(b *bench) {
			b.define(config.Source{ID: "src", Centre: "H", URL: "file://" + b.dir})
			b.define(config.Source{ID: "src", Centre: "H", URL: "file://" + b.dir, DoneWith: "delete"})
		},
		"another url": func(b *bench) {
			b.define(config.Source{ID: "src", Centre: "H", URL: "file://" + b.dir + "/.", DoneWith: "delete"})
		},
		"by an older program": func(b *bench) {
			b.exec(`UPDATE control.source SET url = url || '/', definition = definition || jsonb_build_object('url', url || '/')`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, t.TempDir(), "delete", config.Source{}, nil)
			b.order(true)
			change(b)
			b.inserted(first, "1")
			b.round()
			b.expect(name, map[string]string{first: "shown, present"}, "add/"+first)
		})
	}
}
