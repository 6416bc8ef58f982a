package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/backoff"
	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/notice"
	"tributary/internal/stage/member"
	"tributary/schemas"
	"tributary/test/members"
	"tributary/test/receiver"
)

// bench is a broker with the topic of dead letters, and a clock that the test turns.
type bench struct {
	*members.Bench
	letters string

	mu    sync.Mutex
	ahead time.Duration
}

func newBench(t *testing.T, partitions int32) *bench {
	b := &bench{Bench: members.New(t, partitions), letters: kafka.DLQName(members.Prefix, schemas.StatusChangedTopic, Name)}
	b.Create(1, b.letters)
	return b
}

func (b *bench) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Add(b.ahead)
}

func (b *bench) turn(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ahead += d
}

// hook is a target of a webhook that is told what fails.
func hook(t *testing.T, id string, h *receiver.Hook) config.NotifyTarget {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(receiver.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.NotifyTarget{ID: id, Webhook: config.Secret(h.URL), Secret: config.Secret("file:" + path)}
}

func configured(targets ...config.NotifyTarget) config.Notify {
	c := config.Notify{Targets: targets, GiveUpAfter: config.Duration(24 * time.Hour)}
	for _, target := range targets {
		c.Rules = append(c.Rules, config.NotifyRule{When: config.FileFailed, To: []string{target.ID}})
	}
	return c
}

// start runs a member, and returns once all its targets have begun.
func (b *bench) start(t *testing.T, c config.Notify, with ...func(*Deps)) (stop func()) {
	t.Helper()
	registry := prometheus.NewRegistry()
	d := Deps{Connect: b.Factory(), Codec: b.Codec, Prefix: members.Prefix, Log: members.Logger(t), Now: b.now, Registry: registry, Metrics: member.NewMetrics(registry),
		longestPause: 50 * time.Millisecond}
	for _, w := range with {
		w(&d)
	}
	n, err := New(c, d)
	if err != nil {
		t.Fatal(err)
	}
	stop = members.Running(t, n.Run)
	for _, target := range c.Targets {
		if target.Digest == 0 {
			members.Eventually(t, "the target begins", func() bool {
				offsets, err := kadm.NewClient(b.Client).FetchOffsets(context.Background(), Group(members.Prefix, target.ID))
				return err == nil && len(offsets) > 0
			})
		}
	}
	return stop
}

// fail tells that files fail: so many of so many events each, in turns.
func (b *bench) fail(files, each int) {
	for n := range each {
		for f := range files {
			b.Produce(event(fmt.Sprint(f, "/", n), ofFile(fmt.Sprint(f, ".zip"), "download", "failed", "timeout", func(e *schemas.StatusChanged) { e.Attempt = int32(n) })))
		}
	}
}

// inOrder checks that every notice was told, and those of each file first came in their
// order. It returns how many were told in all.
func inOrder(t *testing.T, h *receiver.Hook, files, each int) int {
	t.Helper()
	first := map[string][]string{}
	seen := map[string]bool{}
	for _, told := range h.Told() {
		if !seen[told.ID] {
			seen[told.ID] = true
			first[told.File] = append(first[told.File], told.ID)
		}
	}
	for f := range files {
		name := fmt.Sprint(f, ".zip")
		var want []string
		for n := range each {
			m := event("", ofFile(name, "download", "failed", "timeout", func(e *schemas.StatusChanged) { e.Attempt = int32(n) }))
			want = append(want, happened(m, m.Body.(*schemas.StatusChanged))[0].ID)
		}
		if diff := cmp.Diff(want, first["add/"+name]); diff != "" {
			t.Errorf("%s was told (-want +got):\n%s", name, diff)
		}
	}
	return len(h.Told())
}

func ids(h *receiver.Hook) int {
	seen := map[string]bool{}
	for _, told := range h.Told() {
		seen[told.ID] = true
	}
	return len(seen)
}

// A new target is told what happens from now on, each thing once, in the order of each
// file; what was before is no news.
func TestTargetsAreToldInOrder(t *testing.T) {
	b, h := newBench(t, 3), receiver.NewHook(t)
	b.Produce(event("before", ofFile("old.zip", "download", "failed", "timeout")))
	b.start(t, configured(hook(t, "ops", h)))
	b.fail(5, 10)
	b.fail(5, 10) // an outbox tells twice what it isn't sure to have told
	b.Produce(event("last", ofFile("last.zip", "download", "failed", "timeout")))
	members.Eventually(t, "all are told", func() bool { return ids(h) == 51 })
	if n := inOrder(t, h, 5, 10); n != 51 {
		t.Errorf("%d notices were told, want 51", n)
	}
}

// A target that is away for an hour is told everything then, in order; another is told
// meanwhile, and nothing becomes a dead letter.
func TestATargetThatIsAwayIsToldLater(t *testing.T) {
	b, away, there := newBench(t, 2), receiver.NewHook(t), receiver.NewHook(t)
	status := http.StatusServiceUnavailable
	away.Answer(func(receiver.Told) int { return status })
	stop := b.start(t, configured(hook(t, "away", away), hook(t, "there", there)))
	b.fail(20, 5)
	members.Eventually(t, "the other is told all", func() bool { return ids(there) == 100 })
	members.Eventually(t, "the one that is away is tried", func() bool { return away.Tries() > 0 })
	for range 6 { // an hour
		b.turn(10 * time.Minute)
		tries := away.Tries()
		members.Eventually(t, "it is tried again", func() bool { return away.Tries() > tries })
	}
	stop() // whatever has happened, it goes on where it was
	away.Answer(nil)
	b.start(t, configured(hook(t, "away", away), hook(t, "there", there)), func(d *Deps) { d.Pages = "https://h.example" })
	members.Eventually(t, "it is told all", func() bool { return ids(away) == 100 })
	if all := away.Told(); !strings.Contains(all[len(all)-1].Raw, `"url":"https://h.example/files/add/`) {
		t.Errorf("what is told leads nowhere: %s", all[len(all)-1].Raw)
	}
	inOrder(t, away, 20, 5)
	inOrder(t, there, 20, 5)
	if n := b.End(b.letters, 0); n != 0 {
		t.Errorf("there are %d dead letters", n)
	}
}

// After a target was away for longer than it is waited for, its notices become dead
// letters, each tried before, and what follows is told once it is back.
func TestATargetIsGivenUp(t *testing.T) {
	b, h := newBench(t, 1), receiver.NewHook(t)
	h.Answer(func(receiver.Told) int { return http.StatusServiceUnavailable })
	b.start(t, configured(hook(t, "ops", h)))
	b.Produce(event("1", ofFile("1.zip", "download", "failed", "timeout")))
	members.Eventually(t, "it is tried twice, and so the first failure noted", func() bool { return h.Tries() > 1 })
	b.turn(23 * time.Hour)
	tries := h.Tries()
	members.Eventually(t, "it is tried again, often", func() bool { return h.Tries() > tries+2*refusals })
	if n := b.End(b.letters, 0); n != 0 {
		t.Fatalf("%d notices were given up too early", n)
	}
	b.turn(time.Hour)
	members.Eventually(t, "it is given up", func() bool { return b.End(b.letters, 0) == 1 })
	letter := b.Read(b.letters, 1)[0]
	if got := members.Header(letter, kafka.HeaderStage); got != "notify.ops" {
		t.Errorf("the letter is of %q", got)
	}
	if got := members.Header(letter, kafka.HeaderError); !strings.Contains(got, "could not be reached for 24h") {
		t.Errorf("the letter says %q", got)
	}
	h.Answer(nil)
	b.Produce(event("2", ofFile("2.zip", "download", "failed", "timeout")))
	members.Eventually(t, "the next is told", func() bool { return ids(h) == 1 })
}

// A notice that a target refuses becomes a dead letter soon; the others are told.
func TestARefusedNoticeIsADeadLetter(t *testing.T) {
	b, h := newBench(t, 1), receiver.NewHook(t)
	h.Answer(func(told receiver.Told) int {
		if told.File == "add/bad.zip" {
			return http.StatusUnprocessableEntity
		}
		return http.StatusOK
	})
	b.start(t, configured(hook(t, "ops", h)))
	b.Produce(event("1", ofFile("bad.zip", "download", "failed", "timeout")), event("2", ofFile("2.zip", "download", "failed", "timeout")))
	members.Eventually(t, "the refused one is set aside", func() bool { return b.End(b.letters, 0) == 1 })
	members.Eventually(t, "the other is told", func() bool { return ids(h) == 1 })
}

// A member that dies between delivery and commit leaves its notices to the next: each
// comes again with its id, and none is missed.
func TestWhatWasNotCommittedIsToldAgain(t *testing.T) {
	b, h := newBench(t, 1), receiver.NewHook(t)
	const files, each = 4, 10
	var line members.Line
	var died sync.Once
	dead := make(chan struct{})
	h.Answer(func(told receiver.Told) int {
		if told.File == "add/2.zip" {
			died.Do(func() { line.Cut(); close(dead) }) // it is delivered, and never committed
		}
		return http.StatusOK
	})
	b.start(t, configured(hook(t, "ops", h)), func(d *Deps) { d.Connect = b.Factory(line.Opts()...) })
	b.fail(files, each)
	<-dead
	b.start(t, configured(hook(t, "ops", h)))
	members.Eventually(t, "all are told", func() bool { return ids(h) == files*each })
	inOrder(t, h, files, each)
}

// letters are a mailbox in memory.
type letters struct {
	mu   sync.Mutex
	all  []string
	fail error
}

func (l *letters) Send(_ context.Context, id, subject, text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return l.fail
	}
	l.all = append(l.all, id+"\n"+subject+"\n"+text)
	return nil
}

