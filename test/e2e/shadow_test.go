package e2e

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/schemas/impc"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// What the tightened schema of specimens refuses, and the types that it does so
// by.
const (
	looseZygosity = `<xs:attribute name="zygosity" type="v:alleleCopies" use="required"/>`
	tightZygosity = `<xs:attribute name="zygosity" use="required"><xs:simpleType><xs:restriction base="v:alleleCopies">
      <xs:enumeration value="hemizygous"/><xs:enumeration value="heterozygous"/><xs:enumeration value="wild type"/>
    </xs:restriction></xs:simpleType></xs:attribute>`
	nowRefused = ` zygosity="homozygous"`
)

// changeRow is a row of tributary replay compare --documents.
type changeRow struct {
	File, Action, Document, Change string
}

// groupRow is a row of tributary replay compare.
type groupRow struct {
	By, Group        string
	Documents        int64
	Unchanged        int64
	NewlyRefused     int64 `json:"newly_refused"`
	RefusedOtherwise int64 `json:"refused_otherwise"`
	RowsDiffer       int64 `json:"rows_differ"`
}

// loadedRow is where a document lies in the warehouse.
type loadedRow struct {
	Action, File, Document, State, Exception string
	Position                                 int64
	Withdrawn                                bool
}

const loadedSQL = `SELECT action, file_name AS file, entry AS document, state, exception, position, withdrawn FROM warehouse.document`

// A schema is tightened: a shadow run, judged by a profile of its own, says which
// documents that affects, and changes nothing; promoted, it changes exactly
// those, once, and the history has both runs. What arrives beside a shadow is
// judged by the profile that is live.
func TestShadow(t *testing.T) {
	t.Parallel()
	shape := replayShape(t, false)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: shape}, rig.Options{Local: true, Extra: lively})
	s.once()
	s.expect(true)
	var before outcome
	var documents []documentRow
	var files []fileRow
	var loaded []loadedRow
	s.engines(func(engine.Endpoints) {
		before, documents, files, loaded = s.outcome(), list[documentRow](s, "documents"), list[fileRow](s, "files"), sql[loadedRow](s, "warehouse", loadedSQL)
	})
	want := affected(t, s.sources(), documents)
	if len(want) == 0 || len(want) >= len(documents)/2 {
		t.Fatalf("%d of %d documents are affected: the test shows nothing", len(want), len(documents))
	}
	tight := s.copyProfile()
	s.edit(filepath.Join(tight, "xsd", "specimen.xsd"), looseZygosity, tightZygosity)
	s.configure("impc", tight)
	s.engines(func(engine.Endpoints) {
		s.expectStale("nothing is stale") // live
		s.replay("--from", "xsd", "--stale", "--shadow", "tighter", "--reason", "fewer zygosities")
		s.refusesAll("is running", "promote", "tighter", "--reason", "too early")
		s.refusesAll("already", "--from", "xsd", "--where", "true", "--shadow", "tighter")
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		s.unchanged("a shadow", before)
		differ(t, "documents beside a shadow", documents, list[documentRow](s, "documents"))
		differ(t, "files beside a shadow", files, list[fileRow](s, "files"))
		s.invariants()
		differ(t, "what the shadow would change", want, list[changeRow](s, "replay", "compare", "tighter", "--documents"))
		groups := list[groupRow](s, "replay", "compare", "1")
		refused, otherwise := count(want, "newly refused"), count(want, "refused otherwise")
		if total := groups[0]; total.NewlyRefused != refused || total.RefusedOtherwise != otherwise || total.RowsDiffer != 0 || total.Unchanged != total.Documents-refused-otherwise {
			t.Errorf("in all %+v, want %d newly refused and %d otherwise", total, refused, otherwise)
		}
		for _, by := range []string{"exception", "centre", "date"} {
			var sum int64
			for _, g := range groups {
				if g.By == by {
					sum += g.NewlyRefused
				}
			}
			if sum != refused {
				t.Errorf("by %s %d documents are newly refused, want %d", by, sum, refused)
			}
		}
		s.refusesAll("set profile to that one", "promote", "tighter", "--reason", "members would judge it by what is live")
		s.configure(tight, "")
		s.replay("promote", "tighter", "--reason", "agreed")
		s.refusesAll("promoted before", "promote", "tighter", "--reason", "once more")
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		s.refusesAll("promoted before", "promote", "1", "--reason", "once more")
		s.expectPromoted(want, documents, loaded)
		s.invariants()
		// And back: what was refused is valid again, and all is as it was.
		s.configure(tight, "impc")
		s.replay("--from", "xsd", "--stale", "--shadow", "looser")
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		back := slices.Clone(want)
		for i := range back {
			back[i].Change = strings.Replace(back[i].Change, "newly refused", "newly valid", 1)
		}
		differ(t, "what the second shadow would change", back, list[changeRow](s, "replay", "compare", "looser", "--documents"))
		s.configure("impc", "")
		s.replay("promote", "looser", "--reason", "it was too tight")
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		s.unchanged("a promotion and its opposite", before)
		differ(t, "documents after a promotion and its opposite", documents, list[documentRow](s, "documents"))
		s.invariants()
		// Files arrive while a shadow runs.
		s.configure("impc", tight)
		s.replay("--from", "xsd", "--stale", "--shadow", "once-more")
	})
	s.add(12)
	s.once()
	s.engines(func(engine.Endpoints) {
		got := s.see()
		s.compare(got, false) // the oracle knows only the profile that is live
		if n := len(affected(t, s.sources(), got.Documents)); n <= len(want) {
			t.Errorf("%d documents are affected, %d were: no new one is, and the test shows nothing", n, len(want))
		}
		s.invariants()
		s.expectStale("nothing is stale")
		differ(t, "what the third shadow would change", want, list[changeRow](s, "replay", "compare", "once-more", "--documents"))
	})
}

