package badinput

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"tributary/internal/blob"
	"tributary/schemas"
	"tributary/schemas/exception"
)

// The bounds of every case but the deliberately large, which may take any time
// and twice the memory. Work is the processor's, in measures that are taken in the
// same process, so that neither a slow machine nor a busy one fails anybody; what
// hangs without using the processor is ended by wait.Patience. The most
// that a case takes is some 21 measures; what the bound is there to find grows with
// the square of the input, and takes many times as much.
const (
	maxWork    = 40
	alone      = 3 // how often a case is tried alone that took more beside others
	maxMemory  = 64 << 20
	maxMessage = 1000
	leastCases = 100
)

func allCases() []bad {
	return slices.Concat(nameCases(), downloadCases(), documentNameCases(), xsdCases(), valueCases(), loadCases(), zipCases(), xmlCases(), schemaCases())
}

// TestBadInput holds every case against its oracle.
func TestBadInput(t *testing.T) {
	cases := allCases()
	seen := map[string]bool{}
	for _, c := range cases {
		if seen[c.name] {
			t.Errorf("there are two cases %q", c.name)
		}
		seen[c.name] = true
	}
	var most worst
	var slow putOff
	var others processes
	t.Cleanup(func() {
		if err := others.close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("case", func(t *testing.T) {
		for _, c := range cases {
			t.Run(strings.ReplaceAll(c.name, "/", "|"), func(t *testing.T) {
				if c.large != "" && testing.Short() {
					t.Skip("large: " + c.large)
				}
				t.Parallel()
				r := perform(t, &others, c)
				if r.Work > maxWork && c.large == "" {
					slow.add(c)
					r.Work = 0 // judged below
				}
				c.judge(t, r)
				most.see(c, r)
			})
		}
	})
	// What shares the processor's caches may slow a case more than its measure: of
	// what took too much beside others, the best of some counts alone.
	for _, c := range slow.cases {
		t.Run("alone/"+strings.ReplaceAll(c.name, "/", "|"), func(t *testing.T) {
			r := perform(t, &others, c)
			for range alone - 1 {
				if r.Work > maxWork {
					r = lesser(r, perform(t, &others, c))
				}
			}
			c.judge(t, r)
			most.see(c, r)
		})
	}
	t.Logf("most work: %.1f measures (%s); most memory above idle: %d KiB (%s); the large aside", most.work, most.workCase, most.memory>>10, most.memoryCase)
	t.Logf("bad input: %d cases", len(cases))
	fmt.Printf("bad input: %d cases\n", len(cases))
	if len(cases) < leastCases {
		t.Errorf("%d cases, at least %d are wanted", len(cases), leastCases)
	}
}

// TestEveryExceptionHasItsCase holds the cases against the registry: what it
// says of files and documents, some input must have shown.
func TestEveryExceptionHasItsCase(t *testing.T) {
	shown, registry := map[string]bool{}, exception.All()
	for _, c := range allCases() {
		for _, e := range append(slices.Collect(maps.Values(c.ends)), c.end) {
			shown[e.exception] = true
			known := slices.ContainsFunc(registry, func(x exception.Entry) bool {
				return x.Name == e.exception && slices.Contains(x.Phases, schemas.Phase(e.phase))
			})
			if e.exception != "" && e.phase != refused && !known {
				t.Errorf("%s: the end %v is not in the registry", c.name, e)
			}
		}
	}
	elsewhere := map[string]string{
		"corrupted_at_producer":   "plan says it, from the refusals of several copies",
		"document_name_extension": "in this profile an entry without the extension is no document",
		"document_unreadable":     "insert says it, of stored bytes that were damaged since validation",
		"name_twin":               "poll warns of it, of two names that one listing shows",
		"passed_over":             "insert says it, where a person decided that a position's record is passed over",
		"row_refused":             "Postgres says it, of what the mapping and the schema let pass",
	}
	for _, e := range exception.All() {
		if e.Group == exception.Source || e.Group == exception.Any {
			continue // of servers and programs, not of files
		}
		if why, is := elsewhere[e.Name]; is && shown[e.Name] {
			t.Errorf("%s has a case: it is not so that %s", e.Name, why)
		} else if !is && !shown[e.Name] {
			t.Errorf("no case ends at %s", e.Name)
		}
	}
}

func lesser(a, b report) report {
	if b.Work < a.Work {
		return b
	}
	return a
}

// putOff remembers the cases that are judged again.
type putOff struct {
	mu    sync.Mutex
	cases []bad
}

func (p *putOff) add(c bad) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cases = append(p.cases, c)
}

// worst remembers what took most.
type worst struct {
	mu                   sync.Mutex
	work                 float64
	memory               int64
	workCase, memoryCase string
}

func (w *worst) see(c bad, r report) {
	if c.large != "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Work > w.work {
		w.work, w.workCase = r.Work, c.name
	}
	if n := r.Peak - r.Idle; n > w.memory {
		w.memory, w.memoryCase = n, c.name
	}
}

