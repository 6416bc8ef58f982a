package e2e

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/servers"
	"tributary/test/wait"
)

// A file that three servers host, none of them its producer's: one has it whole, one
// sends it slowly, and one has other bytes of the same size.
const (
	wholeHost   = "whole"
	slowHost    = "slow"
	corruptHost = "corrupt"
)

// In whichever order three hostings come by name, the good bytes arrive, from each file
// on. Once each was met, the good and fast one is asked first, and what is shown of the
// sources says why: without that order the corrupt or the slow one would be asked again.
func TestGoodBytesArriveInWhateverOrder(t *testing.T) {
	t.Parallel()
	long(t, "TestOwnSourceFirstThenPreferenceThenReputation", "TestADamagedArchiveIsFetchedFromTheNextHosting")
	const rounds = 4 // by then each hosting was met, in every order
	orders := [][]string{
		{wholeHost, slowHost, corruptHost}, {wholeHost, corruptHost, slowHost}, {slowHost, wholeHost, corruptHost},
		{slowHost, corruptHost, wholeHost}, {corruptHost, wholeHost, slowHost}, {corruptHost, slowHost, wholeHost},
	}
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Bench, Zips: rounds * len(orders)}, rig.Options{Local: true})
	url := s.threeServers()
	var sources strings.Builder
	for i, order := range orders {
		for n, host := range order {
			s.host(host, i, nil)
			fmt.Fprintf(&sources, "  - {id: %s, centre: Ning, hosts: all, %s}\n", hosted(i, n), url(host, i))
		}
	}
	s.rewrite("data_dir: ./data\n" + lively + "sources:\n" + sources.String())
	uploads := s.corpus.Uploads()
	s.engines(func(engine.Endpoints) {
		members := s.members("schedule poll publish download unzip validate sequence insert tracker history")
		for round := range rounds {
			now := uploads[round*len(orders) : (round+1)*len(orders)]
			for i, u := range now {
				for _, host := range orders[i] {
					s.host(host, i, &u)
				}
			}
			s.control(func(c *pgx.Conn) string { // before any is fetched, so that chance decides nothing
				var n int
				if err := c.QueryRow(t.Context(), "SELECT count(*) FROM control.hosting WHERE settled AND state = 'present'").Scan(&n); err != nil || n != 3*len(orders)*(round+1) {
					return fmt.Sprintf("%d hostings are known, %v", n, err)
				}
				return ""
			})
			plan := s.members("plan")
			s.arrived(uploads[:(round+1)*len(orders)])
			plan[0].stop()
		}
		for i, order := range orders {
			last := uploads[(rounds-1)*len(orders)+i]
			if d := cmp.Diff([]string{wholeHost}, s.askedFor(last, order)); d != "" {
				t.Errorf("%v: the last file was not asked for where it is whole and fast (- want, + got):\n%s", order, d)
			}
			s.shownReputation(i, order)
		}
		for _, m := range members {
			m.stop()
		}
	})
}

// hosted is the id of the source that comes at that place of an order.
func hosted(order, place int) string { return fmt.Sprintf("%c%d", 'a'+order, place+1) }

// threeServers starts a server for each host, and returns the keys by which a source
// reaches an order's directory there.
func (s *system) threeServers() (keys func(host string, order int) string) {
	s.t.Helper()
	own := func(host string) (dir, root string) {
		dir, root = filepath.Join(s.dir, "servers", host), filepath.Join(s.sources(), host)
		for _, d := range []string{dir, root} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				s.t.Fatal(err)
			}
		}
		return dir, root
	}
	dir, whole := own(wholeHost)
	sshd, err := servers.StartSSHD(s.t.Context(), servers.SSHDOptions{Dir: dir})
	servers.Need(s.t, err)
	s.t.Cleanup(sshd.Stop)
	dir, root := own(slowHost)
	nginx, err := servers.StartNginx(s.t.Context(), servers.HTTPDOptions{Dir: dir, Root: root, Extra: []string{"limit_rate 1k;"}})
	servers.Need(s.t, err)
	s.t.Cleanup(nginx.Stop)
	dir, root = own(corruptHost)
	ftp, err := servers.StartVSFTPD(s.t.Context(), servers.VSFTPDOptions{Dir: dir, Root: root})
	servers.Need(s.t, err)
	s.t.Cleanup(ftp.Stop)
	return func(host string, order int) string {
		below := fmt.Sprintf("/%d", order)
		switch host {
		case wholeHost:
			return fmt.Sprintf("url: '%s', identity_file: %s, known_hosts: %s", sshd.URL(whole+below), sshd.IdentityFile, sshd.KnownHosts)
		case slowHost:
			return fmt.Sprintf("url: '%s'", nginx.URL(below))
		}
		return fmt.Sprintf("url: '%s'", ftp.URL(below))
	}
}

