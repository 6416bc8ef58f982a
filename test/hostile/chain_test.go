package hostile

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/chain"
	"tributary/internal/kafka"
	"tributary/schemas"
)

// A5: a position that somebody writes beside sequence, forged before the genuine
// one or after it, stops insertion by name, and is said wherever one looks; a
// restart does not hide it.
func TestForgedPositions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		forge func(last *schemas.DocumentOrdered, digest string) []*schemas.DocumentOrdered
		says  string
	}{
		{"copies of the last one", func(last *schemas.DocumentOrdered, _ string) (out []*schemas.DocumentOrdered) {
			for i := range int64(3) {
				out = append(out, forgery(last, last.Position+1+i, last.Previous))
			}
			return out
		}, chain.Broken},
		{"the next one, before the genuine one", func(last *schemas.DocumentOrdered, digest string) []*schemas.DocumentOrdered {
			return []*schemas.DocumentOrdered{forgery(last, last.Position+1, digest)}
		}, chain.TakenTwice},
		{"one that was applied", func(last *schemas.DocumentOrdered, _ string) []*schemas.DocumentOrdered {
			return []*schemas.DocumentOrdered{forgery(last, last.Position, last.Previous)}
		}, chain.TakenTwice},
	} {
		t.Run(c.name, func(t *testing.T) { forgedPositions(t, c.forge, c.says) })
	}
}

// forgery is a document that has failed, at a position that it did not get.
func forgery(of *schemas.DocumentOrdered, position int64, previous string) *schemas.DocumentOrdered {
	f := *of
	f.Position, f.Previous = position, previous
	f.What, f.Result, f.Exception = schemas.PositionDocument, schemas.FailedEnd, "xsd_invalid"
	return &f
}

func forgedPositions(t *testing.T, forge func(*schemas.DocumentOrdered, string) []*schemas.DocumentOrdered, says string) {
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := door.Addr().String()
	if err := door.Close(); err != nil {
		t.Fatal(err)
	}
	w := setUp(t, 4, settings()+"http: {listen: '"+address+"'}\n")
	w.configure(false)
	p := w.up()
	w.must(w.goodInserted)
	if wrong := p.stop(); wrong != "" {
		t.Fatal(wrong)
	}
	engines := w.start("engines")
	w.must(func() string {
		_, err := w.rows("SELECT 1")
		return said(err)
	})
	w.forge(forge)
	if wrong := engines.stop(); wrong != "" {
		t.Fatal(wrong)
	}

	p = w.up()
	w.must(func() string { // each session's end is a position
		if !p.said(says + ": the record of position") {
			return "insertion has not stopped"
		}
		return ""
	})
	status, err := w.ask("status")
	if err != nil || !strings.Contains(status, says+": the record of position") {
		t.Errorf("status says %s, %v", status, err)
	}
	for path, want := range map[string]string{"/readyz?verbose": says + ": the record of position", "/metrics": "tributary_insert_chain_broken 1"} {
		if text := w.get("http://" + address + path); !strings.Contains(text, want) {
			t.Errorf("%s says %s", path, text)
		}
	}
	verify := w.start("warehouse", "verify")
	if code, ended := verify.code(); !ended || code != 1 || !strings.Contains(verify.tail(), says+": the record of position") {
		t.Errorf("warehouse verify ends with %d:\n%s", code, verify.tail())
	}
	w.goOn(says)
	if wrong := p.stop(); wrong != "" {
		t.Error(wrong)
	}
}

// goOn passes over each record at which insertion stops, as status names it, until
// none does: then what was applied is what the topic orders.
func (w *world) goOn(says string) {
	w.t.Helper()
	named := regexp.MustCompile(`(?:record of position \d+|comes|document.ordered) at offset (\d+)`)
	passed := map[string]bool{}
	begun := w.position()
	w.must(func() string {
		status, err := w.ask("status")
		if err != nil {
			return err.Error()
		}
		at := named.FindStringSubmatch(status)
		switch {
		case at == nil && w.position() <= begun+2: // a session that ends is a position
			return "insertion has not gone on"
		case at == nil:
			return ""
		case !passed[at[1]]:
			passed[at[1]] = true
			if _, err := w.ask("topics", "pass-over", schemas.DocumentOrderedTopic, "0", at[1], "--reason", "a test"); err != nil {
				w.t.Fatal(err)
			}
		}
		return "insertion stands still: " + at[0]
	})
	if len(passed) == 0 {
		w.t.Errorf("no record is named by status of those that are %s", says)
	}
	if text, err := w.ask("warehouse", "verify"); err != nil {
		w.t.Errorf("once %v are passed over: %v\n%s", passed, err, text)
	}
}

// position is what the warehouse applies next.
func (w *world) position() (next int64) {
	w.t.Helper()
	rows, err := w.rows("SELECT next_position FROM warehouse.state")
	if err == nil {
		_, err = fmt.Sscan(rows[0], &next)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return next
}

// forge writes to the one order what nobody drew.
func (w *world) forge(forge func(*schemas.DocumentOrdered, string) []*schemas.DocumentOrdered) {
	w.t.Helper()
	client := w.client()
	defer client.Close()
	codec, err := schemas.NewCodec()
	if err != nil {
		w.t.Fatal(err)
	}
	topic := kafka.TopicName("tributary", schemas.DocumentOrderedTopic)
	all := readAll(w.t.(*testing.T), client, []string{topic})[topic]
	record := all[len(all)-1]
	m, err := codec.Decode(kafka.FromKgo(record))
	if err != nil {
		w.t.Fatal(err)
	}
	last, ok := m.Body.(*schemas.DocumentOrdered)
	if !ok {
		w.t.Fatalf("the order ends with a %T", m.Body)
	}
	for _, f := range forge(last, chain.Of(record.Value).String()) {
		m.Body = f
		r, err := codec.Encode(m) // its id, too: ids prove nothing
		if err != nil {
			w.t.Fatal(err)
		}
		k := kafka.ToKgo("tributary", r)
		if err := client.ProduceSync(w.t.Context(), &kgo.Record{Topic: k.Topic, Key: k.Key, Value: k.Value, Headers: k.Headers}).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) get(url string) string {
	w.t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return fmt.Sprint(string(text), err)
	}
	return string(text)
}
