package main

import (
	"cmp"
	"fmt"
	"os/exec"
	"strings"
)

// row is one line of the table.
type row struct {
	name, work, beside string
	// asked is the least that the value may be, or, with most, the most; unit is what it
	// is counted in, empty for a ratio.
	asked float64
	most  bool
	unit  string
	// needs are programs of others.
	needs []string
	// command measures it, and prints a line that holds line and words key=value, of which
	// value (ratio, if none is named) is the one that is asked for, and ours and peer (the
	// same, if none is named) what it is of. BINARY stands for the program.
	command, line, value, ours, peer string
	// onlyOnce is of a bench that has no rounds.
	onlyOnce bool
}

const (
	pipeline = "go run ./bench/pipeline -binary BINARY"
	transfer = "go run ./bench/transfer -protocols "
	archive  = "go run ./bench/archive"
	insert   = "go run ./bench/insert"
	rebuild  = " TRIBUTARY_REQUIRE_ENGINES=1 go test -count=1 -timeout 0 -v -run ^TestRebuildBesideCopy$ ./consumers/tracker"
	verify   = "go run ./bench/verify -binary BINARY"
	burst    = "go run ./bench/burst -binary BINARY"
)

// rows are all that is measured, in the order in which it is.
var rows = []row{
	{name: "pipeline", work: "2,000 zips over SFTP, ordered, loaded, checked, in the history", beside: "lftp, unzip and xmllint without a database",
		asked: 1, needs: []string{"lftp", "unzip", "xmllint"}, command: pipeline, line: "bench pipeline"},
	{name: "script", work: "the same", beside: "a script in Python that loads Postgres (bench/pipeline/ingest.py)",
		asked: 1.2, needs: []string{"lftp", "unzip", "xmllint", "python3"}, command: pipeline, line: "bench script"},
	{name: "memory", work: "the program's resident peak in the same", beside: "nothing",
		asked: 300, most: true, unit: "MB", needs: []string{"lftp", "unzip", "xmllint"}, command: pipeline, line: "bench pipeline", value: "memory"},
	{name: "growth", work: "the processor's time per zip of 8,000", beside: "that of 500",
		asked: 1.05, most: true, command: pipeline + " -growth 8000", line: "bench growth"},
	{name: "at-once", work: "10,000 zips that appear at once, zips per second", beside: "the same in runs of 500",
		asked: 0.9, command: burst + " -zips 10000 -run 500", line: "bench burst", ours: "once", peer: "runs"},
	{name: "first", work: "the first document of 4,000 zips of one centre that appear at once", beside: "nothing",
		asked: 3, most: true, unit: "s", command: burst + " -zips 4000 -centres 1 -run 0", line: "bench burst", value: "first"},
	{name: "one-file", work: "one new file, from its listing to the warehouse, with nothing else to do", beside: "nothing",
		asked: 0.4, most: true, unit: "s", command: "go run ./bench/onefile -binary BINARY", line: "bench one-file", value: "ours"},
	{name: "idle", work: "four sources polled every 2 s without news", beside: "one processor",
		asked: 0.05, most: true, unit: "processors", command: "go run ./bench/idle -binary BINARY", line: "bench idle", value: "processors", onlyOnce: true},
	{name: "sftp-small", work: "5,000 files of 20 KB over SFTP, hashed and durable", beside: "lftp", asked: 2, needs: []string{"lftp"}, command: transfer + "sftp", line: "bench transfer sftp small"},
	{name: "sftp-large", work: "20 files of 50 MB over SFTP", beside: "lftp", asked: 1.2, needs: []string{"lftp"}, command: transfer + "sftp", line: "bench transfer sftp large"},
	{name: "ftp-small", work: "5,000 files of 20 KB over FTP", beside: "lftp", asked: 1.2, needs: []string{"lftp"}, command: transfer + "ftp", line: "bench transfer ftp small"},
	{name: "ftp-large", work: "20 files of 50 MB over FTP", beside: "lftp", asked: 1.2, needs: []string{"lftp"}, command: transfer + "ftp", line: "bench transfer ftp large"},
	{name: "http-small", work: "5,000 files of 20 KB over HTTP", beside: "aria2c", asked: 1, needs: []string{"aria2c"}, command: transfer + "http", line: "bench transfer http small"},
	{name: "http-large", work: "20 files of 50 MB over HTTP", beside: "aria2c", asked: 1, needs: []string{"aria2c"}, command: transfer + "http", line: "bench transfer http large"},
	{name: "http-small-floor", work: "5,000 files of 20 KB over HTTP", beside: "the floor", asked: 0.8, needs: []string{"aria2c"}, command: transfer + "http", line: "bench transfer http small", value: "of_floor", peer: "floor"},
	{name: "http-large-floor", work: "20 files of 50 MB over HTTP", beside: "the floor", asked: 0.8, needs: []string{"aria2c"}, command: transfer + "http", line: "bench transfer http large", value: "of_floor", peer: "floor"},
	{name: "s3-small", work: "5,000 files of 20 KB over S3", beside: "rclone", asked: 1, needs: []string{"rclone"}, command: transfer + "s3", line: "bench transfer s3 small"},
	{name: "s3-large", work: "20 files of 50 MB over S3", beside: "rclone", asked: 1, needs: []string{"rclone"}, command: transfer + "s3", line: "bench transfer s3 large"},
	{name: "s3-small-floor", work: "5,000 files of 20 KB over S3", beside: "the floor", asked: 0.8, needs: []string{"rclone"}, command: transfer + "s3", line: "bench transfer s3 small", value: "of_floor", peer: "floor"},
	{name: "s3-large-floor", work: "20 files of 50 MB over S3", beside: "the floor", asked: 0.8, needs: []string{"rclone"}, command: transfer + "s3", line: "bench transfer s3 large", value: "of_floor", peer: "floor"},
	{name: "ftp-listing", work: "100,000 zips listed by FTP, known from before", beside: "lftp cls", asked: 2, needs: []string{"lftp"}, command: "go run ./bench/listing", line: "bench listing"},
	{name: "unzip", work: "680 MB of a zip inflated, checked and hashed", beside: "unzip", asked: 1.8, needs: []string{"unzip", "bsdtar"}, command: archive, line: "bench archive unzip"},
	{name: "bsdtar", work: "the same", beside: "bsdtar", asked: 0.8, needs: []string{"unzip", "bsdtar"}, command: archive, line: "bench archive bsdtar"},
	{name: "xsd", work: "5,000 documents of 8 KB judged, on all processors", beside: "xmllint in one process", asked: 4, needs: []string{"xmllint"}, command: "go run ./bench/xsd", line: "bench xsd"},
	{name: "load", work: "a document of 4,000 experiments loaded", beside: "COPY of its rows", asked: 0.6, command: insert, line: "bench insert"},
	{name: "load-end", work: "the same with the batch's end", beside: "COPY of its rows", asked: 0.45, command: insert, line: "bench batch-end"},
	{name: "rebuild", work: "the tracker rebuilt of 150,000 events", beside: "COPY of its rows", asked: 0.5, command: "TRIBUTARY_REBUILD_EVENTS=150000" + rebuild, line: "bench rebuild", onlyOnce: true},
	{name: "rebuild-long", work: "the tracker rebuilt of 5 million events", beside: "COPY of its rows", asked: 0.65, command: "TRIBUTARY_REBUILD_EVENTS=5000000" + rebuild, line: "bench rebuild", onlyOnce: true},
	{name: "verify-tracker", work: "tracker verify at 8,000 zips", beside: "one scan of what it compares", asked: 0.25, command: verify, line: "bench verify tracker"},
	{name: "verify-history", work: "history verify at 8,000 zips", beside: "one scan of what it compares", asked: 0.25, command: verify, line: "bench verify history"},
	{name: "verify-warehouse", work: "warehouse verify at 8,000 zips", beside: "one scan of what it compares", asked: 0.25, command: verify, line: "bench verify warehouse"},
}

