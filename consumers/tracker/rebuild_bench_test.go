package tracker

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/schemas"
	trackersql "tributary/sql/tracker"
)

const (
	benchEvents = "TRIBUTARY_REBUILD_EVENTS" // how many; make bench ROW=rebuild sets it
	benchBroker = "TRIBUTARY_REBUILD_BROKER" // makes the test binary a broker
	benchRounds = 3                          // of a short run; the best counts
	longRun     = 1_000_000                  // events, of which one round is enough
	leastShare  = 0.3
	mostMemory  = 500 << 20
)

// TestRebuildBesideCopy rebuilds the tracker from a log of whole files, then
// copies the same rows, prepared in the database's own format, into equal
// tables, in one run on one machine. The rebuild must reach 0.3 of the rows
// per second of the copy, within 500 MB.
func TestRebuildBesideCopy(t *testing.T) {
	if os.Getenv(benchEvents) == "" {
		t.Skip("a measurement: make bench ROW=rebuild")
	}
	events, err := strconv.Atoi(os.Getenv(benchEvents))
	if err != nil {
		t.Fatalf("%s: %v", benchEvents, err)
	}
	settings := config.Default().Kafka
	s := &system{t: t, pool: database(t), prefix: settings.TopicPrefix, topic: kafka.TopicName(settings.TopicPrefix, schemas.StatusChangedTopic),
		connect: kafka.NewFactory(settings, []string{brokerProcess(t)}, slog.New(slog.DiscardHandler))}
	if s.client, err = s.connect(); err != nil {
		t.Fatal(err)
	}
	defer s.client.Close()
	s.makeTopic()
	s.builder = s.build(s.pool)
	s.builder.Window = 0
	events = s.produceFiles(events)

	s.builder.Told = steps(t)
	var peak, rows int64
	best := map[string]time.Duration{}
	keep := func(what string, took time.Duration) {
		if old, ok := best[what]; !ok || took < old {
			best[what] = took
		}
		t.Logf("%s: %.2f s", what, took.Seconds())
	}
	rounds := benchRounds
	if events > longRun {
		rounds = 1
	}
	for range rounds {
		runtime.GC()
		debug.FreeOSMemory()
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
			t.Log("the peak of memory is that of the whole test: ", err)
		}
		start, before := time.Now(), cpuOf(t, s)
		r, err := s.builder.Rebuild(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		keep("rebuild", time.Since(start))
		peak = max(peak, peakMemory(t))
		used := cpuOf(t, s)
		t.Logf("CPU: %.2f s here, %.2f s in the database; peak %d MB", (used[0] - before[0]).Seconds(), (used[1] - before[1]).Seconds(), peak>>20)
		if r.Records != int64(events) {
			t.Errorf("built from %d records of %d", r.Records, events)
		}
		dir := t.TempDir()
		rows = s.dumpTo(dir)
		keep("copy into bare tables", s.copyFrom(dir, "bare", "CREATE TABLE bare.%[1]s (LIKE tracker.%[1]s INCLUDING GENERATED)"))
		if err := trackersql.MigrateInto(t.Context(), s.pool, "whole"); err != nil {
			t.Fatal(err)
		}
		for _, name := range tableNames() { // their pages are filled, as those of a rebuild are
			s.exec("ALTER TABLE whole." + name + " RESET (fillfactor)")
		}
		keep("copy into whole tables", s.copyFrom(dir, "whole", ""))
		s.exec("SET client_min_messages = warning; DROP SCHEMA bare CASCADE; DROP SCHEMA whole CASCADE")
	}
	rate := func(what string, n int64) float64 { return float64(n) / best[what].Seconds() }
	share := func(of string) float64 { return best[of].Seconds() / best["rebuild"].Seconds() }
	t.Logf("%d events, %d rows, the best of %d: rebuild %.0f events/s, %.0f rows/s; peak %d MB", events, rows, rounds,
		rate("rebuild", int64(events)), rate("rebuild", rows), peak>>20)
	for _, of := range []string{"copy into whole tables", "copy into bare tables"} {
		t.Logf("%s: %.0f rows/s; the rebuild reaches %.2f of it", of, rate(of, rows), share(of))
	}
	t.Logf("bench rebuild ours=%.2fs peer=%.2fs ratio=%.2f rounds=%d memory=%dMB", best["rebuild"].Seconds(), best["copy into whole tables"].Seconds(), share("copy into whole tables"), rounds, peak>>20)
	if share("copy into whole tables") < leastShare {
		t.Errorf("the rebuild reaches less than %.2f of the copy", leastShare)
	}
	if peak > mostMemory {
		t.Errorf("the rebuild took %d MB, want at most %d", peak>>20, mostMemory>>20)
	}
}

