package deadletter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/producers/plan/plantest"
	"tributary/schemas"
	"tributary/sql/control"
)

// morgue is a plane with the letters of its dead.
type morgue struct {
	*plantest.Plane

	t    *testing.T
	dead int
}

func newMorgue(t *testing.T) *morgue {
	t.Helper()
	return &morgue{Plane: plantest.New(t), t: t}
}

func (m *morgue) decider() *Decider {
	return &Decider{Pool: m.Pool, Outbox: m.Outbox, Blobs: m.Blobs, Now: m.Now}
}

// spoil changes the bytes of a blob, as a disk might.
func (m *morgue) spoil(sha string) {
	m.t.Helper()
	found, err := filepath.Glob(filepath.Join(m.Dir, "*", "*", sha))
	if more, _ := filepath.Glob(filepath.Join(m.Dir, "*", sha)); len(more) > 0 {
		found = more
	}
	if err != nil || len(found) != 1 {
		m.t.Fatalf("blob %s lies at %v (%v)", sha, found, err)
	}
	if err := os.Chmod(found[0], 0o600); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(found[0], []byte("rot"), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// judged gives the verdicts of an attempt's documents, which end it.
func (m *morgue) judged(d *schemas.DownloadFinished, results map[string]string) {
	m.t.Helper()
	var docs []control.Document
	for entry, result := range results {
		docs = append(docs, control.Document{Run: d.Run, File: d.File, Attempt: d.Attempt, Download: d.Outcome, Unzip: "done",
			Document: schemas.DocumentID(d.File, entry), Entry: entry, Kind: "specimen", SHA256: "x", Result: result, Body: []byte{1}})
	}
	m.Tx(func(tx pgx.Tx) error {
		if err := control.StoreDocuments(m.t.Context(), tx, docs); err != nil {
			return err
		}
		if _, err := control.LockFiles(m.t.Context(), tx, []string{d.File}); err != nil {
			return err
		}
		ended, err := control.CompleteExtracted(m.t.Context(), tx, []string{d.File}, m.Clock)
		if err != nil {
			return err
		}
		return control.AfterEnds(m.t.Context(), tx, ended, m.Clock)
	})
}

// letter is a dead letter of a stage about an attempt.
func (m *morgue) letter(stage string, d *schemas.DownloadFinished, entry string) *Letter {
	m.dead++
	id := ID(stage, 0, int64(m.dead))
	l := &Letter{ID: id, Key: schemas.ID("test", id), Stage: stage, Class: "panic", Error: "panic: index 17 out of range",
		Run: d.Run, Centre: "H", Source: d.Source, File: d.File, FileName: d.FileName, Action: d.Action, Attempt: d.Attempt, Download: d.Outcome, Archive: d.SHA256}
	if entry != "" {
		l.Document, l.Entry, l.Unzip = schemas.DocumentID(d.File, entry), entry, "done"
	}
	return l
}

// retried retries letters and returns what is said of each: the new attempt,
// or why not.
func (m *morgue) retried(o RetryOptions, letters ...*Letter) []string {
	m.t.Helper()
	o.By = "somebody"
	if o.MaxDeaths == 0 {
		o.MaxDeaths = 3
	}
	done, err := m.decider().Retry(m.t.Context(), letters, o)
	if err != nil {
		m.t.Fatal(err)
	}
	var out []string
	for _, r := range done {
		if r.Refused != "" {
			out = append(out, r.Refused)
		} else {
			out = append(out, fmt.Sprintf("attempt %d, %d documents", r.Attempt, r.Documents))
		}
	}
	return out
}

// want checks how what is said begins, of each letter.
func (m *morgue) want(got []string, want ...string) {
	m.t.Helper()
	if len(got) != len(want) {
		m.t.Fatalf("%d letters were decided about, want %d: %q", len(got), len(want), got)
	}
	for i := range got {
		if !strings.Contains(got[i], want[i]) {
			m.t.Fatalf("letter %d: %q, want %q", i, got[i], want[i])
		}
	}
}

func (m *morgue) became(l *Letter) string {
	m.t.Helper()
	known, err := control.DeadLetters(m.t.Context(), m.Pool, []string{l.Key})
	if err != nil {
		m.t.Fatal(err)
	}
	return known[l.Key].State
}

// validated carries a file's look to the verdicts given.
func (m *morgue) validated(name string, look int32, sha string, results map[string]string) *schemas.DownloadFinished {
	m.t.Helper()
	j, f := m.RequestedOne(name, look)
	d := plantest.FetchedOf(j, f, sha)
	m.Read(schemas.DownloadFinishedTopic, d)
	m.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(d, int32(len(results))))
	m.judged(d, results)
	return d
}

// again reads what a retry published, and returns the download that stages
// go on with.
func (m *morgue) again() *schemas.DownloadFinished {
	m.t.Helper()
	for _, msg := range m.Drain() {
		if d, ok := msg.Body.(*schemas.DownloadFinished); ok {
			m.Read(schemas.DownloadFinishedTopic, d) // plan reads it too, and has judged it
			m.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(d, 2))
			return d
		}
	}
	m.t.Fatal("no download.finished was published")
	return nil
}