// A digest tells in one mail what came since the last, at its time, and is the same mail
// when it is sent again. Nothing is told where nothing came.
func TestDigest(t *testing.T) {
	b, mail := newBench(t, 2), &letters{}
	registry := prometheus.NewRegistry()
	n, err := New(config.Notify{}, Deps{Connect: b.Factory(), Codec: b.Codec, Prefix: members.Prefix, Log: members.Logger(t), Now: b.now, Registry: registry, Metrics: member.NewMetrics(registry), Pages: "https://h.example"})
	if err != nil {
		t.Fatal(err)
	}
	n.cfg = configured(config.NotifyTarget{ID: "people"})
	d := n.newDigest(config.NotifyTarget{ID: "people", Digest: config.Duration(24 * time.Hour)}, mail)
	once := func(want int) {
		t.Helper()
		if _, err := d.once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(mail.all) != want {
			t.Fatalf("%d digests were sent, want %d", len(mail.all), want)
		}
	}
	b.Produce(event("before", ofFile("old.zip", "download", "failed", "timeout")))
	once(0) // it begins
	b.fail(150, 2)
	once(0) // it is not due
	b.turn(24 * time.Hour)
	mail.fail = errors.New("no")
	if _, err := d.once(t.Context()); err == nil {
		t.Fatal("a digest that was not sent counts as sent")
	}
	mail.fail = nil
	once(1)
	_, text, _ := strings.Cut(mail.all[0], "\n")
	if !strings.HasPrefix(text, "300 file_failed\n300 file_failed\n\n2026-11-26T20:00:00Z  add/") || strings.Count(text, "failed in download: timeout") != listed || strings.Count(text, "\n    https://h.example/files/add/") != listed || !strings.HasSuffix(text, "\nand 100 more\n") {
		t.Errorf("the digest is %.500s", text)
	}
	once(1)
	b.turn(24 * time.Hour)
	once(1) // nothing came
	b.fail(1, 1)
	once(1)
	b.turn(24 * time.Hour)
	admin := kadm.NewClient(b.Client)
	before, err := admin.FetchOffsets(t.Context(), Group(members.Prefix, "people"))
	if err != nil {
		t.Fatal(err)
	}
	once(2)
	// A kill between mail and commit leaves the position where it was.
	if err := admin.CommitAllOffsets(t.Context(), Group(members.Prefix, "people"), before.Offsets()); err != nil {
		t.Fatal(err)
	}
	b.fail(2, 2)
	once(3)
	if first, again := mail.all[1][:36], mail.all[2][:36]; first != again {
		t.Errorf("sent again, the digest %s is %s", first, again)
	}
}

