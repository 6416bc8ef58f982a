package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/servers"
	"tributary/test/wait"
)

// The clocks of two servers that host the same files: the producers' is behind ours, their
// mirror's is ahead, so that what is newer looks older.
const (
	producersAhead = -5 * time.Hour
	mirrorAhead    = 3 * time.Hour
	mirror         = "mirror"
)

// Two servers host each file, and their clocks are eight hours apart. Each version is
// fetched once, from its producer, whichever of them shows it first and however old it
// looks there; where the producer's server refuses it the mirror's copy will do, whose
// time is its own; and how far each clock is wrong is shown.
func TestTwoHostsOfOneFileWhoseClocksDiffer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute: skipped with -short")
	}
	const rounds = 4 // the mirror's clock is believed to be wrong when three polls agree
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Bench, Zips: rounds * 4}, rig.Options{Local: true})
	two := s.twoHosts()
	uploads := s.corpus.Uploads()
	refused := uploads[len(uploads)-1]
	two.refuse(refused.File)
	fetched, looks := map[string][]string{}, map[string]int{} // by file
	s.engines(func(engine.Endpoints) {
		members := s.members("schedule poll publish download unzip validate sequence insert tracker history")
		s.looked(time.Time{}, mirror) // what comes from now on tells of its clock
		for round := range rounds {
			for i, u := range uploads[round*4 : (round+1)*4] {
				two.put(u, []string{two.source[u.Centre], mirror}[(i+round)%2])
				two.put(u, []string{mirror, two.source[u.Centre]}[(i+round)%2])
				fetched[u.File], looks[u.File] = []string{two.source[u.Centre]}, 1
			}
			if round == rounds-1 {
				fetched[refused.File] = append(fetched[refused.File], mirror)
			}
			s.shownAt(looks) // before any is fetched, so that chance decides nothing
			plan := s.members("plan")
			s.arrived(uploads[:(round+1)*4])
			plan[0].stop()
		}

		// The producer's next version looks eight hours older than what its mirror still
		// shows; the one after that is mirrored before its producer's listing is asked for.
		members = append(members, s.members("plan")...)
		changed := uploads[0]
		own := two.source[changed.Centre]
		for _, first := range []string{own, mirror} {
			if err := s.corpus.Reupload(changed.Action, changed.File); err != nil {
				t.Fatal(err)
			}
			again := s.corpus.Uploads()
			now := again[slices.IndexFunc(again, func(u corpus.Upload) bool { return u.File == changed.File && u.Times == looks[changed.File] })]
			looks[changed.File]++
			fetched[changed.File] = append(fetched[changed.File], own)
			two.put(now, first)
			s.shownAtOne(now.File, first, looks[now.File])
			if first == own {
				s.arrived(again)
			}
			two.put(now, own)
			two.put(now, mirror)
			s.arrived(again)
			s.shownAt(looks)
		}

		for range 2 { // polls that find nothing
			s.looked(time.Now(), slices.Collect(maps.Keys(two.ahead))...)
		}
		for _, m := range members {
			m.stop()
		}
	})
	s.once() // which also finishes what stopping left
	s.engines(func(engine.Endpoints) {
		s.fetchedFrom(fetched)
		s.shownAt(looks)
		s.clocksShown(two)
		got := s.see()
		s.invariants()
		o := s.corpus.Oracle
		differ(t, "documents", wantDocuments(o, got), got.Documents)
		differ(t, "specimens", o.Specimens, got.Specimens)
		differ(t, "procedure runs", o.Runs, got.Runs)
		differ(t, "measurements", o.Measurements, got.Measurements)
	})
}

// hosts are two real servers of the same files.
type hosts struct {
	s      *system
	source map[string]string // of each centre, at the producers' server
	ahead  map[string]time.Duration
	denied atomic.Value // the name of a file that the producers' server refuses
}

