package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/test/profiles"
	"tributary/test/rig"
	"tributary/test/servers"
)

// weatherSQL asks for the lines that the oracle has of each table. What is not
// there is a -.
var weatherSQL = map[string]string{
	"station": `SELECT concat_ws('|', ` + placeSQL + `, c.tombstone::text, c.is_current::text, c.network, c.code, coalesce(c.title, '-'), c.height, coalesce(c.opened::text, '-')) AS line
		FROM warehouse.claimed_station c JOIN warehouse.document d USING (position)`,
	"sensor": `SELECT concat_ws('|', ` + placeSQL + `, c.tombstone::text, c.is_current::text, s.code, c.quantity, c.model) AS line
		FROM warehouse.claimed_sensor c JOIN warehouse.claimed_station s USING (position, record) JOIN warehouse.document d USING (position)`,
	"report": `SELECT concat_ws('|', ` + placeSQL + `, c.network, c.day, c.observer) AS line FROM warehouse.report c JOIN warehouse.document d USING (position)`,
	"observation": `SELECT concat_ws('|', ` + placeSQL + `, c.tombstone::text, c.is_current::text, c.network, c.day, c.at, c.station, c.quantity, coalesce(c.value::text, '-'), coalesce(c.quality, '-')) AS line
		FROM warehouse.claimed_observation c JOIN warehouse.document d USING (position)`,
	"finding": `SELECT concat_ws('|', c.test, c.level, ` + placeSQL + `, c.line, c.centre, c.record_type, c.subject) AS line
		FROM warehouse.finding c JOIN warehouse.document d USING (position) WHERE c.open`,
	"finding_count": `SELECT concat_ws('|', centre, record_type, subject, test, level, findings) AS line FROM warehouse.finding_count WHERE findings > 0`,
	"climate":       `SELECT concat_ws('|', network, station, quantity, observations, first_day, last_day, coalesce(lowest::text, '-'), coalesce(highest::text, '-')) AS line FROM warehouse.climate`,
	"network":       `SELECT concat_ws('|', network, stations, observations, errors, warnings, infos) AS line FROM warehouse.network`,
}

// placeSQL names the version of a document d.
const placeSQL = `d.action || '/' || d.file_name || '/' || d.entry, d.archive`

// The second profile, of another field, goes the whole way from real OpenSSH to
// the warehouse, without a line of Go of its own: daily files, one that is
// uploaded again, corrections, deletions, what is missing and comes later, a
// reference list, and everything that fails.
func TestWeather(t *testing.T) {
	t.Parallel()
	c, err := profiles.Weather(seed(t))
	if err != nil {
		t.Fatal(err)
	}
	s := serveWeather(t, c)
	profile := weatherProfile(t)
	s.ask("profile", "check", profile)

	s.once()
	s.expectWeather(c.Oracle(1, false))

	if err := c.Write(s.sources(), 2); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(s.dir, "quantities.csv")
	if err := os.WriteFile(list, []byte(profiles.Quantities), 0o644); err != nil {
		t.Fatal(err)
	}
	s.ask("reference", "load", "quantity", list)
	s.once()
	hash := s.expectWeather(c.Oracle(2, true))

	s.once()
	if again := s.expectWeather(c.Oracle(2, true)); again != hash {
		t.Errorf("warehouse hash %s after a session that brought nothing, %s before", again, hash)
	}
}

func weatherProfile(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "profiles", "weather"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (s *system) sources() string { return filepath.Join(s.dir, "sources") }

// serveWeather serves the corpus from one OpenSSH server for each source.
func serveWeather(t testing.TB, c *profiles.Corpus) *system {
	t.Helper()
	s := &system{t: t, binary: program(t), dir: openDir(t), fromNothing: true} // with the schemas of its profile
	if err := c.Write(s.sources(), 1); err != nil {
		t.Fatal(err)
	}
	yaml := "data_dir: ./data\nprofile: " + weatherProfile(t) + "\nsources:\n"
	sources := profiles.Sources()
	for _, id := range slices.Sorted(maps.Keys(sources)) {
		own := filepath.Join(s.dir, "servers", id)
		if err := os.MkdirAll(own, 0o755); err != nil {
			t.Fatal(err)
		}
		v, err := servers.StartSSHD(t.Context(), servers.SSHDOptions{Dir: own})
		servers.Need(t, err)
		t.Cleanup(v.Stop)
		yaml += fmt.Sprintf("  - id: %s\n    centre: %s\n    hosts: [%s]\n    url: %s\n    identity_file: %s\n    known_hosts: %s\n",
			id, sources[id], profiles.Hosts()[id], v.URL(filepath.Join(s.sources(), id)), v.IdentityFile, v.KnownHosts)
	}
	s.rig = &rig.Rig{Dir: s.dir, Config: filepath.Join(s.dir, "tributary.yaml")}
	if err := os.WriteFile(s.rig.Config, []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

// expectWeather compares all that is there with the oracle and returns the
// warehouse's hash.
func (s *system) expectWeather(want profiles.Oracle) (hash string) {
	s.t.Helper()
	s.engines(func(at engine.Endpoints) {
		s.invariants()
		var files, documents []string
		for _, f := range list[fileRow](s, "files") {
			exception := "-"
			if f.Phase == "zip_name" {
				exception = text(f.Exception)
			}
			files = append(files, strings.Join([]string{f.Action + "/" + f.File, f.Phase, f.Status, exception}, "|"))
		}
		errs := map[string]bool{}
		for _, d := range list[documentRow](s, "documents") {
			name := d.Action + "/" + d.File + "/" + d.Document
			documents = append(documents, strings.Join([]string{name, d.Phase, d.Status}, "|"))
			for _, e := range d.Errors {
				errs[fmt.Sprintf("%s|%s|%d", name, e.Exception, value(e.Line))] = true
				errs[fmt.Sprintf("%s|%s|-", name, e.Exception)] = true
			}
			if d.Phase == "overview" && len(d.Errors) > 0 {
				s.t.Errorf("%s is done and has errors: %+v", name, d.Errors)
			}
		}
		differ(s.t, "files", want.Files, files)
		differ(s.t, "documents", want.Documents, documents)
		for _, e := range want.Errors {
			if !errs[e] {
				s.t.Errorf("no document has the error %s", e)
			}
		}
		s.warehouse(at, func(pool *pgxpool.Pool) {
			for _, table := range slices.Sorted(maps.Keys(weatherSQL)) {
				compareLines(s.t, pool, table, weatherSQL[table], want.Tables[table])
			}
		})
		hash = s.hash()
	})
	return hash
}
