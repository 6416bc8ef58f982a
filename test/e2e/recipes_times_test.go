package e2e

import (
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// speed compares each download's size with the oracle's, and its time with the
// log's.
func (r *asked) speed() {
	r.t.Helper()
	var sizes, want, got []string
	for _, f := range r.arrived() {
		sizes = append(sizes, fmt.Sprint(f.Action, "/", f.File, " ", f.Size))
	}
	type class struct {
		n      int
		bytes  int64
		speeds []float64
	}
	classes := map[string]*class{}
	for _, f := range fetches(r.log) {
		want = append(want, fmt.Sprint(f.file, " ", f.source, " ", f.attempt, " ", f.size, " ", thousandths(f.seconds)))
		from := int64(1)
		for from*4 <= f.size {
			from *= 4
		}
		key := fmt.Sprint(f.source, " ", from)
		if classes[key] == nil {
			classes[key] = &class{}
		}
		c := classes[key]
		c.n, c.bytes, c.speeds = c.n+1, c.bytes+f.size, append(c.speeds, float64(f.size)/f.seconds)
	}
	var seen []string
	for _, row := range rows(r, "speed") {
		got = append(got, fmt.Sprint(row["file"], " ", row["source"], " ", row["attempt"], " ", int64(row["size"].(float64)), " ", row["seconds"]))
		seen = append(seen, fmt.Sprint(row["file"], " ", int64(row["size"].(float64))))
	}
	r.same("speed", want, got)
	r.same("speed (sizes)", sizes, seen)
	var wants, gots []string
	for key, c := range classes {
		slices.Sort(c.speeds)
		wants = append(wants, fmt.Sprint(key, " ", c.n, " ", c.bytes, " ", math.RoundToEven(c.speeds[0]), " ", math.RoundToEven(quantile(c.speeds, 0.5)), " ", math.RoundToEven(quantile(c.speeds, 0.95))))
	}
	for _, row := range rows(r, "speed-by-size") {
		gots = append(gots, fmt.Sprint(row["source"], " ", int64(row["size_from"].(float64)), " ", row["downloads"], " ", int64(row["bytes"].(float64)), " ", row["slowest"], " ", row["p50"], " ", row["p95"]))
	}
	r.same("speed-by-size", wants, gots)
}

func (r *asked) latency() {
	r.t.Helper()
	loads := map[string]int{}
	for _, p := range r.corpus.Oracle.Order {
		if p.Loads {
			loads[p.Centre]++
		}
	}
	var want, got []string
	for centre, v := range latencies(r.log) {
		if len(v) != loads[centre] {
			r.t.Errorf("the log has %d insertions of %s, the oracle %d", len(v), centre, loads[centre])
		}
		want = append(want, fmt.Sprint(centre, " ", loads[centre], " ", thousandths(quantile(v, 0.5)), " ", thousandths(quantile(v, 0.95)), " ", thousandths(quantile(v, 0.99)), " ", thousandths(v[len(v)-1])))
	}
	for _, row := range rows(r, "latency") {
		got = append(got, fmt.Sprint(row["of"], " ", row["documents"], " ", row["p50"], " ", row["p95"], " ", row["p99"], " ", row["most"]))
	}
	r.same("latency", want, got)
}

// backlog compares every second of the first session with the log; in the end
// nothing waits anywhere.
func (r *asked) backlog() {
	r.t.Helper()
	opened, last := r.log[0].Time, r.log[len(r.log)-1].Time
	for _, e := range r.log {
		if e.Body.Entity == "session" && e.Body.Number == 1 {
			opened = e.Body.Started.Truncate(time.Second)
			if e.Body.Finished != nil {
				last = e.Body.Finished.Add(time.Second)
			}
		}
	}
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	answered := rows(r, "backlog", "--every", "1s", "--since", stamp(opened), "--until", stamp(last))
	waited := 0
	for _, row := range answered {
		at, err := time.Parse(time.RFC3339Nano, row["time"].(string))
		if err != nil {
			r.t.Fatal(err)
		}
		for _, w := range waitsFor {
			if row["phase"] != w.phase {
				continue
			}
			n, oldest := waiting(r.log, w.phase, w.opens, at)
			waited += n
			if row["waiting"] != float64(n) || math.Abs(row["oldest"].(float64)-oldest) > 0.0011 {
				r.t.Errorf("report backlog: at %s %v wait for %s, the oldest for %v s; the log says %d, %v", stamp(at), row["waiting"], w.phase, row["oldest"], n, oldest)
			}
		}
	}
	meant := 0 // rows that are missing are compared with nothing above
	for at := opened; at.Before(last); at = at.Add(time.Second) {
		for _, w := range waitsFor {
			n, _ := waiting(r.log, w.phase, w.opens, at)
			meant += n
		}
	}
	if waited != meant {
		r.t.Errorf("report backlog: %d wait at all seconds together; the log says %d", waited, meant)
	}
	if meant == 0 {
		r.t.Log("nothing waited at a whole second: a larger corpus shows more")
	}
	end := r.log[len(r.log)-1].Time.Add(time.Second)
	for _, row := range rows(r, "backlog", "--every", "1s", "--since", stamp(end), "--until", stamp(end.Add(2*time.Second))) {
		if row["waiting"] != float64(0) {
			r.t.Errorf("report backlog: at the end %v wait for %v", row["waiting"], row["phase"])
		}
	}
}

func (r *asked) slowest() {
	r.t.Helper()
	for _, tc := range []struct {
		arguments string
		is        func(told) bool
	}{
		{"--of download", func(e told) bool { return e.Stage == "download" }},
		{"--of unzip", func(e told) bool { return e.Stage == "unzip" && e.Body.Entity == "download" }},
		{"--of document --phase xsd", func(e told) bool { return e.Body.Entity == "document" && e.Body.Phase == "xsd" }},
		{"--of document --phase upload", func(e told) bool { return e.Body.Entity == "document" && e.Body.Phase == "upload" }},
		{"--of poll", func(e told) bool { return e.Body.Entity == "task" }},
		{"--of batch", func(e told) bool { return e.Body.Entity == "batch" }},
		{"--of session", func(e told) bool { return e.Body.Entity == "session" }},
	} {
		var got []float64
		for _, row := range rows(r, "slowest", strings.Fields(tc.arguments)...) {
			got = append(got, row["seconds"].(float64))
		}
		if want := slowestOf(r.log, tc.is, 10); !slices.Equal(want, got) || len(want) == 0 {
			r.t.Errorf("report slowest %s: %v, the log says %v", tc.arguments, got, want)
		}
	}
	// A file is there once its last document is.
	whole := map[string]bool{}
	for _, row := range rows(r, "slowest", "--of", "file", "--limit", "100000") {
		whole[fmt.Sprint(row["name"])] = true
	}
	for _, f := range r.corpus.Oracle.Files {
		if name := f.Action + "/" + f.File; whole[name] != (f.Documents > 0) {
			r.t.Errorf("report slowest --of file: %s is there: %t; it has %d documents", name, whole[name], f.Documents)
		}
	}
}

// drawn asks for pictures, which must be whole whatever names are in them.
func (r *asked) drawn() {
	r.t.Helper()
	for _, name := range []string{"slowest", "throughput", "speed"} {
		svg, img := filepath.Join(r.dir, name+".svg"), filepath.Join(r.dir, name+".png")
		r.ask("report", name, "--plot="+svg)
		r.ask("report", name, "--plot="+img)
		text, err := os.ReadFile(svg)
		if err != nil {
			r.t.Fatal(err)
		}
		d := xml.NewDecoder(strings.NewReader(string(text)))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				r.t.Errorf("report %s --plot: no SVG: %v", name, err)
				break
			}
		}
		f, err := os.Open(img)
		if err != nil {
			r.t.Fatal(err)
		}
		if _, err := png.Decode(f); err != nil {
			r.t.Errorf("report %s --plot: no PNG: %v", name, err)
		}
		if err := f.Close(); err != nil {
			r.t.Error(err)
		}
		if out := r.ask("report", name, "--plot"); strings.Count(out, "\n") < 3 {
			r.t.Errorf("report %s --plot draws %q", name, out)
		}
	}
}