// missing are the programs that the row needs and that are not there.
func (r row) missing() (out []string) {
	for _, program := range r.needs {
		if _, err := exec.LookPath(program); err != nil {
			out = append(out, program)
		}
	}
	return out
}

// asks is what the row must reach.
func (r row) asks() string {
	if r.most {
		return strings.TrimSpace(fmt.Sprintf("≤ %g %s", r.asked, r.unit))
	}
	return fmt.Sprintf("≥ %g", r.asked)
}

// read finds the row in what its bench has printed.
func (r row) read(printed string) []string {
	line := []string{r.name, "", "", "", r.asks(), "", "not measured"}
	words := r.words(printed)
	key := cmp.Or(r.value, "ratio")
	var value float64
	if _, err := fmt.Sscanf(words[key], "%f", &value); err != nil {
		return line
	}
	line[1], line[2], line[5] = words[cmp.Or(r.ours, "ours")], words[cmp.Or(r.peer, "peer")], words["rounds"]
	if r.unit != "" {
		line[1] = strings.TrimSuffix(words[key], r.unit) + " " + r.unit
	} else {
		line[3] = words[key]
	}
	line[6] = "reached"
	if r.most && value > r.asked || !r.most && value < r.asked {
		line[6] = "not reached"
	}
	return line
}

// words are those of the row's line, by key. Of several lines the last counts.
func (r row) words(printed string) map[string]string {
	words := map[string]string{}
	for line := range strings.Lines(printed) {
		if _, rest, found := strings.Cut(line, r.line+" "); found {
			clear(words)
			for _, word := range strings.Fields(rest) {
				if key, value, ok := strings.Cut(word, "="); ok {
					words[key] = value
				}
			}
		}
	}
	return words
}
