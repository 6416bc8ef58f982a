package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/internal/profile"
)

// goldenSeed is that of the corpora whose results are kept.
const goldenSeed = 1

// goldenEnv, if set to 1, writes the golden files anew.
const goldenEnv = "TRIBUTARY_GOLDEN"

// golden is what each phase made of a corpus: digests by file, or of data by
// check.
type golden struct {
	Versions map[string]string            `json:"versions"` // of each phase
	Files    map[string]string            `json:"files"`    // the sha256 of each
	Results  map[string]map[string]string `json:"results"`  // of each phase
}

// goldenSQL asks for what a phase made of which file or check. Messages are no
// part of it: they may be worded better.
func goldenSQL() map[string]string {
	return map[string]string{
		"unzip": `SELECT concat(action, '/', file, E'\t', CASE WHEN phase = 'unzip' AND status = 'failed' THEN exception ELSE 'done' END) FROM tracker.file WHERE version IS NOT NULL AND phase_id >= 4
			UNION ALL SELECT concat(action, '/', file, E'\t', concat_ws('|', document, ordinal, kind, created, inc, size_bytes, sha256, CASE WHEN phase = 'xml_name' THEN exception END)) FROM tracker.document`,
		"xsd": `SELECT concat(d.action, '/', d.file, E'\t', concat_ws('|', d.document, d.errors_total, d.phase = 'xsd', d.exception,
			(SELECT string_agg(concat_ws(':', e.line, e.exception), ',' ORDER BY e.line, e.exception) FROM tracker.document_error e WHERE e.xml_id = d.id)))
			FROM (SELECT id, action, file, document, phase, CASE WHEN phase = 'xsd' THEN errors_total END AS errors_total, CASE WHEN phase = 'xsd' THEN exception END AS exception
				FROM tracker.document WHERE phase_id > 5) d`,
		"upload": `SELECT concat(d.action, '/', d.file_name, E'\t', concat_ws('|', d.entry, d.state, CASE WHEN d.phase = 'upload' THEN d.exception END, d.rows)) FROM warehouse.document d
			UNION ALL SELECT concat(d.action, '/', d.file_name, E'\t', concat_ws('|', d.entry, c.record_type, c.ordinal, c.claim, c.fingerprint, c.layout, c.line, c.tombstone))
			FROM warehouse.claim c JOIN warehouse.document d USING (position)`,
		"data": `SELECT concat(split_part(line, '|', 1), E'\t', line) FROM (` + findingsSQL + `) f (line)`,
	}
}

