package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// hostileName is the name of a file that is in no corpus.
const hostileName = `';--{x:String}<b>&"%s.zip`

// TestRecipesMatchTheOracle runs a corpus through real servers, with a file of
// a hostile name among the others, sends a file again, and compares what every
// recipe answers with what follows from the oracle; times, which no oracle
// knows, with what follows from the log as Kafka has it.
func TestRecipesMatchTheOracle(t *testing.T) {
	t.Parallel()
	shape := os.Getenv("TRIBUTARY_RECIPES")
	if shape == "" {
		t.Skip("takes a minute: make test-recipes runs it (TRIBUTARY_RECIPES names the corpus)")
	}
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: shape}, rig.Options{})
	at := s.corpus.Sources[0]
	if err := os.WriteFile(filepath.Join(s.rig.Dir, "sources", at.ID, "add", hostileName), []byte("no zip"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.once()
	first, between := s.corpus.Oracle, time.Now()
	name := s.corpus.Reuploadable()
	if err := s.corpus.Reupload("add", name); err != nil {
		t.Fatal(err)
	}
	if err := s.rig.Update(); err != nil {
		t.Fatal(err)
	}
	s.once()
	s.engines(func(engine.Endpoints) {
		r := &asked{system: s, first: first, again: name, log: s.log(), between: between}
		r.rejected()
		r.failures()
		r.throughput()
		r.sessions()
		r.resubmissions()
		r.retries()
		r.changes()
		r.speed()
		r.latency()
		r.backlog()
		r.slowest()
		r.drawn()
	})
}

// asked is what the recipes are compared with.
type asked struct {
	*system
	first   corpus.Oracle // before a file was sent again
	again   string        // the file sent again
	log     []told
	between time.Time
}

// resent is the file that was sent again, as it ended.
func (r *asked) resent() corpus.FileEnd {
	for _, f := range r.corpus.Oracle.Files {
		if f.File == r.again && f.Action == "add" {
			return f
		}
	}
	r.t.Fatalf("%s is not in the oracle", r.again)
	return corpus.FileEnd{}
}

// arrived are the files that were fetched, and by which source, in both
// sessions: those that the oracle says were fetched, and the one sent again.
func (r *asked) arrived() []corpus.FileEnd {
	var out []corpus.FileEnd
	for _, f := range r.first.Files {
		if len(f.Sources) > 0 && f.SHA256 != "" {
			out = append(out, f)
		}
	}
	return append(out, r.resent())
}

// documents are the ends of the documents of both sessions.
func (r *asked) documents() []corpus.DocEnd {
	out := slices.Clone(r.first.Documents)
	for _, d := range r.corpus.Oracle.Documents {
		if d.File == r.again && d.Action == "add" {
			out = append(out, d)
		}
	}
	return out
}

// rows are those of a recipe.
func rows(r *asked, name string, arguments ...string) []map[string]any {
	r.t.Helper()
	return list[map[string]any](r.system, append([]string{"report", name}, arguments...)...)
}

// same compares rows by what the given columns have.
func (r *asked) same(what string, want, got []string) {
	r.t.Helper()
	slices.Sort(want)
	slices.Sort(got)
	if diff := gocmp.Diff(want, got); diff != "" {
		r.t.Errorf("report %s (-want +answered):\n%s", what, diff)
	}
}

// cut is a row with only some columns.
func cut(row map[string]any, columns ...string) string {
	var b strings.Builder
	for _, c := range columns {
		v, ok := row[c]
		if !ok {
			v = "no column " + c
		}
		if f, is := v.(float64); is {
			v = math.Round(f*1000) / 1000
		}
		fmt.Fprintf(&b, "%s=%v ", c, v)
	}
	return b.String()
}

func cuts(rows []map[string]any, columns ...string) (out []string) {
	for _, row := range rows {
		out = append(out, cut(row, columns...))
	}
	return out
}