// twoHosts starts an HTTP server, of which every centre has a directory, and an SFTP
// server that mirrors all of them.
func (s *system) twoHosts() *hosts {
	s.t.Helper()
	two := &hosts{s: s, source: map[string]string{}, ahead: map[string]time.Duration{mirror: mirrorAhead}}
	producers, mirrored := s.hostDirs("producers"), s.hostDirs(mirror)
	nginx, err := servers.StartNginx(s.t.Context(), servers.HTTPDOptions{Dir: producers, Root: s.sources()})
	servers.Need(s.t, err)
	s.t.Cleanup(nginx.Stop)
	sshd, err := servers.StartSSHD(s.t.Context(), servers.SSHDOptions{Dir: mirrored})
	servers.Need(s.t, err)
	s.t.Cleanup(sshd.Stop)
	at := two.dated(nginx.Addr)

	var yaml strings.Builder
	for _, src := range s.corpus.Sources {
		two.source[src.Centre], two.ahead[src.ID] = src.ID, producersAhead
		two.empty(src.ID)
		fmt.Fprintf(&yaml, "  - {id: %s, centre: %s, url: '%s/%s'}\n", src.ID, src.Centre, at, src.ID)
	}
	two.empty(mirror)
	fmt.Fprintf(&yaml, "  - {id: %s, centre: Ning, hosts: all, url: '%s', identity_file: %s, known_hosts: %s}\n",
		mirror, sshd.URL(filepath.Join(s.sources(), mirror)), sshd.IdentityFile, sshd.KnownHosts)
	s.rewrite("data_dir: ./data\n" + lively + "sources:\n" + yaml.String())
	return two
}

// hostDirs makes the directory of a server's own files.
func (s *system) hostDirs(name string) string {
	s.t.Helper()
	dir := filepath.Join(s.dir, "servers", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	return dir
}

// dated is the way to the producers' server: what it answers has its clock's time.
func (two *hosts) dated(addr string) string {
	two.denied.Store("")
	to := &url.URL{Scheme: "http", Host: addr}
	way := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(resp *http.Response) error {
			resp.Header.Set("Date", time.Now().Add(producersAhead).UTC().Format(http.TimeFormat))
			return nil
		},
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if no := two.denied.Load().(string); r.Method == http.MethodGet && no != "" && strings.HasSuffix(r.URL.Path, "/"+no) {
			w.Header().Set("Date", time.Now().Add(producersAhead).UTC().Format(http.TimeFormat))
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		way.ServeHTTP(w, r)
	}))
	two.s.t.Cleanup(site.Close)
	return site.URL
}

func (two *hosts) refuse(name string) { two.denied.Store(name) }

// empty has a source show nothing.
func (two *hosts) empty(source string) {
	two.s.t.Helper()
	add := filepath.Join(two.s.sources(), source, "add")
	if err := os.RemoveAll(add); err != nil {
		two.s.t.Fatal(err)
	}
	if err := os.MkdirAll(add, 0o755); err != nil {
		two.s.t.Fatal(err)
	}
}

// put uploads to a source's server, whose clock says when that was. What is there
// already stays as it is.
func (two *hosts) put(u corpus.Upload, source string) {
	two.s.t.Helper()
	b, err := u.Bytes()
	if err != nil {
		two.s.t.Fatal(err)
	}
	whole := filepath.Join(two.s.sources(), source, "add", u.File)
	if is, err := os.ReadFile(whole); err == nil && string(is) == string(b) {
		return
	}
	if err := os.WriteFile(whole+".part", b, 0o644); err != nil {
		two.s.t.Fatal(err)
	}
	theirs := time.Now().Add(two.ahead[source])
	if err := os.Chtimes(whole+".part", theirs, theirs); err != nil {
		two.s.t.Fatal(err)
	}
	if err := os.Rename(whole+".part", whole); err != nil {
		two.s.t.Fatal(err)
	}
}

