package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// maxResident bounds the memory of all roles in one process, in bytes.
const maxResident = 300e6

// A document of 200 MB and a zip of 60,000 entries, 2,000 of them documents, go
// through in little memory.
func TestBigDocumentsFitInMemory(t *testing.T) {
	t.Parallel()
	long(t, "TestMemoryStaysFlat")
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Big}, rig.Options{Local: true, Extra: "poll:\n  settle: 0s\n"})
	s.engines(func(engine.Endpoints) {
		p := s.start("run", "all")
		s.settled(p)
		if peak := p.peak(); peak > maxResident {
			t.Errorf("tributary run all needed %d MB of memory, more than %d", peak/1e6, int(maxResident/1e6))
		} else {
			t.Logf("tributary run all needed %d MB of memory", peak/1e6)
		}
		got := s.see()
		differ(t, "files", s.wantFiles(got, false), got.Files)
		differ(t, "documents", wantDocuments(s.corpus.Oracle, got), got.Documents)
		counts := sql[corpus.Counts](s, "warehouse", `SELECT (SELECT count(*) FROM warehouse.current_specimen) AS specimens,
			(SELECT count(*) FROM warehouse.current_procedure_run) AS runs, (SELECT count(*) FROM warehouse.current_measurement) AS measurements`)
		if diff := gocmp.Diff([]corpus.Counts{s.corpus.Oracle.Counts}, counts); diff != "" {
			t.Errorf("rows (-oracle +seen):\n%s", diff)
		}
		p.stop()
	})
}

// peak is the most resident memory that the process has had, in bytes.
func (p *process) peak() int64 {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Skipf("skipped: peak memory is read from /proc: %v", err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, is := strings.CutPrefix(line, "VmHWM:"); is {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return kb << 10
		}
	}
	p.t.Fatal("no VmHWM in /proc/PID/status")
	return 0
}