// steps logs how long the steps of a rebuild took.
func steps(t *testing.T) func(Progress) {
	var last string
	begin := time.Now()
	return func(p Progress) {
		if p.Step != last {
			if last != "" {
				t.Logf("%s: %.1f s", last, time.Since(begin).Seconds())
			}
			last, begin = p.Step, time.Now()
		}
	}
}

// produceFiles appends the logs of whole files, the steps of a hundred side by
// side, and returns how many events these are.
func (s *system) produceFiles(events int) int {
	s.t.Helper()
	tr := newTracker(s.t, s.pool)
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	n := 0
	for file := 0; n < events; file += 100 {
		var files [][]schemas.StatusChanged
		for i := range 100 {
			files = append(files, wholeFile(fmt.Sprintf("H.2012-10-02.%d.impc.zip", file+i)))
		}
		for step := range files[0] {
			for i := range files {
				now = now.Add(time.Microsecond)
				r := record(s.t, tr, event{now, files[i][step]}, int64(n))
				r.Topic, r.Key = s.topic, []byte(files[i][step].File)
				s.client.Produce(s.t.Context(), r, func(_ *kgo.Record, err error) {
					if err != nil {
						s.t.Error(err)
					}
				})
				n++
			}
		}
	}
	if err := s.client.Flush(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// dumpTo writes every table's rows to a file each, in the database's own
// format, and returns how many they are.
func (s *system) dumpTo(dir string) (rows int64) {
	s.t.Helper()
	for _, name := range tableNames() {
		s.withFile(filepath.Join(dir, name), func(f *os.File, conn *pgxpool.Conn) error {
			w := bufio.NewWriter(f)
			tag, err := conn.Conn().PgConn().CopyTo(s.t.Context(), w, "COPY tracker."+name+" TO STDOUT (FORMAT binary)")
			rows += tag.RowsAffected()
			if err == nil {
				err = w.Flush()
			}
			return err
		})
	}
	return rows
}

// copyFrom copies the files into the tables of a schema, and returns how long
// it took.
func (s *system) copyFrom(dir, schema, create string) (took time.Duration) {
	s.t.Helper()
	if create != "" {
		s.exec("CREATE SCHEMA " + schema)
	} else {
		s.exec("INSERT INTO " + schema + ".an_exception SELECT * FROM tracker.an_exception")
	}
	for _, name := range tableNames() {
		if create != "" {
			s.exec(fmt.Sprintf(create, name))
		}
		s.withFile(filepath.Join(dir, name), func(f *os.File, conn *pgxpool.Conn) error {
			if _, err := conn.Exec(s.t.Context(), "SET synchronous_commit = off", pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
			start := time.Now()
			_, err := conn.Conn().PgConn().CopyFrom(s.t.Context(), bufio.NewReaderSize(f, 1<<20), "COPY "+schema+"."+name+" FROM STDIN (FORMAT binary)")
			took += time.Since(start)
			return err
		})
	}
	return took
}

func (s *system) withFile(path string, fn func(*os.File, *pgxpool.Conn) error) {
	s.t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	conn, err := s.pool.Acquire(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Release()
	if err := fn(f, conn); err != nil {
		s.t.Fatalf("%s: %v", filepath.Base(path), err)
	}
}

// peakMemory is the most that this process has had in memory.
func peakMemory(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("memory can be measured on Linux only")
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// brokerProcess starts a broker in memory in a process of its own, whose
// memory is not ours, and returns its address.
func brokerProcess(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestBrokerProcess$")
	cmd.Env = append(os.Environ(), benchBroker+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// TestBrokerProcess is the broker of another process, until that ends.
func TestBrokerProcess(t *testing.T) {
	if os.Getenv(benchBroker) == "" {
		t.Skip("it is run by TestRebuildBesideCopy")
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Println(c.ListenAddrs()[0])
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// cpuOf is the CPU time that this process has used, and that the database's
// processes of this test have.
func cpuOf(t *testing.T, s *system) (out [2]time.Duration) {
	t.Helper()
	pids, err := column(s.pool, "SELECT pid::text FROM pg_stat_activity WHERE datname = current_database()")
	if err != nil {
		t.Fatal(err)
	}
	const tick = time.Second / 100
	for i, pid := range append(pids, "self") {
		text, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		for _, f := range fields[11:13] {
			n, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			which := 1
			if i == len(pids) {
				which = 0
			}
			out[which] += time.Duration(n) * tick
		}
	}
	return out
}
