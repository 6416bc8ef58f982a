package live

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pipes is a listener without a network, so that a real server runs in virtual time.
type pipes struct {
	made chan net.Conn
	done chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.made:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.done); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.made <- server
	return client, nil
}

// bench is a feed that is served, and a tracker that stands somewhere.
type bench struct {
	t        *testing.T
	feed     *Feed
	position atomic.Value
	asked    atomic.Int64
	client   *http.Client
	pipes    *pipes
	stop     context.CancelFunc
}

func newBench(t *testing.T, cfg Config) *bench {
	ctx, stop := context.WithCancel(t.Context())
	b := &bench{t: t, stop: stop, pipes: &pipes{make(chan net.Conn), make(chan struct{})}}
	b.position.Store("1")
	b.feed = New(cfg, Deps{Log: slog.New(slog.DiscardHandler), Position: func(context.Context) (string, error) {
		b.asked.Add(1)
		p := b.position.Load().(string)
		if p == "" {
			return "", errors.New("the tracker is away")
		}
		return p, nil
	}})
	server := &http.Server{Handler: b.feed.Handler(), ReadTimeout: 30 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	b.client = &http.Client{Transport: &http.Transport{DialContext: b.pipes.dial}}
	ended := make(chan error, 2)
	go func() { ended <- b.feed.Run(ctx) }()
	go func() { ended <- server.Serve(b.pipes) }()
	t.Cleanup(func() {
		stop()
		b.client.CloseIdleConnections()
		if err := server.Shutdown(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := <-ended; err != nil && !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		}
	})
	synctest.Wait()
	return b
}

// heard is a line that a reader got, and when.
type heard struct {
	After time.Duration
	Line  string
}

// reader listens from an id on; what it gets comes out of the channel, which is
// closed with the stream.
func (b *bench) reader(header string, query string) <-chan heard {
	b.t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://tributary/events"+query, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if header != "" {
		r.Header.Set("Last-Event-ID", header)
	}
	answer, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		answer.Body.Close()
		b.t.Fatalf("answer is %s, %v", answer.Status, answer.Header)
	}
	begun, lines := time.Now(), make(chan heard, 1000)
	go func() {
		defer close(lines)
		defer answer.Body.Close()
		for s := bufio.NewScanner(answer.Body); s.Scan(); {
			if s.Text() != "" && s.Text() != ": changes of the tracker" {
				lines <- heard{time.Since(begun), s.Text()}
			}
		}
	}()
	synctest.Wait()
	return lines
}

// now is what has come by now.
func now(lines <-chan heard) []heard {
	synctest.Wait()
	var all []heard
	for {
		select {
		case l, ok := <-lines:
			if !ok {
				return append(all, heard{Line: "end"})
			}
			all = append(all, l)
		default:
			return all
		}
	}
}

// Whatever happens within a second is one event, at its next question.
func TestAChangeIsToldOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		lines := b.reader("1", "")
		time.Sleep(4900 * time.Millisecond)
		for _, p := range []string{"2", "3", "4"} {
			b.position.Store(p)
		}
		time.Sleep(3 * time.Second)
		if d := cmp.Diff([]heard{{5 * time.Second, "id: 4"}, {5 * time.Second, "data: 2000-01-01T00:00:05Z"}}, now(lines)); d != "" {
			t.Errorf("told (-want +got):\n%s", d)
		}
		if b.feed.Position(t.Context()) != "4" || b.asked.Load() != 8 {
			t.Errorf("position %s after %d questions", b.feed.Position(t.Context()), b.asked.Load())
		}
	})
}

// Nobody asks the tracker while nobody listens, however often readers come and go; who
// reads a page has it asked, once a second at most.
func TestNobodyIsAskedForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		asked := func(want int64, when string) {
			t.Helper()
			synctest.Wait()
			if got := b.asked.Swap(0); got != want {
				t.Errorf("%s: asked %d times, want %d", when, got, want)
			}
		}
		time.Sleep(time.Hour)
		asked(0, "nobody has come yet")
		for range 10 {
			if got := b.feed.Position(t.Context()); got != "1" {
				t.Errorf("a page is told that the tracker stands at %q", got)
			}
		}
		b.position.Store("2")
		time.Sleep(every)
		if got := b.feed.Position(t.Context()); got != "2" {
			t.Errorf("a second later a page is told that the tracker stands at %q", got)
		}
		asked(2, "pages are read")
		for range 75 {
			if !b.feed.enter() {
				t.Fatal("there is no room")
			}
			synctest.Wait()
			b.feed.leave()
			time.Sleep(every / 50)
		}
		asked(1, "readers come and go for a second and a half")
		time.Sleep(time.Hour)
		asked(0, "everybody has gone")
	})
}

// A reader is told at once of what has changed since what it knows, and of nothing
// else. What it says in the header counts more than its address, which is as old as
// its page.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		b.position.Store("7")
		time.Sleep(time.Second)
		for _, c := range []struct{ header, query, want string }{
			{"", "", "id: 7"}, {"", "?after=6", "id: 7"}, {"", "?after=7", ""}, {"6", "?after=7", "id: 7"}, {"7", "?after=6", ""},
		} {
			got := ""
			if all := now(b.reader(c.header, c.query)); len(all) > 0 {
				got = all[0].Line
			}
			if got != c.want {
				t.Errorf("Last-Event-ID %q and %q: got %q, want %q", c.header, c.query, got, c.want)
			}
		}
	})
}

