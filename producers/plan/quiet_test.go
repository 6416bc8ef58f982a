package plan

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// Whoever writes what nobody can read does not fill the log.
func TestARecordThatCannotBeReadIsLoggedOnceInAWhile(t *testing.T) {
	var log bytes.Buffer
	p := newPlanner()
	p.deps.Log = slog.New(slog.NewTextHandler(&log, nil))
	p.deps.Outbox.Codec = codec(t)
	r := sink.Range{Topic: schemas.FileDiscoveredTopic}
	for n := range int64(1000) {
		r.Records = append(r.Records, &kgo.Record{Topic: "tributary." + schemas.FileDiscoveredTopic, Offset: n, Value: []byte("?")})
	}
	if _, err := p.decode([]sink.Range{r}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines for 1000 records", n)
	}
}