// expectPromoted checks that exactly the wanted changes have become true.
func (s *system) expectPromoted(want []changeRow, documents []documentRow, loaded []loadedRow) {
	s.t.Helper()
	changed, touched := map[string]bool{}, map[string]bool{}
	for _, c := range want {
		changed[c.Action+"/"+c.File+"/"+c.Document] = true
		touched[c.Action+"/"+c.File] = true
	}
	now := list[documentRow](s, "documents")
	if len(now) != len(documents) {
		s.t.Errorf("%d documents are shown, %d were", len(now), len(documents))
	}
	refused := 0
	for _, d := range now {
		if !changed[d.Action+"/"+d.File+"/"+d.Document] {
			continue
		}
		if d.Phase != "xsd" || d.Status != "failed" || len(d.Errors) == 0 || d.Errors[0].Line == nil {
			s.t.Errorf("%s/%s/%s is %s, %s with the errors %+v, want it to have failed at xsd with a line", d.Action, d.File, d.Document, d.Phase, d.Status, d.Errors)
		}
		refused++
	}
	if refused != len(want) {
		s.t.Errorf("%d of %d documents are shown as refused", refused, len(want))
	}
	// In the warehouse no row of an affected document counts, and the documents of
	// other files lie where they lay.
	var others, othersNow []loadedRow
	for _, l := range loaded {
		if !touched[l.Action+"/"+l.File] {
			others = append(others, l)
		}
	}
	for _, l := range sql[loadedRow](s, "warehouse", loadedSQL) {
		switch key := l.Action + "/" + l.File; {
		case !touched[key]:
			othersNow = append(othersNow, l)
		case changed[key+"/"+l.Document] && l.State == "loaded" && !l.Withdrawn:
			s.t.Errorf("%s/%s counts still, at position %d", key, l.Document, l.Position)
		}
	}
	differ(s.t, "documents of other files in the warehouse", others, othersNow)
	type claims struct{ N int64 }
	if left := sql[claims](s, "warehouse", `SELECT count(*) AS n FROM warehouse.current_specimen WHERE zygosity = 'homozygous'`); left[0].N != 0 {
		s.t.Errorf("%d homozygous specimens are current", left[0].N)
	}
	// Both runs are in the history, and replays tell of each other.
	runs := map[string]bool{}
	for _, r := range sql[runRow](s, "history", runsInHistorySQL) {
		runs[r.Run] = true
	}
	type listed struct {
		Run, From, Shadow, Promotes, Reason string
		PromotedBy                          int64 `json:"promoted_by"`
	}
	replays := list[listed](s, "replay", "list")
	slices.Reverse(replays)
	for i := range replays {
		if !runs[replays[i].Run] {
			s.t.Errorf("the history has no documents of replay %d", i+1)
		}
		replays[i].Run = ""
	}
	if diff := gocmp.Diff([]listed{{From: "xsd", Shadow: "tighter", Reason: "fewer zygosities", PromotedBy: 2}, {From: "xsd", Promotes: "tighter", Reason: "agreed"}}, replays); diff != "" {
		s.t.Errorf("replays:\n%s", diff)
	}
}

// refusesAll asks for something below replay, and expects that it is refused,
// and why.
func (s *system) refusesAll(why string, args ...string) {
	s.t.Helper()
	p := s.start(append([]string{"replay"}, args...)...)
	if code := p.code(wait.Patience()); code == 0 || !strings.Contains(p.tail(), why) {
		s.t.Errorf("replay %s ends with %d, want it to be refused since %q:\n%s", strings.Join(args, " "), code, why, p.tail())
	}
}

func count(rows []changeRow, change string) (n int64) {
	for _, r := range rows {
		if r.Change == change {
			n++
		}
	}
	return n
}