// In silence comments come; neither the server's time for reading requests nor that
// for writing ends a stream. A tracker that is away for a while is no event.
func TestSilenceGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		lines := b.reader("1", "")
		b.position.Store("")
		time.Sleep(time.Minute)
		b.position.Store("1")
		time.Sleep(5 * time.Second)
		want := []heard{{15 * time.Second, ":"}, {30 * time.Second, ":"}, {45 * time.Second, ":"}, {time.Minute, ":"}}
		if d := cmp.Diff(want, now(lines)); d != "" {
			t.Errorf("heard (-want +got):\n%s", d)
		}
	})
}

// A stream ends after some minutes, and says so: who reads on is looked at again.
func TestAStreamEndsAfterSomeMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		lines := b.reader("1", "")
		time.Sleep(StreamTime + time.Second)
		all := now(lines)
		want := []heard{{StreamTime, "event: again"}, {StreamTime, "data:"}, {Line: "end"}}
		if d := cmp.Diff(want, all[max(0, len(all)-3):]); d != "" {
			t.Errorf("heard at last (-want +got):\n%s", d)
		}
	})
}

// Who doesn't read what is sent is dropped.
func TestAReaderThatDoesNotReadIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{Readers: 1})
		conn, err := b.pipes.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /events HTTP/1.1\r\nHost: tributary\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if b.feed.enter() {
			t.Fatal("the reader doesn't count")
		}
		time.Sleep(writeTime)
		synctest.Wait()
		if !b.feed.enter() {
			t.Error("it still counts")
		}
	})
}

// More readers than there is room for are told when to come again; who leaves makes
// room.
func TestReadersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{Readers: 2})
		ctx, leave := context.WithCancel(t.Context())
		first, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://tributary/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		stays, err := b.client.Do(first)
		if err != nil {
			t.Fatal(err)
		}
		defer stays.Body.Close()
		b.reader("1", "")
		refused, err := b.client.Get("http://tributary/events")
		if err != nil {
			t.Fatal(err)
		}
		defer refused.Body.Close()
		said, _ := io.ReadAll(refused.Body)
		if refused.StatusCode != http.StatusServiceUnavailable || refused.Header.Get("Retry-After") != "30" || !strings.Contains(string(said), "2 readers") {
			t.Errorf("answer is %s, %v: %s", refused.Status, refused.Header, said)
		}
		leave()
		synctest.Wait()
		b.reader("1", "")
	})
}

// One question a second wakes 500 readers, and nothing is left of them when the server
// ends: a goroutine that stays fails the test.
func TestManyReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		var all []<-chan heard
		for range 500 {
			all = append(all, b.reader("1", ""))
		}
		before := b.asked.Load()
		b.position.Store("2")
		const seconds = 500/told + 1
		time.Sleep(seconds * time.Second)
		synctest.Wait()
		if asked := b.asked.Load() - before; asked != seconds {
			t.Errorf("the tracker was asked %d times in %d seconds", asked, seconds)
		}
		b.stop()
		for i, lines := range all {
			if got := now(lines); len(got) != 3 || got[0].Line != "id: 2" || got[2].Line != "end" {
				t.Fatalf("reader %d heard %v", i, got)
			}
		}
	})
}

// The more readers there are, the less often each is told: so many in a second and no
// more, in turn, each of what is so when its turn comes.
func TestManyReadersAreToldInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		const readers = 5 * told
		var all []<-chan heard
		for range readers {
			all = append(all, b.reader("1", ""))
		}
		time.Sleep(every / 2) // between two questions, so that each finds what is so, and is heard of
		const seconds = 60
		for n := range seconds {
			b.position.Store(strconv.Itoa(2 + n))
			time.Sleep(time.Second)
		}
		events, each, last := map[time.Duration]int{}, []int{}, 0
		for _, lines := range all {
			heard := 0
			for _, l := range now(lines) {
				if id, is := strings.CutPrefix(l.Line, "id: "); is {
					events[l.After.Truncate(time.Second)]++
					heard++
					at, err := strconv.Atoi(id)
					if err != nil || at < int(l.After/time.Second) {
						t.Fatalf("after %s a reader is told of %s", l.After, id)
					}
					last = max(last, at)
				}
			}
			each = append(each, heard)
		}
		for second, n := range events {
			if n > told+1 && second > 2*time.Second {
				t.Errorf("%d are told in the second after %s", n, second)
			}
		}
		if lo, hi := slices.Min(each), slices.Max(each); lo < seconds/5-1 || hi > seconds/5+2 {
			t.Errorf("of %d changes some were told of %d and others of %d", seconds, lo, hi)
		}
		if last != seconds+1 {
			t.Errorf("the last change that anybody heard of is %d", last)
		}
	})
}
