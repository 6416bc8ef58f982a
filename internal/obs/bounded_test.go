package obs

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"tributary/internal/config"
)

// No value makes a log line longer than it may be, whoever chose it.
func TestALogLineIsBounded(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		log, err := NewLogger(&out, false, config.Log{Level: "info", Format: format}, &slog.LevelVar{})
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("A", 5<<20)
		log.Warn("m", "error", errors.New(long), "text", long)
		if n := out.Len(); n > 3*maxValue || !strings.Contains(out.String(), "5242880 bytes") {
			t.Errorf("%s: a line of %d bytes", format, n)
		}
	}
}
