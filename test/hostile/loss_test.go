package hostile

import (
	"fmt"
	"strings"
	"testing"
)

// Where three packets in ten are lost, all that servers have arrives whole all the same:
// what TCP can't mend in time ends by its name, nothing is taken for gone, and it is tried
// again. Nobody else waits for it.
func TestPacketLoss(t *testing.T) {
	t.Parallel()
	over := lossy(t, 0.3)
	// What is cut off soon here is given the time that is the default elsewhere, and as many
	// attempts as bad luck may take: one connection in fifteen isn't made in time.
	yaml := strings.NewReplacer("attempts: 1", "attempts: 20", "timeout: 20s", "timeout: 2m, idle_timeout: 20s", "download: {", "download: {idle_timeout: 20s, ",
		"job_budget: 20s", "job_budget: 2m", "rate_grace: 3s", "rate_grace: 30s").Replace(settings())
	w := setUp(t, 4, yaml)
	for i, protocol := range []string{"ftp", "sftp", "http", "s3"} {
		w.addAt(over, protocol, kind{name: "loss", size: 20_000}, "", uint64(i))
	}
	w.configure(true)
	p := w.up()
	w.must(w.goodInserted)
	w.must(func() string {
		rows, err := w.rows(`SELECT file, exception, size_bytes FROM tracker.file WHERE file LIKE 'J.%' AND ended AND exception = $1 ORDER BY file`, honest)
		if err != nil || len(rows) != len(w.hostile) {
			all, _ := w.rows(`SELECT file, phase, status, exception, attempts FROM tracker.file WHERE file LIKE 'J.%' ORDER BY file`)
			polls, _ := w.rows(`SELECT source, state, exception, count(*) FROM control.poll WHERE source LIKE 'x%' GROUP BY 1, 2, 3 ORDER BY 1`)
			return fmt.Sprintf("%d of %d files have come whole: %v %v; polls %v", len(rows), len(w.hostile), all, err, polls)
		}
		for i, s := range w.hostile {
			if want := fmt.Sprint(s.file, " ", honest, " ", len(s.zip)); rows[i] != want {
				return fmt.Sprintf("%s came, want %s", rows[i], want)
			}
		}
		return ""
	})
	for _, wrong := range w.judge(make([]uint64, len(w.hostile))) {
		t.Error(wrong)
	}
	w.must(w.none("files taken for gone", `SELECT source, name FROM control.hosting WHERE state = 'gone'`))
	if sent, lost := over.sent.Load(), over.lost.Load(); sent < 300 || lost*10 < sent*2 || lost*10 > sent*4 {
		t.Errorf("%d of %d packets were lost, so this was no such network", lost, sent)
	}
	if wrong := p.stop(); wrong != "" {
		t.Error(wrong)
	}
}