// looked waits until complete listings of sources have begun after a moment.
func (s *system) looked(after time.Time, sources ...string) {
	s.t.Helper()
	s.control(func(c *pgx.Conn) string {
		var n int
		err := c.QueryRow(s.t.Context(), "SELECT count(*) FROM control.source WHERE id = ANY($1) AND (clock->>'looked')::timestamptz > $2", sources, after).Scan(&n)
		if err != nil || n != len(sources) {
			return fmt.Sprintf("%d of %v were listed after %s (%v)", n, sources, after, err)
		}
		return ""
	})
}

// shownAt waits until control knows as many looks of each file as are wanted, at both
// hosts; there are never more.
func (s *system) shownAt(want map[string]int) {
	s.t.Helper()
	for file, looks := range want {
		s.shownAtOne(file, "", looks)
	}
}

func (s *system) shownAtOne(file, source string, looks int) {
	s.t.Helper()
	s.control(func(c *pgx.Conn) string {
		rows, err := c.Query(s.t.Context(), `SELECT h.source || ' ' || h.look FROM control.hosting h JOIN control.file f ON f.id = h.file
			WHERE f.name = $1 AND h.settled AND h.state = 'present' AND ($2 = '' OR h.source = $2)`, file, source)
		if err != nil {
			return err.Error()
		}
		is, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err.Error()
		}
		hosts := 2
		if source != "" {
			hosts = 1
		}
		if n := len(slices.DeleteFunc(slices.Clone(is), func(h string) bool { return !strings.HasSuffix(h, fmt.Sprintf(" %d", looks)) })); n != hosts {
			return fmt.Sprintf("%s is shown %v, and wanted %d times at %d hosts", file, is, looks, hosts)
		}
		return ""
	})
}

// fetchedFrom expects that each file was asked for at these sources, in this order, and
// never else.
func (s *system) fetchedFrom(want map[string][]string) {
	s.t.Helper()
	got := map[string][]string{}
	s.control(func(c *pgx.Conn) string {
		clear(got)
		rows, err := c.Query(s.t.Context(), "SELECT f.name, t.source FROM control.attempt t JOIN control.file f ON f.id = t.file ORDER BY f.name, t.attempt")
		if err != nil {
			return err.Error()
		}
		var name, source string
		if _, err := pgx.ForEachRow(rows, []any{&name, &source}, func() error {
			got[name] = append(got[name], source)
			return nil
		}); err != nil {
			return err.Error()
		}
		return ""
	})
	if d := gocmp.Diff(want, got); d != "" {
		s.t.Errorf("from where files were fetched (- want, + got):\n%s", d)
	}
}

// clocksShown expects that of each server it is shown how far its clock is wrong: of the
// one that tells its time to the second, of the other as far as its files say.
func (s *system) clocksShown(two *hosts) {
	s.t.Helper()
	type shown struct {
		Clock struct {
			Least *float64 `json:"ahead_least_seconds"`
			Most  *float64 `json:"ahead_most_seconds"`
			Skew  float64  `json:"skew_seconds"`
		}
	}
	seconds := func(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }
	for source, ahead := range two.ahead {
		is := list[shown](s, "sources", "show", source)[0].Clock
		text := s.ask("sources", "show", source)
		switch {
		case is.Least == nil || seconds(*is.Least) > ahead || is.Most != nil && seconds(*is.Most) < ahead:
			s.t.Errorf("the clock of %s, which is ahead by %s, is shown as %+v", source, ahead, is)
		case source == mirror && (seconds(is.Skew) < ahead-wait.Patience() || !strings.Contains(text, "its clock is ahead of ours by ")):
			s.t.Errorf("the clock of %s, which is ahead by %s, is said to be by %s: %s", source, ahead, seconds(is.Skew), text)
		case source != mirror && (seconds(is.Skew)-ahead).Abs() > time.Minute || !strings.Contains(text, "server_clock_skewed: since "):
			s.t.Errorf("the clock of %s, which is ahead by %s, is said to be by %s: %s", source, ahead, seconds(is.Skew), text)
		}
	}
}