// affected are the documents that the tightened schema judges otherwise, by
// their bytes alone: what was valid is refused, and what was refused by the
// schema has further errors.
func affected(t *testing.T, sources string, documents []documentRow) (out []changeRow) {
	t.Helper()
	has := specimensWith(t, sources, nowRefused)
	for _, d := range documents {
		c := changeRow{d.File, d.Action, d.Document, "newly refused"}
		switch {
		case !has[d.Action+"/"+d.File+"/"+d.Document] || d.Phase == "xml_name":
			continue
		case d.Phase == "xsd":
			c.Change = "refused otherwise"
		}
		out = append(out, c)
	}
	return out
}

// specimensWith are the specimen documents of all archives that have a text.
func specimensWith(t *testing.T, sources, what string) map[string]bool {
	t.Helper()
	has := map[string]bool{}
	err := filepath.WalkDir(sources, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".zip") {
			return err
		}
		z, err := zip.OpenReader(path)
		if err != nil {
			return nil // some archives are damaged, on purpose
		}
		defer z.Close()
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil || !strings.Contains(f.Name, ".specimen.") {
				continue
			}
			text, err := io.ReadAll(r)
			if err == nil && bytes.Contains(text, []byte(what)) {
				has[filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path)+"/"+f.Name] = true
			}
			r.Close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return has
}

// ownProfile configures a copy of the profile, and returns its folder.
func (s *system) ownProfile() string {
	s.t.Helper()
	dir := s.copyProfile()
	s.configure(dir, "")
	return dir
}

// copyProfile copies the profile, and returns the copy's folder.
func (s *system) copyProfile() string {
	s.t.Helper()
	dir := filepath.Join(s.dir, "profile")
	if err := os.CopyFS(dir, impc.FS); err != nil {
		s.t.Fatal(err)
	}
	return dir
}

// configure configures the profile by which all that is live is judged, and that
// of shadows; empty: the same.
func (s *system) configure(profile, shadows string) {
	s.t.Helper()
	text, err := os.ReadFile(s.rig.Config)
	if err == nil {
		text = regexp.MustCompile(`(?m)^(shadow_)?profile: .*\n`).ReplaceAll(text, nil)
		text = append([]byte("profile: "+profile+"\n"), text...)
		if shadows != "" {
			text = append([]byte("shadow_profile: "+shadows+"\n"), text...)
		}
		err = os.WriteFile(s.rig.Config, text, 0o644)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// edit replaces a text in a file, which must have it.
func (s *system) edit(path, from, to string) {
	s.t.Helper()
	text, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(text, []byte(from)) {
		s.t.Fatalf("%s has no %s", path, from)
	}
	if err == nil {
		err = os.WriteFile(path, bytes.ReplaceAll(text, []byte(from), []byte(to)), 0o644)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// A mapping is changed: a shadow of known verdicts says whose rows differ, and
// is promoted only with the profile that it was made with.
func TestShadowOfAMapping(t *testing.T) {
	t.Parallel()
	shape := replayShape(t, false)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: shape}, rig.Options{Local: true, Extra: lively})
	s.once()
	var before outcome
	var want []changeRow
	has := specimensWith(t, s.sources(), "<embryo")
	s.engines(func(engine.Endpoints) {
		before = s.outcome()
		for _, l := range sql[loadedRow](s, "warehouse", loadedSQL) {
			if l.State == "loaded" && has[l.Action+"/"+l.File+"/"+l.Document] {
				want = append(want, changeRow{l.File, l.Action, l.Document, "rows differ"})
			}
		}
	})
	if len(want) == 0 {
		t.Fatal("no document has an embryo: the test shows nothing")
	}
	copied := s.copyProfile()
	profile := filepath.Join(copied, "profile.yaml")
	const was, is = `stage: "@stage"`, `stage: "@specimenID"`
	s.edit(profile, was, is)
	s.configure("impc", copied)
	s.engines(func(engine.Endpoints) {
		s.replay("--from", "upload", "--where", "version IS NOT NULL", "--shadow", "stages")
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		s.unchanged("a shadow from upload", before)
		differ(t, "what the shadow would change", want, list[changeRow](s, "replay", "compare", "stages", "--documents"))
		s.configure(copied, "")
		s.edit(profile, is, was)
		s.refusesAll("make a new shadow", "promote", "stages", "--reason", "another profile")
		s.edit(profile, was, is)
		s.replay("promote", "stages", "--reason", "agreed")
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		type stages struct{ Embryos, Otherwise int64 }
		for _, got := range sql[stages](s, "warehouse", `SELECT count(*) AS embryos, count(*) FILTER (WHERE stage <> specimen_id) AS otherwise FROM warehouse.current_specimen WHERE kind = 'embryo'`) {
			if got.Embryos == 0 || got.Otherwise > 0 {
				t.Errorf("%d of %d embryos have the stage that they had", got.Otherwise, got.Embryos)
			}
		}
		s.invariants()
		differ(t, "what the shadow would change still", nil, list[changeRow](s, "replay", "compare", "stages", "--documents"))
		s.replay("--from", "upload", "--where", "version IS NOT NULL", "--shadow", "again")
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		s.refusesAll("nothing would change", "promote", "again", "--reason", "to see")
	})
}