// A target that is away is left in peace between attempts, whatever waits for it, until
// each of its notices is to be tried once more before it is given up.
func TestATargetIsLeftInPeace(t *testing.T) {
	now := clock()
	s := &sender{target: "ops", giveUp: time.Hour, pauses: backoff.Exponential{Base: time.Second, Max: time.Minute}, now: func() time.Time { return now },
		told: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "x_total", Help: "Of the test."}, []string{"target", "result"}), log: members.Logger(t), quiet: kafka.NewQuiet(time.Now), recent: map[string]bool{}}
	if err := s.ready(); err != nil {
		t.Errorf("before any failure: %v", err)
	}
	_ = s.ended(notice.Notice{ID: "1"}, errors.New("away"))
	if s.ready() == nil {
		t.Error("it is asked again at once")
	}
	now = now.Add(time.Second)
	if err := s.ready(); err != nil {
		t.Errorf("a second later: %v", err)
	}
	now = now.Add(time.Hour)
	_ = s.ended(notice.Notice{ID: "1"}, errors.New("away"))
	if err := s.ready(); err != nil {
		t.Errorf("while it is given up: %v", err)
	}
	_ = s.ended(notice.Notice{ID: "2"}, nil)
	_ = s.ended(notice.Notice{ID: "3"}, &notice.Refused{Why: "no"})
	if err := s.ready(); err != nil || !s.remembers("2") || s.remembers("3") {
		t.Errorf("once it is back: %v", err)
	}
	for n := range remembered {
		s.remember(fmt.Sprint(n, "."))
	}
	if s.remembers("2") || len(s.recent) != remembered {
		t.Errorf("%d notices are remembered", len(s.recent))
	}
}
