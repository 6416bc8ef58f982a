//go:build !race

package poll

import (
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/schemas"
)

// tree is a server with a clock of its own, whose directories have times as file systems
// keep them, or as those do that keep none.
type tree struct {
	server
	b         *bench
	ahead     time.Duration // of our clock
	precision time.Duration
	still     bool // a directory's time stays as it is
	dirs      map[string]map[string]remote.Entry
	times     map[string]time.Time
	between   func() // once, after the directories' times were told
}

func (s *tree) clock() time.Time { return s.b.now.Add(s.ahead).Truncate(s.precision) }

func (s *tree) put(action, name string, size int64) {
	if _, there := s.dirs[action][name]; !there && !s.still {
		s.times[action] = s.clock()
	}
	s.dirs[action][name] = remote.Entry{Name: name, Size: size, ModTime: s.clock(), Precision: s.precision}
}

func (s *tree) remove(action, name string) {
	if _, there := s.dirs[action][name]; there && !s.still {
		s.times[action] = s.clock()
	}
	delete(s.dirs[action], name)
}

func (s *tree) List(_ context.Context, dir string, yield func(remote.Entry) error) error {
	if dir == "" {
		for action, at := range s.times {
			if err := yield(remote.Entry{Name: action, Kind: remote.Dir, Size: -1, ModTime: at, Precision: s.precision}); err != nil {
				return err
			}
		}
		if s.between != nil {
			s.between()
			s.between = nil
		}
		return nil
	}
	for _, e := range s.dirs[dir] {
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

func (s *tree) Stat(context.Context, string) (remote.Entry, error) {
	return remote.Entry{}, fs.ErrNotExist
}

func (s *tree) Open(context.Context, string, int64) (io.ReadCloser, error) {
	return nil, fs.ErrNotExist
}

// Whatever happens to the directories, and whatever time the server's clock has: a file
// that has come is taken up by the first poll after it, and by the first complete one
// where directories keep no times; a complete poll knows what there is; and only what as
// many complete ones in a row lacked is gone.
func TestMinimalPollsLoseNothingAndWithdrawNothing(t *testing.T) {
	b := newBench(t)
	b.cfg.GoneAfter, b.cfg.MaxMissingShare, b.cfg.Attempts = 2, 1, 1
	// Each takes a good part of a second; -rapid.checks asks for more.
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := flag.Set("rapid.checks", "40"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set("rapid.checks", checks.DefValue) }()
	}
	ends := map[string]int{}
	trees := func(r *rapid.T) {
		for _, table := range []string{"look", "hosting", "file", "poll", "session", "source_day", "outbox", "ignored"} {
			b.exec("DELETE FROM control." + table)
		}
		b.exec("UPDATE control.source SET directories = '{}', passed = ''")
		b.now = noon
		s := &tree{b: b, dirs: map[string]map[string]remote.Entry{}, times: map[string]time.Time{}}
		s.ahead = time.Duration(rapid.Int64Range(-4e12, 4e12).Draw(r, "ahead"))
		s.precision = rapid.SampledFrom([]time.Duration{time.Second, time.Minute}).Draw(r, "precision")
		s.still = rapid.IntRange(0, 3).Draw(r, "still") == 0
		for _, action := range schemas.Actions() {
			s.dirs[action], s.times[action] = map[string]remote.Entry{}, s.clock().Add(-time.Hour)
		}
		b.deps.Dial = func(context.Context, remote.Config) (remote.Session, error) { return s, nil }
		b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", MayBeEmpty: true, CompleteEvery: config.Duration(time.Hour)})
		lacking := map[string]int{} // complete polls in a row, by path
		happen := func() {
			action := rapid.SampledFrom(schemas.Actions()).Draw(r, "action")
			name := fmt.Sprintf("H.2026-01-02.%d.impc.zip", rapid.IntRange(1, 4).Draw(r, "number"))
			switch rapid.IntRange(0, 3).Draw(r, "what") {
			case 0:
				s.remove(action, name)
			default:
				s.put(action, name, rapid.Int64Range(1, 3).Draw(r, "size"))
			}
		}
		for range rapid.IntRange(1, 25).Draw(r, "polls") {
			for range rapid.IntRange(0, 2).Draw(r, "changes") {
				happen()
				b.now = b.now.Add(time.Duration(rapid.Int64Range(0, 3e9).Draw(r, "soon")))
			}
			there := map[string]remote.Entry{}
			for action, files := range s.dirs {
				for name, e := range files {
					there[action+"/"+name] = e
				}
			}
			moving := map[string]bool{} // while it is polled
			if rapid.IntRange(0, 4).Draw(r, "between") == 0 {
				s.between = func() {
					happen()
					for action, files := range s.dirs {
						for i := range 5 {
							path := fmt.Sprintf("%s/H.2026-01-02.%d.impc.zip", action, i)
							is, now := files[path[len(action)+1:]]
							was, before := there[path]
							moving[path] = now != before || !reflect.DeepEqual(is, was)
						}
					}
				}
			}
			end := b.listing()
			ends[end]++
			if end != "complete" && end != "minimal" {
				r.Fatalf("a poll ended %s: %s", end, b.text("SELECT exception, message FROM control.poll WHERE state = $1", end))
			}
			hosted := map[string]string{}
			for line := range strings.Lines(b.text("SELECT action || '/' || name, state, size, misses FROM control.hosting ORDER BY 1")) {
				path, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
				hosted[path] = rest
			}
			for path, e := range there {
				state := strings.Fields(hosted[path] + " none 0")
				is := state[0] == present && (end == "minimal" || state[1] == fmt.Sprint(e.Size))
				if !is && !moving[path] && (end == "complete" || !s.still) {
					r.Fatalf("a %s poll at %s knows %s as %q, and the server has %d bytes\n%s", end, b.now, path, hosted[path], e.Size, b.text("SELECT directories::text FROM control.source"))
				}
			}
			for path, is := range hosted {
				if _, has := there[path]; moving[path] {
					lacking[path] = max(lacking[path], 2) // either is right
				} else if has && end == "complete" || strings.HasPrefix(is, present+" ") && strings.HasSuffix(is, " 0") {
					lacking[path] = 0
				} else if !has && end == "complete" {
					lacking[path]++
				}
				if state := strings.Fields(is)[0]; state == gone && lacking[path] < 2 {
					r.Fatalf("%s is gone after %d complete polls that lack it", path, lacking[path])
				}
			}
			b.now = b.now.Add(rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second, 2 * time.Minute, 20 * time.Minute, time.Hour}).Draw(r, "later"))
		}
	}
	// A few trees, as -short has them, may have few polls of one kind.
	for range 10 {
		if rapid.Check(t, trees); ends["minimal"] >= 20 && ends["complete"] >= 20 {
			return
		}
	}
	t.Errorf("polls ended %v: the test shows little", ends)
}