// perform stores the case's input and lets a process work on it.
func perform(t *testing.T, others *processes, c bad) report {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"tmp", "home"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	job := task{Case: c.name, Dir: dir, Schema: c.schema, Served: c.fetch != nil}
	if c.file != nil {
		job.File = []byte(*c.file)
	}
	if c.write != nil {
		job.Blob = stored(t, dir, c.write)
	}
	return others.do(t, job)
}

// stored puts what write makes into the case's blob store.
func stored(t *testing.T, dir string, write func(io.Writer) error) string {
	t.Helper()
	store, err := blob.NewDir(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w, err := store.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := write(w); err != nil {
		t.Fatal(errors.Join(err, w.Abort()))
	}
	ref, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return ref.SHA256
}

// judge compares what was told with the oracle.
func (c bad) judge(t *testing.T, r report) {
	t.Helper()
	if len(r.Ends) == 0 {
		t.Fatal("no end was told")
	}
	heard := map[string]bool{}
	for _, got := range r.Ends {
		want, known := c.ends[got.Entry]
		if !known {
			want = c.end
		}
		if heard[got.Entry] {
			t.Errorf("%q has two ends", got.Entry)
		}
		heard[got.Entry] = true
		if got.end() != want {
			t.Errorf("%q ends at %v, want %v (%s)", got.Entry, got.end(), want, got.Message)
			continue
		}
		if want.exception != "" {
			c.judgeMessage(t, got)
		}
	}
	for entry := range c.ends {
		if !heard[entry] {
			t.Errorf("nothing was told of %q", entry)
		}
	}
	if n := len(r.Ends); !heard[""] && n != min(r.Announced, maxJudged) {
		t.Errorf("%d documents were announced, and %d ends told", r.Announced, n)
	}
	if len(r.Left)+len(r.Lost) > 0 && c.keeps == "" {
		t.Errorf("left behind on disk: %v; lost: %v", r.Left, r.Lost)
	}
	if r.Work > maxWork && c.large == "" {
		t.Errorf("it took the processor %.1f measures, the bound is %d", r.Work, maxWork)
	}
	bound := int64(maxMemory)
	if c.large != "" {
		bound *= 2
	}
	if above := r.Peak - r.Idle; above > bound {
		t.Errorf("it took %d KiB above idle, the bound is %d KiB", above>>10, bound>>10)
	}
}

func (c bad) judgeMessage(t *testing.T, got told) {
	t.Helper()
	m := got.Message
	if m == "" || len(m) > maxMessage || !utf8.ValidString(m) || strings.ContainsFunc(m, func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control) }) {
		t.Errorf("the message can't be shown to people: %q", m)
	}
	for _, part := range c.says {
		if !strings.Contains(m, part) {
			t.Errorf("the message %q does not say %q", m, part)
		}
	}
	if c.capped != strings.Contains(got.Last, "there are more errors") {
		t.Errorf("the last of %d errors is %q", got.Total, got.Last)
	}
	if c.line != 0 && got.Line != c.line {
		t.Errorf("the error is in line %d, want %d: %s", got.Line, c.line, m)
	}
}