// A document that died is processed again with its archive, from the stored
// bytes, once; what else died of the archive goes with it.
func TestADocumentIsRetriedOnce(t *testing.T) {
	m := newMorgue(t)
	sha := m.Put("an archive")
	died := map[string]string{"a.xml": schemas.Quarantined, "b.xml": schemas.Quarantined}
	d := m.validated("f.zip", 1, sha, died)
	a, b := m.letter("validate", d, "a.xml"), m.letter("validate", d, "b.xml")
	m.Drain()

	m.want(m.retried(RetryOptions{DryRun: true}, a, b), "attempt 2, 2 documents", "attempt 2, 0 documents")
	if left := m.Drain(); len(left) > 0 || m.became(a) != "" || m.Text("SELECT count(*) FROM control.acquisition") != "(1)" {
		t.Fatalf("the dry run left %d events, and the letter %q", len(left), m.became(a))
	}
	m.want(m.retried(RetryOptions{Reason: "mended"}, a), "attempt 2, 2 documents")
	m.want(m.retried(RetryOptions{}, b, b, a), "attempt 2, 0 documents", "under way", "under way")
	if got := m.Text("SELECT state, attempt, download, rank_ordinal, rank_own, session IS NULL FROM control.acquisition WHERE id > 1"); got != "(received,2,"+sha+",2,t,t)" {
		t.Errorf("the retry is %s", got)
	}
	if m.became(a) != control.LetterUnderWay {
		t.Errorf("the letter is %q", m.became(a))
	}
	// Nothing would be lost if what was published were.
	m.Tx(func(tx pgx.Tx) error {
		silent, err := control.Silent(t.Context(), tx, time.Now().Add(time.Hour), 10)
		if err == nil && len(silent) != 1 {
			t.Errorf("%d events would be repeated, want the download", len(silent))
		}
		return err
	})
	second := m.again()
	if second.Attempt != 2 || second.SHA256 != sha || second.Result != schemas.Fetched {
		t.Fatalf("published is %+v", second)
	}
	m.judged(second, map[string]string{"a.xml": schemas.Valid, "b.xml": schemas.Quarantined})
	if m.became(a) != control.LetterCompleted || m.became(b) != control.LetterDied {
		t.Errorf("the letters are %q and %q", m.became(a), m.became(b))
	}
	m.want(m.retried(RetryOptions{Force: true}, a), "attempt 2 went through")
	m.want(m.retried(RetryOptions{}, b), "--force")
	if got := m.Text("SELECT b.session IS NULL FROM control.acquisition a JOIN control.batch b ON b.id = a.batch WHERE a.attempt = 2"); got != "(t)" {
		t.Errorf("it is in no late batch: %s", got)
	}
}

// Several who retry the same letter at once: one of them does.
func TestRetriesAtOnce(t *testing.T) {
	m := newMorgue(t)
	d := m.validated("f.zip", 1, m.Put("an archive"), map[string]string{"a.xml": schemas.Quarantined})
	l := m.letter("validate", d, "a.xml")
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range 6 {
		d := m.decider()
		wg.Go(func() {
			out, err := d.Retry(t.Context(), []*Letter{l}, RetryOptions{MaxDeaths: 3})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			} else if out[0].Refused == "" {
				done++
			}
		})
	}
	wg.Wait()
	if got := m.Text("SELECT count(*) FROM control.acquisition"); done != 1 || got != "(2)" {
		t.Errorf("%d retries were accepted, and there are %s acquisitions", done, got)
	}
}