// golden compares what was made of the corpus with what was made of it before:
// who changes the program so that a phase judges or loads otherwise must raise
// the version of the phase's code, or replay --stale would not know.
func (s *system) golden(at engine.Endpoints, shape string) {
	s.t.Helper()
	if seed(s.t) != goldenSeed {
		s.t.Logf("results are kept for seed %d only", goldenSeed)
		return
	}
	p, err := profile.Builtin("impc")
	if err != nil {
		s.t.Fatal(err)
	}
	is := golden{Versions: map[string]string{}, Files: map[string]string{}, Results: map[string]map[string]string{}}
	v := p.Versions()
	for _, phase := range profile.VersionedPhases() {
		text, err := json.Marshal(map[string]any{"unzip": v.Unzip, "xsd": v.XSD, "upload": v.Upload, "data": v.Data}[phase])
		if err != nil {
			s.t.Fatal(err)
		}
		is.Versions[phase] = shortDigest(string(text))
	}
	s.warehouse(at, func(pool *pgxpool.Pool) {
		for _, line := range lines(s.t, pool, `SELECT concat(action, '/', file, E'\t', version) FROM tracker.file`) {
			file, sha, _ := strings.Cut(line, "\t")
			is.Files[file] = sha
		}
		for phase, query := range goldenSQL() {
			of := map[string]string{}
			for _, line := range lines(s.t, pool, query) {
				key, result, _ := strings.Cut(line, "\t")
				of[key] += result + "\n"
			}
			for key, text := range of {
				of[key] = shortDigest(text)
			}
			is.Results[phase] = of
		}
	})
	path := filepath.Join("testdata", "golden-"+shape+".json")
	var was golden
	switch raw, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		s.t.Fatal(err)
	default:
		if err := json.Unmarshal(raw, &was); err != nil {
			s.t.Fatalf("%s: %v", path, err)
		}
	}
	said, allowed := was.judge(is)
	if said == "" {
		return
	}
	if os.Getenv(goldenEnv) != "1" || !allowed {
		s.t.Errorf("%s: %s", path, said)
		return
	}
	text, err := json.MarshalIndent(is, "", " ")
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// judge says what is to be done, if anything differs, and whether the results
// may be written anew.
func (was golden) judge(is golden) (said string, allowed bool) {
	const renew = "write the golden files anew with TRIBUTARY_GOLDEN=1 go test ./test/e2e -run TestCorporaMatchTheOracle"
	if !maps.Equal(was.Files, is.Files) {
		return "the corpus is another: " + renew, true
	}
	for i, phase := range profile.VersionedPhases() {
		constant := []string{"codeUnzip", "codeXSD", "codeUpload", "codeData"}[i]
		if was.Versions[phase] != is.Versions[phase] {
			return "the version of " + phase + " has changed: " + renew, true
		}
		if diff := gocmp.Diff(was.Results[phase], is.Results[phase]); diff != "" {
			// What follows judges other things than before.
			return fmt.Sprintf("%s judges or loads otherwise than before, though its version is the same: if that is meant, raise %s in internal/profile/versions.go, "+
				"so that replay --stale finds what was done before, and then %s (-before +now):\n%s", phase, constant, renew, diff), false
		}
	}
	return "", true
}

func shortDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:16]
}

// A phase that judges otherwise by the same version is named with what is to be
// raised, and its results are not written anew before; any other change may be.
func TestGoldenResultsAreJudged(t *testing.T) {
	made := func(change func(*golden)) golden {
		g := golden{Versions: map[string]string{}, Files: map[string]string{"add/a.zip": "1"}, Results: map[string]map[string]string{}}
		for _, phase := range profile.VersionedPhases() {
			g.Versions[phase], g.Results[phase] = "v", map[string]string{"add/a.zip": "x"}
		}
		change(&g)
		return g
	}
	otherwise := func(phases ...string) func(*golden) {
		return func(g *golden) {
			for _, phase := range phases {
				g.Results[phase]["add/a.zip"] = "y"
			}
		}
	}
	was := made(func(*golden) {})
	for _, c := range []struct {
		is      golden
		says    string
		allowed bool
	}{
		{made(func(*golden) {}), "", true},
		{made(otherwise("unzip", "xsd")), "raise codeUnzip", false},
		{made(otherwise("xsd", "upload")), "raise codeXSD", false},
		{made(otherwise("upload", "data")), "raise codeUpload", false},
		{made(otherwise("data")), "raise codeData", false},
		{made(func(g *golden) { g.Versions["xsd"] = "w"; otherwise("xsd", "data")(g) }), "version of xsd has changed", true},
		{made(func(g *golden) { g.Versions["data"] = "w"; otherwise("xsd", "data")(g) }), "raise codeXSD", false},
		{made(func(g *golden) { g.Files["add/a.zip"] = "2"; otherwise("unzip")(g) }), "the corpus is another", true},
	} {
		said, allowed := was.judge(c.is)
		if allowed != c.allowed || !strings.Contains(said, c.says) || (said == "") != (c.says == "") {
			t.Errorf("%t: %s; want %t, %q", allowed, said, c.allowed, c.says)
		}
	}
	if phases := slices.Sorted(maps.Keys(goldenSQL())); !slices.Equal(phases, slices.Sorted(slices.Values(profile.VersionedPhases()))) {
		t.Errorf("results are kept of %v", phases)
	}
}