// host puts an upload where a host shows it to an order's source; nil: nothing yet.
func (s *system) host(host string, order int, u *corpus.Upload) {
	s.t.Helper()
	dir := filepath.Join(s.sources(), host, fmt.Sprint(order), "add")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	if u == nil {
		return
	}
	b, err := u.Bytes()
	if err != nil {
		s.t.Fatal(err)
	}
	if host == corruptHost {
		first := 30 + int(binary.LittleEndian.Uint16(b[26:])) + int(binary.LittleEndian.Uint16(b[28:])) // behind the first entry's header
		b[first+20] ^= 0x40
	}
	whole := filepath.Join(dir, u.File)
	if err := os.WriteFile(whole+".part", b, 0o644); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(whole+".part", whole); err != nil {
		s.t.Fatal(err)
	}
}

// arrived waits until the very bytes of all uploads are inserted.
func (s *system) arrived(all []corpus.Upload) {
	s.t.Helper()
	want := map[string]string{}
	for _, u := range all {
		want[u.File] = u.SHA256 + " overview done"
	}
	type row struct{ Name, Stands string }
	eventually(s.t, wait.Patience(), func() string {
		got := map[string]string{}
		rows, err := queried[row](s, "SELECT file AS name, concat_ws(' ', sha256, phase, status) AS stands FROM tracker.file")
		if err != nil {
			return err.Error()
		}
		for _, r := range rows {
			got[r.Name] = r.Stands
		}
		return cmp.Diff(want, got)
	})
}

// askedFor are the hosts that were asked for an upload, one after another.
func (s *system) askedFor(u corpus.Upload, order []string) (hosts []string) {
	s.t.Helper()
	s.control(func(c *pgx.Conn) string {
		rows, err := c.Query(s.t.Context(), "SELECT t.source FROM control.attempt t JOIN control.file f ON f.id = t.file WHERE f.name = $1 ORDER BY t.attempt", u.File)
		if err != nil {
			return err.Error()
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err.Error()
		}
		hosts = nil
		for _, id := range ids {
			hosts = append(hosts, order[id[1]-'1'])
		}
		return ""
	})
	return hosts
}

// shownReputation expects that what is shown of an order's sources says why the whole
// one is asked first.
func (s *system) shownReputation(i int, order []string) {
	s.t.Helper()
	type shown struct {
		Reputation struct {
			Fetches, Success, Corrupt float64
			Speed                     float64 `json:"bytes_per_second"`
		}
	}
	of := func(host string) shown {
		return list[shown](s, "sources", "show", hosted(i, slices.Index(order, host)))[0]
	}
	whole, slow, corrupt := of(wholeHost).Reputation, of(slowHost).Reputation, of(corruptHost).Reputation
	if whole.Fetches == 0 || whole.Success != 1 || slow.Success != 1 || whole.Speed <= slow.Speed || slow.Speed == 0 {
		s.t.Errorf("%v: the whole one is shown as %+v, the slow one as %+v", order, whole, slow)
	}
	if corrupt.Success > 0.01 || corrupt.Corrupt < 0.99 {
		s.t.Errorf("%v: the corrupt one is shown as %+v", order, corrupt)
	}
}