// An archive that died is unzipped again; a download is requested again, alone.
func TestArchivesAndDownloadsAreRetried(t *testing.T) {
	m := newMorgue(t)
	sha := m.Put("an archive")
	j, f := m.RequestedOne("f.zip", 1)
	dead := plantest.FetchedOf(j, f, "")
	dead.Result, dead.Outcome, dead.Phase, dead.Exception = schemas.Quarantined, schemas.Quarantined, "download", schemas.Quarantined
	m.Read(schemas.DownloadFinishedTopic, dead)
	if got := m.Text("SELECT result, exception, retry_at IS NOT NULL FROM control.acquisition"); got != "(failed,quarantined,t)" {
		t.Fatalf("acquisition is %s", got)
	}
	first := m.letter("download", dead, "")
	m.want(m.retried(RetryOptions{}, first), "attempt 2")
	if got := m.Text("SELECT state, alone, attempt, retry_at FROM control.acquisition ORDER BY id"); got != "(ended,f,1,) (wanted,t,2,)" {
		t.Fatalf("acquisitions are %s", got)
	}
	jobs := m.Requested()
	if len(jobs) != 1 || jobs[0].Files[0].Attempt != 2 {
		t.Fatalf("jobs: %+v", jobs)
	}
	d := plantest.FetchedOf(jobs[0], jobs[0].Files[0], sha)
	m.Read(schemas.DownloadFinishedTopic, d)
	u := plantest.UnzippedOf(d, 0)
	u.Result, u.Outcome, u.Exception = schemas.Quarantined, schemas.Quarantined, schemas.Quarantined
	m.Read(schemas.UnzipFinishedTopic, u)
	if m.became(first) != control.LetterDied {
		t.Errorf("the first letter is %q", m.became(first))
	}
	second := m.letter("unzip", d, "")
	m.Drain()
	m.want(m.retried(RetryOptions{}, second), "attempt 3")
	m.judged(m.again(), map[string]string{"a.xml": schemas.Valid, "b.xml": schemas.Valid})
	if m.became(second) != control.LetterCompleted {
		t.Errorf("the second letter is %q", m.became(second))
	}
}

// What was retried three times and died each time is refused.
func TestRetriesThatDieAgainAreRefused(t *testing.T) {
	m := newMorgue(t)
	d := m.validated("f.zip", 1, m.Put("an archive"), map[string]string{"a.xml": schemas.Quarantined, "b.xml": schemas.Valid})
	m.Drain()
	for n := range 3 {
		l := m.letter("validate", d, "a.xml")
		l.Error = fmt.Sprintf("panic: index %d out of range", n)
		m.want(m.retried(RetryOptions{}, l), fmt.Sprintf("attempt %d", n+2))
		d = m.again()
		m.judged(d, map[string]string{"a.xml": schemas.Quarantined, "b.xml": schemas.Valid})
	}
	l := m.letter("validate", d, "a.xml")
	m.want(m.retried(RetryOptions{}, l), "retried 3 times and died each time")
	other := m.letter("validate", d, "a.xml")
	other.Error = "another cause"
	m.want(m.retried(RetryOptions{DryRun: true}, other), "attempt 5")
	m.want(m.retried(RetryOptions{Force: true}, l), "attempt 5")
	if got := m.Text("SELECT deaths, forced FROM control.dead_letter WHERE id = $1", l.Key); got != "(3,t)" {
		t.Errorf("the letter is noted as %s", got)
	}
}

func TestRefusals(t *testing.T) {
	m := newMorgue(t)
	sha := m.Put("an archive")
	d := m.validated("f.zip", 1, sha, map[string]string{"a.xml": schemas.Quarantined, "b.xml": schemas.Valid})
	a := m.letter("validate", d, "a.xml")

	unreadable, job, unknown := m.letter("validate", d, "a.xml"), m.letter("download", d, ""), m.letter("validate", d, "a.xml")
	unreadable.Problem, job.Job, unknown.Attempt = "no event", 7, 9
	wrong := m.letter("unzip", d, "")
	m.want(m.retried(RetryOptions{Force: true}, unreadable, job, unknown, m.letter("validate", d, "b.xml"), m.letter("validate", d, "c.xml"), wrong),
		"cannot be read", "a job of 7 files", "no attempt 9", "another outcome", "has not read its end", "another outcome")

	m.spoil(sha)
	m.want(m.retried(RetryOptions{}, a), "stored bytes are damaged")
	m.want(m.retried(RetryOptions{Fetch: true, DryRun: true}, a), "attempt 2")
	if err := m.Blobs.Remove(t.Context(), sha); err != nil {
		t.Fatal(err)
	}
	m.want(m.retried(RetryOptions{}, a), "stored bytes are not there")
	m.want(m.retried(RetryOptions{Fetch: true, DryRun: true}, a), "attempt 2")

	if _, err := m.decider().Drop(t.Context(), []*Letter{a, unreadable}, "somebody", "of no interest"); err != nil {
		t.Fatal(err)
	}
	twice, err := m.decider().Drop(t.Context(), []*Letter{a}, "somebody", "again")
	if err != nil || twice[0].Refused == "" {
		t.Errorf("dropped twice: %+v, %v", twice, err)
	}
	m.Put("an archive")
	m.want(m.retried(RetryOptions{}, a), "of no interest; --force")
	m.want(m.retried(RetryOptions{Force: true, DryRun: true}, a), "attempt 2")
	m.Exec("UPDATE control.file SET held_at = $1, held_by = 'ann'", m.Clock)
	m.want(m.retried(RetryOptions{Force: true}, a), "its file is held by ann; release it first")
	m.Exec("UPDATE control.file SET held_at = NULL, held_by = ''")

	// A newer version, first under way, then there.
	j, f := m.RequestedOne("f.zip", 2)
	b := m.letter("validate", d, "a.xml")
	m.want(m.retried(RetryOptions{}, b), "under way (attempt 2)")
	newer := plantest.FetchedOf(j, f, m.Put("a newer archive"))
	m.Read(schemas.DownloadFinishedTopic, newer)
	m.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(newer, 1))
	m.judged(newer, map[string]string{"a.xml": schemas.Valid})
	m.want(m.retried(RetryOptions{Force: true}, b), "attempt 2 has brought a newer version")
	if got := m.Text("SELECT count(*) FROM control.dead_letter WHERE acquisition IS NOT NULL"); got != "(0)" {
		t.Errorf("%s letters were retried", got)
	}
}

