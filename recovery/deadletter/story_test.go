//go:build !race

package deadletter

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
)

// The story of a letter shows what others wrote, but not as control sequences.
func TestLetterStory(t *testing.T) {
	codec := schemastest.Codec(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := &Standing{State: control.LetterDropped, Deaths: 2, Decided: control.DeadLetter{Attempt: 3, Forced: true,
		Retry: control.Decision{By: "ann@host", Reason: "mended", At: at}, Drop: control.Decision{By: "bob@host", At: at}}}
	l.Letter = &Letter{ID: "validate:1:2", Stage: "validate", Topic: schemas.DocumentExtractedTopic, Class: "panic", Error: "bad \x1b[31m", Stack: "goroutine 1\nmain.go:7",
		Action: "add", FileName: "a.zip", Entry: "x\n.xml", OriginOffset: 9, Time: at, Problem: "no event", Record: &kgo.Record{Value: []byte(strings.Repeat("\x00", 1000)),
			Headers: []kgo.RecordHeader{{Key: "ce_id", Value: []byte("7\x1b")}, {Key: kafka.HeaderStack, Value: []byte("once is enough")}}}}
	var out strings.Builder
	if err := (&Ledger{Reader: &Reader{Codec: codec}}).Tell(l).WriteText(&out); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for _, want := range []string{"panic: bad", "offset 9", "ann@host as attempt 3: mended", "bob@host: no reason was given", "2 retries died", "ce_id: 7", "goroutine 1\n", "main.go:7\n",
		"unreadable: no event", strings.Repeat("00", maxBytesShown) + "\n", "tributary show add/a.zip"} {
		if !strings.Contains(got, want) {
			t.Errorf("the story lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") || strings.Contains(got, "once is enough") {
		t.Errorf("the story has what it should not:\n%q", got)
	}
}