// What is accepted only at the second look, since somebody decided otherwise in
// between, is not retried from bytes that nobody has looked at.
func TestBytesThatNobodyLookedAtAreNotRetried(t *testing.T) {
	m := newMorgue(t)
	d := m.validated("f.zip", 1, m.Put("an archive"), map[string]string{"a.xml": schemas.Quarantined})
	l := []*Letter{m.letter("validate", d, "a.xml")}
	out, _, err := m.decider().retry(t.Context(), l, RetryOptions{}, map[string]string{}, false)
	if err != nil || !strings.Contains(out[0].Refused, "try again") {
		t.Errorf("%+v, %v", out, err)
	}
	m.want(m.retried(RetryOptions{}, l...), "attempt 2")
}

// Bytes that are fetched again are taken, though they are those known.
func TestAFetchedRetryIsNoDuplicate(t *testing.T) {
	m := newMorgue(t)
	sha := m.Put("an archive")
	d := m.validated("f.zip", 1, sha, map[string]string{"a.xml": schemas.Quarantined})
	l := m.letter("validate", d, "a.xml")
	m.want(m.retried(RetryOptions{Fetch: true}, l), "attempt 2, 1 documents")
	jobs := m.Requested()
	again := plantest.FetchedOf(jobs[0], jobs[0].Files[0], sha)
	m.Read(schemas.DownloadFinishedTopic, again)
	if got := m.Text("SELECT state, attempt, rank_ordinal FROM control.acquisition WHERE id > 1"); got != "(received,2,2)" {
		t.Errorf("the retry is %s", got)
	}
}

// Who decided what and why is told to the log.
func TestDecisionsAreTold(t *testing.T) {
	m := newMorgue(t)
	d := m.validated("f.zip", 1, m.Put("an archive"), map[string]string{"a.xml": schemas.Quarantined, "b.xml": schemas.Quarantined})
	a, b := m.letter("validate", d, "a.xml"), m.letter("validate", d, "b.xml")
	m.Drain()
	m.want(m.retried(RetryOptions{Reason: "mended"}, a), "attempt 2")
	if _, err := m.decider().Drop(t.Context(), []*Letter{b}, "somebody", "of no interest"); err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, msg := range m.Drain() {
		if e, ok := msg.Body.(*schemas.StatusChanged); ok && e.Attributes["dead_letter"] != "" {
			told[e.Note] = fmt.Sprint(e.Attempt, e.Phase, e.Attributes["dead_letter"], e.Attributes["by"], e.Attributes["reason"], e.Attributes["document"])
		}
	}
	if told["dead_letter_replayed"] != "2"+fmt.Sprint("", a.ID, "somebody", "mended", "a.xml") || told["dead_letter_dropped"] != "1"+fmt.Sprint("", b.ID, "somebody", "of no interest", "b.xml") {
		t.Errorf("told: %v", told)
	}
}

// Documents that insert gave up are retried too. Control does not see how
// insertion ends: every retry counts as one that died when there is a letter
// of the same version again.
func TestWhatInsertGaveUpIsRetried(t *testing.T) {
	m := newMorgue(t)
	d := m.validated("f.zip", 1, m.Put("an archive"), map[string]string{"a.xml": schemas.Valid, "b.xml": schemas.Valid})
	m.Drain()
	for n := range 3 {
		l := m.letter("insert", d, "a.xml")
		m.want(m.retried(RetryOptions{}, l), fmt.Sprintf("attempt %d, ", n+2))
		past := d
		d = m.again()
		m.want(m.retried(RetryOptions{}, l), "is under way")
		m.judged(d, map[string]string{"a.xml": schemas.Valid, "b.xml": schemas.Valid})
		m.want(m.retried(RetryOptions{Force: true}, l, m.letter("insert", past, "b.xml")), "ordered again as attempt", "ordered again as attempt")
		if m.became(l) != control.LetterOrdered {
			t.Errorf("the letter is %q", m.became(l))
		}
	}
	m.want(m.retried(RetryOptions{}, m.letter("insert", d, "a.xml")), "retried 3 times and died each time")
}
